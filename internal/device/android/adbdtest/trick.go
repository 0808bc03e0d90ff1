package adbdtest

import "slices"

// Trick is what a screen does to lead a finger astray.
type Trick string

// The tricks.
const (
	Twins      Trick = "twins"       // above each widget that can be pressed there is another that shows the same and is not it
	LookAlikes Trick = "look-alikes" // in its place, with an id of its own
	Reordered  Trick = "reordered"   // the widgets turn round
	Banner     Trick = "banner"      // a line comes up above them
	Dialog     Trick = "dialog"      // a window with one button covers them
)

// Play makes the screens play a trick from now on.
func (p *Phone) Play(t Trick) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.trick = t
}

// Tricked is how often a decoy was touched.
func (p *Phone) Tricked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.tricked
}

// tricky returns the widgets with the trick that is played on them.
func (p *Phone) tricky(widgets []widget) (out []widget) {
	text := widget{class: "android.widget.TextView", text: "Sale ends today"}
	switch p.state.trick {
	case Reordered:
		slices.Reverse(widgets)
		return widgets
	case Banner:
		return append([]widget{text}, widgets...)
	case Dialog:
		return []widget{text, decoy(widget{class: "android.widget.Button", id: "android:id/button1", text: "OK"})}
	case Twins, LookAlikes:
		for _, w := range widgets {
			if w.click != nil {
				fake := decoy(w)
				if w.id != "" && p.state.trick == LookAlikes {
					fake.id += "_ad"
				}
				out = append(out, fake)
			}
			if w.click == nil || p.state.trick == Twins {
				out = append(out, w)
			}
		}
		return out
	}
	return widgets
}

// decoy is w for the eye.
func decoy(w widget) widget {
	w.click, w.hold = func(p *Phone) { p.state.tricked++ }, nil
	return w
}
