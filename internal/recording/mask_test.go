package recording

import (
	"testing"

	"pgregory.net/rapid"
)

// R-RUN-6
func TestMasking(t *testing.T) {
	t.Parallel()
	m := masker{on: true, typed: []string{"Ada", "Ada Lovelace", "x", "https://a.example/?token=1"}}
	for text, want := range map[string]string{
		"":                                 "",
		"Ada":                              "‹text 1›",
		"Ada Lovelace":                     "‹text 2›",
		"to Ada Lovelace and Ada":          "to ‹text 2› and ‹text 1›",
		"x":                                "‹text 3›",
		"next":                             "next",
		"see https://a.example/?token=1":   "see ‹text 4›",
		"write to a.b+c@mail.example.org!": "write to ‹email›!",
		"+49 (30) 123-456":                 "‹number›",
		"4111 1111 1111 1111, 12 of 30":    "‹number›, 12 of 30",
		"12:30":                            "12:30",
		"٠١٢٣٤٥":                           "‹number›",
	} {
		if got := m.text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	field := []string{"editable"}
	for name, c := range map[string]struct{ e, want Element }{
		"a field":                 {Element{Text: "Bob", Label: "Name", Flags: field}, Element{Text: "‹field›", Label: "Name", Flags: field}},
		"a field that was filled": {Element{Text: "Ada", Flags: field}, Element{Text: "‹text 1›", Flags: field}},
		"an empty field":          {Element{Flags: field}, Element{Flags: field}},
		"a text":                  {Element{Text: "Bob"}, Element{Text: "Bob"}},
	} {
		if got := m.element(c.e); got.Text != c.want.Text || got.Label != c.want.Label {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if off := (&masker{}).text("Ada 4111 1111 1111"); off != "Ada 4111 1111 1111" {
		t.Errorf("unmasked: %q", off)
	}
}

// Whatever a file holds, reading it ends, and what was read is written the
// same again.
func TestAnyFileIsReadOrRefused(t *testing.T) {
	t.Parallel()
	good, err := Recording{Task: Task{Version: version}, Turns: []Turn{{Step: 1, Tool: "tap", Arguments: []byte(`{"ref":"e1"}`), Scene: Scene{Elements: []Element{{Role: "x"}}}}}}.encode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		content := append([]byte(nil), good...)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			content[rapid.IntRange(0, len(content)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		r, err := decode(content)
		if err != nil {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatalf("read and not written: %v", err)
		}
		if _, err := decode(again); err != nil {
			t.Fatalf("%s became %s: %v", content, again, err)
		}
	})
}
