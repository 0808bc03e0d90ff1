package device

import (
	"fmt"
	"strings"
)

// Bounds of a Change told in words.
const (
	maxChangesTold  = 3
	maxChangedRunes = 40
)

// Change is what a person would notice between two scenes.
type Change struct {
	From, To           string // foreground apps; equal where the app stayed
	Appeared, Vanished []string
	Switched           []string // checked, unchecked or selected, with the new state
	Filled             []string // fields with their new content; never a password
	Keyboard, Rotated  bool
	KeyboardShown      bool
	Rotation           int
	Same               bool // nothing at all changed that can be told, see Scene.Shows
	// Fresh are the refs, in the scene after, of what was not there before as
	// it is now.
	Fresh []string
}

// Compare tells what changed from before to after.
func Compare(before, after *Scene) Change {
	c := Change{
		From: before.App, To: after.App, Same: before.Shows(after),
		Keyboard: before.KeyboardShown != after.KeyboardShown, KeyboardShown: after.KeyboardShown,
		Rotated: before.Rotation != after.Rotation, Rotation: after.Rotation,
	}
	if c.Same {
		return c
	}
	c.Fresh = fresh(before, after)
	old, now := byName(before), byName(after)
	for _, e := range after.Elements {
		name := e.name()
		was, known := old[name]
		switch {
		case name == "":
		case !known:
			c.Appeared = append(c.Appeared, name)
		default:
			c.compareElement(name, was, e)
		}
	}
	for _, e := range before.Elements {
		if name := e.name(); name != "" {
			if _, still := now[name]; !still {
				c.Vanished = append(c.Vanished, name)
			}
		}
	}
	return c
}

// fresh lists the refs of after's elements that before had in no place or in
// another state.
func fresh(before, after *Scene) (refs []string) {
	was := make(map[Element]bool, len(before.Elements))
	for _, e := range before.Elements {
		e.Ref = ""
		was[e] = true
	}
	for _, e := range after.Elements {
		ref := e.Ref
		if e.Ref = ""; !was[e] {
			refs = append(refs, ref)
		}
	}
	return refs
}

func (c *Change) compareElement(name string, was, is Element) {
	if was.Flags&Checked != is.Flags&Checked {
		c.Switched = append(c.Switched, told(name)+" is now "+pick(is.Flags.Has(Checked), "checked", "unchecked"))
	}
	if was.Flags&Selected != is.Flags&Selected && is.Flags.Has(Selected) {
		c.Switched = append(c.Switched, told(name)+" is now selected")
	}
	if was.Text != is.Text && is.Flags.Has(Editable) {
		c.Filled = append(c.Filled, told(name)+" holds "+told(is.Text))
	}
}

// name is what a person would call the element: a field goes by its label,
// since its text changes.
func (e Element) name() string {
	if e.Text == "" || e.Flags.Has(Editable) {
		return e.Label
	}
	return e.Text
}

func byName(s *Scene) map[string]Element {
	m := make(map[string]Element, len(s.Elements))
	for _, e := range s.Elements {
		if _, twice := m[e.name()]; !twice {
			m[e.name()] = e
		}
	}
	return m
}

// String tells the change in one bounded line. It quotes text from the screen,
// so it is to be trusted as little as the screen is.
func (c Change) String() string {
	if c.Same {
		return "screen unchanged"
	}
	var parts []string
	if c.From != c.To {
		parts = append(parts, "app "+told(c.From)+" -> "+told(c.To))
	}
	parts = appendList(parts, "", c.Switched)
	parts = appendList(parts, "", c.Filled)
	parts = appendList(parts, "new ", quoteAll(c.Appeared))
	parts = appendList(parts, "gone ", quoteAll(c.Vanished))
	if c.Keyboard {
		parts = append(parts, pick(c.KeyboardShown, "keyboard shown", "keyboard hidden"))
	}
	if c.Rotated {
		parts = append(parts, fmt.Sprintf("rotated to %d", c.Rotation))
	}
	if len(parts) == 0 {
		parts = []string{"something moved or changed its state"}
	}
	return "screen changed: " + strings.Join(parts, "; ")
}

func appendList(parts []string, what string, list []string) []string {
	if len(list) == 0 {
		return parts
	}
	text := what + strings.Join(list[:min(len(list), maxChangesTold)], ", ")
	if more := len(list) - maxChangesTold; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return append(parts, text)
}

func quoteAll(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, told(s))
	}
	return out
}

func told(s string) string { return Quote(Cut(s, maxChangedRunes)) }

func pick(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
