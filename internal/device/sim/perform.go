package sim

import (
	"slices"

	"interlock/internal/device"
)

// perform does a, or refuses it before anything has changed.
func (p *Phone) perform(a device.Action) error {
	switch a := a.(type) {
	case device.Tap:
		return p.touch(a.At, func(w placed) func(*Phone) { return w.act })
	case device.LongPress:
		return p.touch(a.At, func(w placed) func(*Phone) { return w.hold })
	case device.Swipe:
		return p.swipe(a)
	case device.TypeText:
		return p.typeText(a)
	case device.Press:
		return p.press(a.Key)
	case device.HideKeyboard:
		if !p.keyboard {
			return device.Refuse("no keyboard is shown")
		}
		p.keyboard = false
	case device.OpenApp:
		if _, there := firstScreens[a.Package]; !there || a.Package == Browser {
			return device.Refuse("no app of this name is installed")
		}
		p.dialog = nil
		p.open(a.Package)
	case device.OpenURL:
		p.dialog = nil
		p.open(Browser)
		p.addressed = a.URL
	}
	return nil
}

// touch does what the topmost widget under at says; a touch beside every
// widget, or on the keyboard, does nothing.
func (p *Phone) touch(at device.Point, what func(placed) func(*Phone)) error {
	if !p.size().Contains(at) {
		return device.Refuse("the point is not on the screen")
	}
	if w, ok := p.under(at); ok {
		if do := what(w); do != nil {
			do(p)
		}
	}
	return nil
}

func (p *Phone) under(at device.Point) (placed, bool) {
	if at.Y >= p.floor() {
		return placed{}, false
	}
	for _, w := range slices.Backward(p.layout()) {
		if w.at.Contains(at) {
			return w, true
		}
	}
	return placed{}, false
}

// swipe scrolls a list by the rows that the finger passes.
func (p *Phone) swipe(s device.Swipe) error {
	if !p.size().Contains(s.From) || !p.size().Contains(s.To) {
		return device.Refuse("the swipe leaves the screen")
	}
	v := p.view()
	if p.dialog != nil || !v.scrolls || s.From.Y < barHeight || s.From.Y >= p.floor() {
		return nil
	}
	p.scrolled[p.top()] = max(0, p.scroll(v)+(s.From.Y-s.To.Y)/rowHeight)
	p.scrolled[p.top()] = p.scroll(v)
	return nil
}

func (p *Phone) typeText(a device.TypeText) error {
	if a.Into != nil {
		w, ok := p.under(*a.Into)
		if !ok || !w.flags.Has(device.Editable) {
			return device.Refuse("there is no field at this place")
		}
		w.act(p)
	}
	if p.focus == "" || p.dialog != nil {
		return device.Refuse("no field has the focus")
	}
	if a.Clear {
		p.fields[p.focus] = ""
	}
	p.fields[p.focus] += a.Text
	if a.Submit {
		return p.press(device.Enter)
	}
	return nil
}

func (p *Phone) press(k device.Key) error {
	switch k {
	case device.Back:
		p.back()
	case device.Home:
		p.dialog = nil
		p.open(Home)
	case device.Enter:
		if corner := p.view().corner; p.focus != "" && corner != nil {
			corner.act(p)
		}
	case device.Delete:
		if text := p.fields[p.focus]; p.focus != "" {
			p.fields[p.focus] = text[:len(text)-device.LastCharacter(text)]
		}
	default:
		return device.Refuse("there is no such key")
	}
	return nil
}

// back closes what is in front: the dialog, the keyboard, or the screen.
func (p *Phone) back() {
	switch {
	case p.dialog != nil:
		p.dialog = nil
	case p.keyboard:
		p.keyboard = false
	default:
		p.pop()
	}
}
