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

// Within reports whether all of r is in o.
func (r Rect) Within(o Rect) bool {
	return r.X0 >= o.X0 && r.Y0 >= o.Y0 && r.X1 <= o.X1 && r.Y1 <= o.Y1
}

// Clip returns the part of r that is on a screen of size s; an inverted or
// far-off r becomes empty.
func (r Rect) Clip(s Size) Rect {
	c := Rect{max(r.X0, 0), max(r.Y0, 0), min(r.X1, s.W), min(r.Y1, s.H)}
	if c.Empty() {
		return Rect{}
	}
	return c
}

// area is how many pixels r has, 0 where it is empty. An edge counts up to
// maxSpan, so that no bounds overflow.
func (r Rect) area() int {
	if r.Empty() {
		return 0
	}
	return span(r.X0, r.X1) * span(r.Y0, r.Y1)
}

const maxSpan = 1 << 30

// span is the length from a to b, which is larger.
func span(a, b int) int {
	if d := uint(b) - uint(a); d < maxSpan {
		return int(d)
	}
	return maxSpan
}
