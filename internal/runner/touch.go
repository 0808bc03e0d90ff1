package runner

import (
	"interlock/internal/device"
)

// reactive are the states of an element that a finger has an effect on, or
// that keeps it from what is below.
const reactive = device.Clickable | device.Editable | device.Checkable | device.Scrollable

// grid is how many places an element is tried at on each axis.
const grid = 5

// openPoint returns a point of e that nothing drawn above it takes, the middle
// first. What lies within e, as the parts of a row do, is avoided too, unless
// it leaves no room: then the middle stands for all of e.
func openPoint(s *device.Scene, e device.Element) (device.Point, bool) {
	var others, parts []device.Rect
	after := false
	for _, o := range s.Elements {
		switch {
		case o.Ref == e.Ref:
			after = true
		case !after || o.Flags&reactive == 0:
		case o.Bounds.Within(e.Bounds) && o.Bounds != e.Bounds:
			parts = append(parts, o.Bounds)
		default:
			others = append(others, o.Bounds)
		}
	}
	if p, ok := freePoint(e.Bounds, append(others, parts...)); ok {
		return p, true
	}
	return freePoint(e.Bounds, others)
}

// freePoint returns a point of r that is in none of taken: the middle, or one
// of a grid.
func freePoint(r device.Rect, taken []device.Rect) (device.Point, bool) {
	points := []device.Point{r.Center()}
	for i := range grid * grid {
		x, y := i%grid, i/grid
		points = append(points, device.Point{X: r.X0 + (2*x+1)*(r.X1-r.X0)/(2*grid), Y: r.Y0 + (2*y+1)*(r.Y1-r.Y0)/(2*grid)})
	}
	for _, p := range points {
		if !covered(p, taken) {
			return p, true
		}
	}
	return device.Point{}, false
}

func covered(p device.Point, by []device.Rect) bool {
	for _, r := range by {
		if r.Contains(p) {
			return true
		}
	}
	return false
}

// under returns what a touch of p reaches: the smallest element there that
// reacts, nil where none is described.
func under(s *device.Scene, p device.Point) *device.Element {
	var found *device.Element
	for _, e := range s.At(p) {
		if found == nil || e.Bounds.Within(found.Bounds) {
			found = &e
		}
	}
	return found
}

// names lists what e goes by: its own text, label and id, and those of what
// lies within it, since the name of a row stands in its parts. A list does not
// go by what is in it.
func names(s *device.Scene, e *device.Element) []string {
	if e == nil {
		return nil
	}
	all := []string{e.Text, e.Label, e.ID}
	if e.Flags.Has(device.Scrollable) {
		return all
	}
	for _, o := range s.Elements {
		if o.Ref != e.Ref && o.Bounds.Within(e.Bounds) {
			all = append(all, o.Text, o.Label, o.ID)
		}
	}
	return all
}

// describing lists the names of what a bare point shows: of what reacts there,
// and of each thing without a reaction that is small enough to be meant.
func describing(s *device.Scene, p device.Point) []string {
	all := names(s, under(s, p))
	for _, e := range s.Elements {
		if r := e.Bounds; r.Contains(p) && 4*(r.X1-r.X0)*(r.Y1-r.Y0) <= s.Size.W*s.Size.H {
			all = append(all, e.Text, e.Label, e.ID)
		}
	}
	return all
}

// reversible reports whether a tap at p can surely be taken back: it switches
// something, puts the cursor into a field, chooses what is chosen, or meets
// nothing that reacts on a screen that describes all it shows.
func reversible(s *device.Scene, p device.Point) bool {
	e := under(s, p)
	if e == nil {
		return !s.Opaque && len(s.Elements) > 0
	}
	return e.Flags&(device.Checkable|device.Editable|device.Selected) != 0
}
