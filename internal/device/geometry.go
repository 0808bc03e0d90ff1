package device

import "fmt"

// Point is a place on the screen in device pixels, from the top left corner.
type Point struct{ X, Y int }

// String is "x,y".
func (p Point) String() string { return fmt.Sprintf("%d,%d", p.X, p.Y) }

// Size is a width and a height in device pixels.
type Size struct{ W, H int }

// Contains reports whether p is on a screen of that size.
func (s Size) Contains(p Point) bool { return p.X >= 0 && p.Y >= 0 && p.X < s.W && p.Y < s.H }

// Rect is an area that holds its left and upper edge and not the others.
type Rect struct{ X0, Y0, X1, Y1 int }

// Empty reports whether r has no area.
func (r Rect) Empty() bool { return r.X0 >= r.X1 || r.Y0 >= r.Y1 }

// Contains reports whether p is in r.
func (r Rect) Contains(p Point) bool { return p.X >= r.X0 && p.X < r.X1 && p.Y >= r.Y0 && p.Y < r.Y1 }

// Center returns the middle of r, which is in r unless r is empty.
func (r Rect) Center() Point { return Point{r.X0 + (r.X1-r.X0)/2, r.Y0 + (r.Y1-r.Y0)/2} }

// Clip returns the part of r that is on a screen of size s; an inverted or
// far-off r becomes empty.
func (r Rect) Clip(s Size) Rect {
	c := Rect{max(r.X0, 0), max(r.Y0, 0), min(r.X1, s.W), min(r.Y1, s.H)}
	if c.Empty() {
		return Rect{}
	}
	return c
}
