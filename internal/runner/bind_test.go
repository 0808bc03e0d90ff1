package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/device"
	"interlock/internal/planner"
	"interlock/internal/tool"
)

func sealed(s device.Scene) *device.Scene {
	if s.Size == (device.Size{}) {
		s.Size = device.Size{W: 1000, H: 2000}
	}
	s = device.Seal(s)
	return &s
}

func field(label, text string, f device.Flags) device.Element {
	return device.Element{Role: "field", Label: label, Text: text, Bounds: device.Rect{X0: len(label) * 10, X1: 900, Y1: 90}, Flags: device.Editable | f}
}

// R-RUN-4: what is not aimed at an element is bound to the app, the position
// of the screen, the keyboard and the focus.
func TestHoldsWithoutATarget(t *testing.T) {
	t.Parallel()
	name := field("Name", "", device.Focused)
	was := device.Scene{App: "a.b", KeyboardShown: true, Elements: []device.Element{name, field("Phone", "", 0)}}
	with := func(f func(*device.Scene)) device.Scene { s := was; f(&s); return s }
	typing, enter := `type_text {"text":"x"}`, `key {"key":"enter"}`
	for title, c := range map[string]struct {
		call string
		now  device.Scene
		want bool
	}{
		"enter, nothing changed":            {enter, was, true},
		"enter, the field was filled since": {enter, with(func(s *device.Scene) { s.Elements = []device.Element{field("Name", "Ada", device.Focused)} }), true},
		"enter, another field has the focus": {enter, with(func(s *device.Scene) {
			s.Elements = []device.Element{field("Name", "", 0), field("Phone", "", device.Focused)}
		}), false},
		"enter, nothing has the focus":   {enter, with(func(s *device.Scene) { s.Elements = []device.Element{field("Name", "", 0)} }), false},
		"enter, another app":             {enter, with(func(s *device.Scene) { s.App = "c.d" }), false},
		"enter, the keyboard went":       {enter, with(func(s *device.Scene) { s.KeyboardShown = false }), false},
		"a swipe, the screen was turned": {`swipe {"direction":"up"}`, with(func(s *device.Scene) { s.Rotation, s.Size = 90, device.Size{W: 2000, H: 1000} }), false},
		"a swipe, upside down":           {`swipe {"direction":"up"}`, with(func(s *device.Scene) { s.Rotation = 180 }), false},
		"typing, nothing changed":        {typing, was, true},
		"typing, another field has the focus": {typing, with(func(s *device.Scene) {
			s.Elements = []device.Element{field("Name", "", 0), field("Phone", "", device.Focused)}
		}), false},
		"typing, it became a password field": {typing, with(func(s *device.Scene) {
			s.Elements = []device.Element{field("Name", "", device.Focused|device.Password)}
		}), false},
		"home, another app":           {`key {"key":"home"}`, with(func(s *device.Scene) { s.App = "c.d" }), true},
		"back, another app":           {`key {"key":"back"}`, with(func(s *device.Scene) { s.App = "c.d" }), false},
		"hiding a keyboard that went": {`hide_keyboard {}`, with(func(s *device.Scene) { s.KeyboardShown = false }), false},
	} {
		name, args, _ := strings.Cut(c.call, " ")
		op := read(tool.Call{Tool: name, Arguments: json.RawMessage(args)}, sealed(was))
		if op.refused != nil {
			t.Errorf("%s: refused: %v", title, op.refused)
			continue
		}
		if got := op.holds(sealed(was), sealed(c.now)); got != c.want {
			t.Errorf("%s: got %v", title, got)
		}
	}
}

// R-RUN-5
func TestProven(t *testing.T) {
	t.Parallel()
	toggle := func(f device.Flags) device.Element {
		return device.Element{Role: "switch", Text: "Dark theme", Bounds: device.Rect{X1: 9, Y1: 9}, Flags: device.Checkable | f}
	}
	icon := device.Element{Role: "image", ID: "x", Bounds: device.Rect{X1: 9, Y1: 9}, Flags: device.Clickable}
	secret := device.Element{Role: "field", Text: "canary", Bounds: device.Rect{X1: 9, Y1: 9}, Flags: device.Editable | device.Password}
	for name, c := range map[string]struct {
		evidence string
		was, now []device.Element
		want     bool
	}{
		"a text":                       {"Dark theme", nil, []device.Element{toggle(0)}, true},
		"part of a text, in any case":  {"  dark\n THEME ", nil, []device.Element{toggle(0)}, true},
		"a label":                      {"name", nil, []device.Element{field("Name", "", 0)}, true},
		"a text that was there":        {"Dark theme", []device.Element{toggle(0)}, []device.Element{icon}, false},
		"a ref":                        {"e1", []device.Element{toggle(device.Checked)}, []device.Element{toggle(device.Checked)}, true},
		"a ref that changed its state": {"e1", []device.Element{toggle(device.Checked)}, []device.Element{toggle(0)}, false},
		"a ref that went":              {"e1", []device.Element{toggle(0)}, nil, false},
		"a ref that says nothing":      {"e1", []device.Element{icon}, []device.Element{icon}, false},
		"a field that was emptied":     {"e1", []device.Element{field("Name", "Ada", 0)}, []device.Element{field("Name", "", 0)}, false},
		"what a password field holds":  {"canary", nil, []device.Element{secret}, false},
		"nothing":                      {"", nil, []device.Element{toggle(0)}, false},
		"a letter":                     {"D", nil, []device.Element{toggle(0)}, false},
		"only space":                   {" \n ", nil, []device.Element{toggle(0)}, false},
	} {
		if got := proven(c.evidence, sealed(device.Scene{Elements: c.was}), sealed(device.Scene{Elements: c.now})); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// R-RUN-4: a point that the model reads off the picture is where the finger
// goes, and nothing else on the screen may have changed.
func TestAPointOfTheScreenshotBecomesOneOfTheScreen(t *testing.T) {
	t.Parallel()
	s := sealed(device.Scene{App: "a.b"})
	s.Screenshot = &device.Screenshot{Transform: device.Transform{Image: device.Size{W: 500, H: 1000}, Device: s.Size}}
	op := read(tool.Call{Tool: planner.Tap, Arguments: json.RawMessage(`{"x":100,"y":250}`)}, s)
	if want := (device.Tap{At: device.Point{X: 201, Y: 501}}); op.action != want || !op.strict {
		t.Errorf("got %v, %v", op.action, op.strict)
	}
	if op := read(tool.Call{Tool: planner.Tap, Arguments: json.RawMessage(`{"x":500,"y":250}`)}, s); op.refused == nil {
		t.Errorf("a point beside the picture became %v", op.action)
	}
}

// Whatever a call says, reading it yields either a refusal or something that
// stays on the screen.
func TestReadStaysOnTheScreen(t *testing.T) {
	t.Parallel()
	s := sealed(device.Scene{App: "a.b", KeyboardShown: true, Elements: []device.Element{field("Name", "", device.Focused), field("Phone", "", device.Scrollable)}})
	rapid.Check(t, func(t *rapid.T) {
		specs := planner.Tools().Specs()
		name := specs[rapid.IntRange(0, len(specs)-1).Draw(t, "tool")].Name
		args := map[string]any{}
		maybe := func(key string, v any) {
			if rapid.Bool().Draw(t, "with "+key) {
				args[key] = v
			}
		}
		maybe("ref", rapid.SampledFrom([]string{"e1", "e2", "e3", "", "x"}).Draw(t, "ref"))
		maybe("x", rapid.IntRange(-10, 1100).Draw(t, "x"))
		maybe("y", rapid.IntRange(-10, 2100).Draw(t, "y"))
		maybe("ms", rapid.Int().Draw(t, "ms"))
		maybe("direction", rapid.SampledFrom([]string{"up", "down", "left", "right"}).Draw(t, "direction"))
		maybe("text", rapid.String().Draw(t, "text"))
		maybe("key", rapid.SampledFrom([]string{"back", "home", "enter", "delete"}).Draw(t, "key"))
		maybe("package", rapid.String().Draw(t, "package"))
		maybe("url", rapid.String().Draw(t, "url"))
		b, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		op := read(tool.Call{Tool: name, Arguments: b}, s)
		kinds := 0
		for _, is := range []bool{op.refused != nil, op.refused == nil && op.action != nil, op.refused == nil && op.wait > 0, op.refused == nil && op.ends} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Fatalf("%s %s became %+v", name, b, op)
		}
		if op.refused != nil {
			return
		}
		if !op.holds(s, s) {
			t.Fatalf("%s %s does not hold on its own scene", name, b)
		}
		for _, p := range touched(op.action) {
			if !s.Size.Contains(p) {
				t.Fatalf("%s %s touches %v", name, b, p)
			}
		}
	})
}

func touched(a device.Action) []device.Point {
	switch a := a.(type) {
	case device.Tap:
		return []device.Point{a.At}
	case device.LongPress:
		return []device.Point{a.At}
	case device.Swipe:
		return []device.Point{a.From, a.To}
	case device.TypeText:
		if a.Into != nil {
			return []device.Point{*a.Into}
		}
	}
	return nil
}
