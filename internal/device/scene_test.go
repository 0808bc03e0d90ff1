package device_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"interlock/internal/device"
	"interlock/internal/fault"
)

func screen(elements ...device.Element) device.Scene {
	return device.Seal(device.Scene{App: "a.b", Size: device.Size{W: 100, H: 200}, Elements: elements})
}

func button(text string, y int) device.Element {
	return device.Element{Role: "button", Text: text, Bounds: device.Rect{X1: 100, Y0: y, Y1: y + 20}, Flags: device.Clickable}
}

// R-RUN-6
func TestSealForgetsPasswordsAndPicturesOfSecureScreens(t *testing.T) {
	t.Parallel()
	s := device.Seal(device.Scene{
		Size: device.Size{W: 10, H: 10}, Secure: true, Screenshot: &device.Screenshot{},
		Elements: []device.Element{{Role: "field", Text: "hunter2", Label: "PIN", Bounds: device.Rect{X1: 5, Y1: 5}, Flags: device.Password | device.Editable}},
	})
	if s.Screenshot != nil || s.Elements[0].Text != "" || s.Elements[0].Label != "PIN" {
		t.Errorf("kept %+v", s)
	}
}

func TestSealBoundsAHostileScreen(t *testing.T) {
	t.Parallel()
	var many []device.Element
	for range device.MaxElements + 7 {
		many = append(many, device.Element{Text: strings.Repeat("\u202eé\n", 3000), Role: strings.Repeat("r", 900), Bounds: device.Rect{X0: -5, Y0: -5, X1: 1 << 40, Y1: 1 << 40}})
	}
	many = append(many, device.Element{Text: "inverted", Bounds: device.Rect{X0: 9, X1: 3, Y1: 9}}, device.Element{Text: "off", Bounds: device.Rect{X0: 500, X1: 600, Y1: 9}})
	s := device.Seal(device.Scene{App: "a\x00b\xff", Size: device.Size{W: 100, H: 200}, Elements: many})
	if len(s.Elements) != device.MaxElements || s.Dropped != 7 {
		t.Errorf("kept %d, dropped %d", len(s.Elements), s.Dropped)
	}
	e := s.Elements[0]
	if e.Bounds != (device.Rect{X1: 100, Y1: 200}) || utf8.RuneCountInString(e.Text) > device.MaxTextRunes || len(e.Role) > 43 || strings.ContainsAny(e.Text, "\u202e\n") {
		t.Errorf("kept %v, %d runes", e.Bounds, utf8.RuneCountInString(e.Text))
	}
	if s.App != "ab\ufffd" {
		t.Errorf("app %q", s.App)
	}
}

func TestTheHashSeesWhatAnActionCouldMeet(t *testing.T) {
	t.Parallel()
	base := screen(button("Save", 0), button("Back", 40))
	for name, other := range map[string]device.Scene{
		"another text":        screen(button("Send", 0), button("Back", 40)),
		"another place":       screen(button("Save", 1), button("Back", 40)),
		"another order":       screen(button("Back", 40), button("Save", 0)),
		"one fewer":           screen(button("Save", 0)),
		"a text moved over":   screen(button("SaveB", 0), button("ack", 40)),
		"the keyboard":        device.Seal(device.Scene{App: "a.b", Size: base.Size, KeyboardShown: true, Elements: base.Elements}),
		"another app":         device.Seal(device.Scene{App: "a.c", Size: base.Size, Elements: base.Elements}),
		"read another way":    device.Seal(device.Scene{App: "a.b", Tree: "dom", Size: base.Size, Elements: base.Elements}),
		"drawn in part":       device.Seal(device.Scene{App: "a.b", Opaque: true, Size: base.Size, Elements: base.Elements}),
		"the other way round": device.Seal(device.Scene{App: "a.b", Size: base.Size, Rotation: 180, Elements: base.Elements}),
	} {
		if other.Hash == base.Hash {
			t.Errorf("%s: same hash", name)
		}
	}
	if again := screen(button("Save", 0), button("Back", 40)); again.Hash != base.Hash {
		t.Error("the same screen has another hash")
	}
	if moving := device.Seal(device.Scene{App: "a.b", Unsettled: true, Size: base.Size, Elements: base.Elements}); moving.Hash != base.Hash {
		t.Error("the same screen before it came to rest has another hash")
	}
}

// R-RUN-6: what nobody could see is not there to be aimed at, and is counted.
func TestAnElementIsThereIfATenthOfItIsVisible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bounds        device.Rect // on a screen of 100 x 200
		kept, dropped int
	}{
		"all of it":                             {device.Rect{X1: 100, Y1: 20}, 1, 0},
		"a tenth of a row":                      {device.Rect{X1: 100, Y0: 190, Y1: 290}, 1, 0},
		"less than a tenth of a row":            {device.Rect{X1: 100, Y0: 191, Y1: 291}, 0, 1},
		"the visible part of an endless list":   {device.Rect{X1: 100, Y1: 1 << 40}, 1, 0},
		"a text longer than ten screens":        {device.Rect{X1: 100, Y0: 100, Y1: 3000}, 1, 0},
		"beside the screen":                     {device.Rect{X0: 100, X1: 120, Y1: 20}, 0, 0},
		"five pixels":                           {device.Rect{X1: 5, Y1: 1}, 0, 0},
		"six pixels":                            {device.Rect{X1: 3, Y1: 2}, 1, 0},
		"inverted":                              {device.Rect{X0: 50, X1: 10, Y1: 20}, 0, 0},
		"bounds that no product can be of":      {device.Rect{X0: -1 << 62, Y0: -1 << 62, X1: 1 << 62, Y1: 1 << 62}, 1, 0},
		"a sliver of what no product can be of": {device.Rect{X0: 99, X1: 1 << 62, Y1: 1 << 62}, 0, 1},
	} {
		s := screen(device.Element{Role: "text", Text: "x", Bounds: c.bounds})
		if len(s.Elements) != c.kept || s.Dropped != c.dropped {
			t.Errorf("%s: %d kept and %d counted, want %d and %d", name, len(s.Elements), s.Dropped, c.kept, c.dropped)
		}
	}
}

func TestAScreenThatShowsProgressIsLoading(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]bool{"progressbar": true, "ProgressBar": true, "text": false, "": false} {
		s := screen(button("Save", 0), device.Element{Role: role, Bounds: device.Rect{X1: 20, Y1: 20}})
		if got := s.Loading(); got != want {
			t.Errorf("with a %q: got %v", role, got)
		}
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	s := screen(button("Save", 0), button("Back", 40))
	if e, ok := s.Element("e2"); !ok || e.Text != "Back" {
		t.Errorf("e2 is %+v, %v", e, ok)
	}
	for _, ref := range []string{"", "e", "e0", "e3", "e02", "2", "E2", "e+2", "e-1", "e99999999999999999999", "e2 "} {
		if e, ok := s.Element(ref); ok {
			t.Errorf("%q found %+v", ref, e)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	field := device.Element{ID: "name", Role: "field", Text: "Ada", Label: "Name", Bounds: device.Rect{X1: 9, Y1: 9}, Flags: device.Editable}
	change := func(f func(*device.Element)) device.Element { e := field; f(&e); return e }
	for name, c := range map[string]struct {
		other device.Element
		want  bool
	}{
		"itself":                      {field, true},
		"a field with another text":   {change(func(e *device.Element) { e.Text = "Bob" }), true},
		"focused since":               {change(func(e *device.Element) { e.Flags |= device.Focused }), true},
		"moved by a pixel":            {change(func(e *device.Element) { e.Bounds.Y1++ }), false},
		"disabled since":              {change(func(e *device.Element) { e.Flags |= device.Disabled }), false},
		"a password field since":      {change(func(e *device.Element) { e.Flags |= device.Password }), false},
		"another label":               {change(func(e *device.Element) { e.Label = "Phone" }), false},
		"another id":                  {change(func(e *device.Element) { e.ID = "x" }), false},
		"no field any more":           {change(func(e *device.Element) { e.Flags = 0 }), false},
		"the same but for the number": {change(func(e *device.Element) { e.Ref = "e9" }), true},
	} {
		if got := field.Same(c.other); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	a, b := button("Save", 0), button("Send", 0)
	if a.Same(b) {
		t.Error("a button with another text is the same")
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain text stays":                {"Save changes", "Save changes"},
		"lines become one":                {" a\r\n\tb \u2028 c ", "a b c"},
		"control characters go":           {"a\x00\x1b[31mb", "a[31mb"},
		"direction changes go":            {"a\u202eb\u2066c", "abc"},
		"invisible tags go":               {"a\U000e0049\U000e0047b\u200bc", "abc"},
		"bad bytes show":                  {"a\xffb", "a\ufffdb"},
		"a family stays together":         {"👨‍👩‍👧 ok", "👨‍👩‍👧 ok"},
		"too long is cut with a mark":     {"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmno…"},
		"a cut tears no family apart":     {"abcdefghijklm👨‍👩‍👧xyz", "abcdefghijklm…"},
		"a cut tears no accent off":       {"abcdefghijklmne\u0301xyz", "abcdefghijklmn…"},
		"a flag is cut as a whole":        {"abcdefghijklmn🇦🇺🇦🇺", "abcdefghijklmn…"},
		"nothing":                         {"", ""},
		"only what can't be seen":         {"\u202e\x00 \n", ""},
		"exactly as long as there's room": {"abcdefghijklmnop", "abcdefghijklmnop"},
	} {
		if got := device.Clean(c.in, 16); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestCleanIsBoundedAndStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, limit := rapid.String().Draw(t, "in"), rapid.IntRange(1, 40).Draw(t, "limit")
		in += strings.Repeat("\u0301", rapid.IntRange(0, 50).Draw(t, "accents"))
		out := device.Clean(in, limit)
		if n := utf8.RuneCountInString(out); n > limit || !utf8.ValidString(out) {
			t.Fatalf("%q is %d runes", out, n)
		}
		if again := device.Clean(out, limit); again != out {
			t.Fatalf("%q became %q", out, again)
		}
	})
}

func TestCharactersCoverTheWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune{'a', 'é', '\u0301', '\u200d', '🚀', '👍', '\U0001f3fd', '\U0001f1e6', ' '})).Draw(t, "s")
		last := 0
		for rest := s; rest != ""; rest = rest[last:] {
			if last = device.FirstCharacter(rest); last < 1 || last > len(rest) || !utf8.ValidString(rest[:last]) {
				t.Fatalf("first of %q is %d", rest, last)
			}
		}
		if got := device.LastCharacter(s); got != last {
			t.Fatalf("last of %q is %d, want %d", s, got, last)
		}
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	field := func(text string) device.Element {
		return device.Element{Role: "field", Text: text, Label: "Name", Bounds: device.Rect{X1: 9, Y1: 9}, Flags: device.Editable}
	}
	toggle := func(f device.Flags) device.Element {
		return device.Element{Role: "switch", Text: `Dark "theme"`, Bounds: device.Rect{X1: 9, Y1: 9}, Flags: f}
	}
	secret := device.Element{Role: "field", Text: "canary", Label: "PIN", Bounds: device.Rect{X1: 9, Y1: 9}, Flags: device.Editable | device.Password}
	for name, c := range map[string]struct {
		before, after device.Scene
		want          string
	}{
		"nothing":       {screen(button("A", 0)), screen(button("A", 0)), "screen unchanged"},
		"new and gone":  {screen(button("A", 0)), screen(button("B", 0)), `screen changed: new "B"; gone "A"`},
		"a switch":      {screen(toggle(0)), screen(toggle(device.Checked)), `screen changed: "Dark \"theme\"" is now checked`},
		"a field":       {screen(field("")), screen(field("Ada 🚀")), `screen changed: "Name" holds "Ada 🚀"`},
		"a password":    {screen(field("")), screen(secret), `screen changed: new "PIN"; gone "Name"`},
		"only a move":   {screen(button("A", 0)), screen(button("A", 5)), "screen changed: something moved or changed its state"},
		"many":          {screen(), screen(button("A", 0), button("B", 20), button("C", 40), button("D", 60), button("E", 80)), `screen changed: new "A", "B", "C" and 2 more`},
		"a long text":   {screen(), screen(button(strings.Repeat("x", 90), 0)), `screen changed: new "` + strings.Repeat("x", 39) + `…"`},
		"the whole app": {screen(), device.Seal(device.Scene{App: "c.d", KeyboardShown: true, Rotation: 90}), `screen changed: app "a.b" -> "c.d"; keyboard shown; rotated to 90`},
	} {
		if got := device.Compare(&c.before, &c.after).String(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestErrorsSayWhetherTheActionWasSent(t *testing.T) {
	t.Parallel()
	refused := device.Refuse("the field takes %d characters", 3)
	for name, c := range map[string]struct {
		err  error
		want device.Dispatched
		is   error
	}{
		"a refusal":             {fmt.Errorf("x: %w", refused), device.No, device.ErrRefused},
		"lost before":           {device.Fail(device.ErrLost, device.No), device.No, device.ErrLost},
		"lost meanwhile":        {device.Fail(device.ErrLost.Because(errors.New("EOF")), device.Unknown), device.Unknown, device.ErrLost},
		"an error of no driver": {errors.New("x"), device.Unknown, nil},
		"a zero Dispatched":     {device.Fail(device.ErrBusy, ""), device.Unknown, device.ErrBusy},
	} {
		if got := device.WasDispatched(c.err); got != c.want || (c.is != nil && !errors.Is(c.err, c.is)) {
			t.Errorf("%s: got %s, is %v", name, got, c.is)
		}
	}
	if fault.KindOf(refused) != fault.Invalid || fault.Of(refused).Detail != "the field takes 3 characters" {
		t.Errorf("got %v", fault.Of(refused))
	}
}

// R-RUN-6
func TestAnActionNeverPrintsWhatItTypes(t *testing.T) {
	t.Parallel()
	for _, a := range []device.Action{device.TypeText{Text: "canary"}, device.OpenURL{URL: "https://canary/"}} {
		if s := fmt.Sprintf("%v %s", a, a); strings.Contains(s, "canary") {
			t.Errorf("prints %s", s)
		}
	}
	if got := fmt.Sprint(device.LongPress{At: device.Point{X: 1, Y: 2}, For: time.Second}); got != "long press 1,2 for 1s" {
		t.Errorf("got %s", got)
	}
}
