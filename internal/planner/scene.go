package planner

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"interlock/internal/device"
)

// DefaultSceneBudget is how many characters the screen may take in a prompt.
const DefaultSceneBudget = 4000

// A form is how much of each element is told.
type form struct {
	runes int  // of each text, label and id
	brief bool // leave out "clickable" where the rest of the line says as much
}

// forms, each shorter than the one before: the first in which every actionable
// element fits is taken.
var forms = []form{{80, false}, {40, false}, {20, false}, {10, false}, {10, true}, {6, true}, {3, true}}

// lastForm is for a screen on which they don't fit in any: better some with
// names than all without.
var lastForm = form{10, true}

// trailerRoom is kept free for the line that says what is not shown.
const trailerRoom = 30

// SceneText tells a scene in at most budget characters: a heading, then a line
// an element in the order of the tree. Elements that can be acted on are kept
// before all others, their texts shortened first where there are many; a last
// line says how many elements are not shown.
func SceneText(s *device.Scene, budget int) string {
	head := heading(s)
	room := budget - utf8.RuneCountInString(head) - trailerRoom
	lines, left := choose(s, room)
	if left += s.Dropped; left > 0 {
		lines = append(lines, fmt.Sprintf("%d more not shown\n", left))
	}
	return head + strings.Join(lines, "")
}

func heading(s *device.Scene) string {
	app := "unknown app"
	if s.App != "" {
		app = "app " + device.Cut(s.App, 100)
	}
	keyboard := "hidden"
	if s.KeyboardShown {
		keyboard = "shown"
	}
	head := fmt.Sprintf("%s, %d x %d, rotation %d, keyboard %s", app, s.Size.W, s.Size.H, s.Rotation, keyboard)
	if s.Tree != "" {
		head += ", read from " + string(s.Tree)
	}
	return head + "\n" + notices(s)
}

// notices say what can't be seen of a screen, a line each.
func notices(s *device.Scene) (text string) {
	if s.Secure {
		text += "this screen is secure: no picture of it is taken\n"
	}
	if s.Opaque {
		text += "the app draws some of this screen without describing it\n"
	}
	if s.Unsettled {
		text += "this screen was still changing when it was read\n"
	}
	return text
}

// choose returns a line for each element of s, "" for one that is not shown,
// and how many that have something to say were left out.
func choose(s *device.Scene, room int) (lines []string, left int) {
	lines = make([]string, len(s.Elements))
	f := lastForm
	if i := sort.Search(len(forms), func(i int) bool { return fits(s, forms[i], room) }); i < len(forms) {
		f = forms[i]
	}
	order := byImportance(s)
	for n, i := range order {
		l := line(s.Elements[i], f)
		size := utf8.RuneCountInString(l)
		if size > room {
			return lines, len(order) - n
		}
		lines[i], room = l, room-size
	}
	return lines, 0
}

// fits reports whether all of s that can be acted on takes at most room
// characters in the form f. What fits in one form fits in each after it.
func fits(s *device.Scene, f form, room int) bool {
	for _, e := range s.Elements {
		if e.Actionable() {
			if room -= utf8.RuneCountInString(line(e, f)); room < 0 {
				return false
			}
		}
	}
	return true
}

// byImportance orders the indexes of s.Elements: focused, then what takes
// text, then what can be pressed, then what scrolls, then the rest; within
// each, as in the tree. Elements that say nothing and do nothing are left out.
func byImportance(s *device.Scene) []int {
	order := make([]int, 0, len(s.Elements))
	for i, e := range s.Elements {
		if importance(e) < silent {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(importance(s.Elements[a]), importance(s.Elements[b])) })
	return order
}

// silent is the importance of an element that nobody would miss.
const silent = 5

func importance(e device.Element) int {
	switch {
	case e.Flags.Has(device.Focused):
		return 0
	case e.Actionable() && e.Flags.Has(device.Editable):
		return 1
	case e.Actionable() && e.Flags&(device.Clickable|device.Checkable) != 0:
		return 2
	case e.Actionable():
		return 3
	case e.Text != "" || e.Label != "":
		return 4
	}
	return silent
}

// line tells one element: [e5] button "Settings" clickable
func line(e device.Element, f form) string {
	var b strings.Builder
	b.WriteString("[" + e.Ref + "] " + word(e.Role))
	if e.Text != "" {
		b.WriteString(" " + device.Quote(device.Cut(e.Text, f.runes)))
	}
	if e.Label != "" && e.Label != e.Text {
		b.WriteString(" label " + device.Quote(device.Cut(e.Label, f.runes)))
	}
	if e.Text == "" && e.Label == "" && e.ID != "" {
		b.WriteString(" id " + device.Quote(device.Cut(e.ID, f.runes)))
	}
	flags := e.Flags
	if f.brief && pressable(e) {
		flags &^= device.Clickable
	}
	for _, name := range flags.Names() {
		b.WriteString(" " + name)
	}
	b.WriteByte('\n')
	return b.String()
}

// pressable reports whether the rest of e's line says that it can be pressed.
func pressable(e device.Element) bool {
	return e.Flags&(device.Editable|device.Checkable) != 0 || slices.Contains([]string{"button", "link", "tab", "menuitem", "option"}, strings.ToLower(e.Role))
}

// word makes a role one word of letters, digits, '_' and '-'.
func word(role string) string {
	w := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return -1
	}, role)
	if w == "" {
		return "element"
	}
	return w
}
