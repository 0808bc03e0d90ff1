package sim

import (
	"slices"

	"interlock/internal/device"
)

// Measures of the screen in pixels.
const (
	shortEdge  = 1080
	longEdge   = 2340
	barHeight  = 200
	rowHeight  = 180
	cornerWide = 360
	margin     = 20
	slideStep  = 90 // of a screen that slides in, from one look to the next
)

// placed is a widget at its place.
type placed struct {
	widget
	at device.Rect
}

func (p *Phone) size() device.Size {
	if p.switches["landscape"] {
		return device.Size{W: longEdge, H: shortEdge}
	}
	return device.Size{W: shortEdge, H: longEdge}
}

// floor is where the space for an app ends: at the keyboard if it is shown.
func (p *Phone) floor() int {
	if p.keyboard {
		return p.size().H * 6 / 10
	}
	return p.size().H
}

// layout gives every widget of the screen its place, in the order of the tree.
func (p *Phone) layout() []placed {
	if p.dialog != nil {
		return p.layoutDialog()
	}
	out := p.layoutView()
	if p.sliding > 0 {
		for i := range out {
			out[i].at.Y0 += p.sliding * slideStep
			out[i].at.Y1 += p.sliding * slideStep
		}
	}
	return out
}

func (p *Phone) layoutView() []placed {
	v, w, y := p.view(), p.size().W, 0
	var out []placed
	if p.banner {
		out = append(out, placed{widget{role: "text", text: "Software update ready"}, device.Rect{X1: w, Y1: rowHeight}})
		y = rowHeight
	}
	out = append(out, placed{widget{id: "title", role: "heading", text: v.title}, device.Rect{X1: w - cornerWide, Y0: y, Y1: y + barHeight}})
	if v.corner != nil {
		out = append(out, placed{*v.corner, device.Rect{X0: w - cornerWide, X1: w, Y0: y, Y1: y + barHeight}})
	}
	y += barHeight
	if v.scrolls {
		out = append(out, placed{widget{id: "list", role: "list", flags: device.Scrollable}, device.Rect{X1: w, Y0: y, Y1: p.floor()}})
	}
	rows := v.rows[p.scroll(v):]
	if p.reordered {
		rows = slices.Clone(rows)
		slices.Reverse(rows)
	}
	for _, row := range p.disguised(rows) {
		if y+rowHeight > p.floor() {
			break
		}
		out = append(out, placed{row, device.Rect{X0: margin, X1: w - margin, Y0: y, Y1: y + rowHeight}})
		y += rowHeight
	}
	return out
}

// disguised puts the decoys of a Twin or a LookAlike among the rows: beside
// each button one that shows the same, or in its place one that only looks so.
func (p *Phone) disguised(rows []widget) (out []widget) {
	if !p.twins && !p.lookAlikes {
		return rows
	}
	for _, row := range rows {
		fake := row
		fake.act, fake.hold = func(p *Phone) { p.tricked++ }, func(p *Phone) { p.tricked++ }
		if p.lookAlikes {
			fake.id = "ad_" + row.id
		}
		out = append(out, fake)
		if p.twins {
			out = append(out, row)
		}
	}
	return out
}

// fits is how many rows are visible at once.
func (p *Phone) fits() int {
	top := barHeight
	if p.banner {
		top += rowHeight
	}
	return max(1, (p.floor()-top)/rowHeight)
}

// scroll is how many rows of v are above the visible ones: never so many that
// the end of the list leaves room.
func (p *Phone) scroll(v view) int {
	return min(p.scrolled[p.top()], max(0, len(v.rows)-p.fits()))
}

func (p *Phone) layoutDialog() []placed {
	w, y := p.size().W, p.size().H/3
	out := []placed{
		{widget{role: "heading", text: p.dialog.title}, device.Rect{X0: margin, X1: w - margin, Y0: y, Y1: y + rowHeight}},
		{widget{role: "text", text: p.dialog.text}, device.Rect{X0: margin, X1: w - margin, Y0: y + rowHeight, Y1: y + 2*rowHeight}},
	}
	wide := (w - 2*margin) / len(p.dialog.buttons)
	for i, b := range p.dialog.buttons {
		b.role, b.flags = "button", device.Clickable
		out = append(out, placed{b, device.Rect{X0: margin + i*wide, X1: margin + (i+1)*wide, Y0: y + 2*rowHeight, Y1: y + 3*rowHeight}})
	}
	return out
}

// scene is what an observer sees, with a picture where one is wanted and
// allowed.
func (p *Phone) scene(picture bool) (device.Scene, error) {
	s := device.Scene{App: p.app, Tree: "sim", Size: p.size(), KeyboardShown: p.keyboard, Secure: p.dialog == nil && p.view().secure, Unsettled: p.sliding > 0}
	if p.switches["landscape"] {
		s.Rotation = 90
	}
	all := p.layout()
	for _, w := range all {
		s.Elements = append(s.Elements, device.Element{ID: w.id, Role: w.role, Text: w.text, Label: w.label, Bounds: w.at, Flags: w.flags})
	}
	p.sliding = max(0, p.sliding-1)
	if picture && p.opts.Screenshots && !s.Secure {
		shot, err := device.NewScreenshot(p.draw(all), s.Size, p.opts.ImageEdge)
		if err != nil {
			return device.Scene{}, device.Fail(device.ErrFailed.Because(err), device.No)
		}
		s.Screenshot = shot
	}
	return device.Seal(s), nil
}
