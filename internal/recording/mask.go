package recording

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/planner"
)

// Marks that stand for what is not told.
const (
	maskField  = "‹field›"
	maskEmail  = "‹email›"
	maskNumber = "‹number›"
	maskSecret = "‹not kept›"
)

// minPart is how long a typed text is at least that is masked inside of other
// texts too: a shorter one is part of nearly everything.
const minPart = 3

var (
	emails  = regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN.-]+\.\pL{2,}`)
	numbers = regexp.MustCompile(`\+?\pN(?:[ ./()-]{0,3}\pN){5,}`)
)

// masker masks. Its typed texts are known before anything is masked. The zero
// masker masks nothing.
type masker struct {
	on    bool
	typed []string // the Nth is ‹text N+1›
}

// learn notes a text that was typed.
func (m *masker) learn(text string) {
	if text != "" && !slices.Contains(m.typed, text) {
		m.typed = append(m.typed, text)
	}
}

func mark(n int) string { return fmt.Sprintf("‹text %d›", n+1) }

// text masks what anybody may have written.
func (m *masker) text(s string) string {
	if !m.on || s == "" {
		return s
	}
	for _, n := range m.longestFirst() {
		switch typed := m.typed[n]; {
		case s == typed:
			return mark(n)
		case utf8.RuneCountInString(typed) >= minPart:
			s = strings.ReplaceAll(s, typed, mark(n))
		}
	}
	s = emails.ReplaceAllString(s, maskEmail)
	return numbers.ReplaceAllString(s, maskNumber)
}

// longestFirst orders the typed texts so that none is masked inside another.
func (m *masker) longestFirst() []int {
	order := make([]int, len(m.typed))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(m.typed[b]), len(m.typed[a])) })
	return order
}

// element masks what an element shows. What a field holds is told only where
// it was typed here, and then as its mark.
func (m *masker) element(e Element) Element {
	if !m.on {
		return e
	}
	e.Label = m.text(e.Label)
	if e.Text = m.text(e.Text); e.Text != "" && slices.Contains(e.Flags, "editable") && !slices.Contains(m.marks(), e.Text) {
		e.Text = maskField
	}
	return e
}

func (m *masker) marks() (all []string) {
	for n := range m.typed {
		all = append(all, mark(n))
	}
	return all
}

// scene masks the elements of a scene.
func (m *masker) scene(s Scene) Scene {
	s.Elements = slices.Clone(s.Elements)
	for i, e := range s.Elements {
		s.Elements[i] = m.element(e)
	}
	return s
}

// free are the arguments that hold text in somebody's own words.
var free = []string{"text", "url", "summary", "evidence", "reason"}

// arguments masks those of a call.
func (m *masker) arguments(args jsontext.Value) jsontext.Value {
	return rewrite(args, m.text)
}

// rewrite puts each free text of args through f.
func rewrite(args jsontext.Value, f func(string) string) jsontext.Value {
	var values map[string]any
	if json.Unmarshal(args, &values) != nil {
		return args
	}
	for _, name := range free {
		if s, ok := values[name].(string); ok {
			values[name] = f(s)
		}
	}
	out, err := json.Marshal(values, json.Deterministic(true))
	if err != nil {
		return args
	}
	return out
}

// personal is the text in a call that is masked as one of the typed ones.
func personal(tool string, a planner.Arguments) string {
	switch {
	case tool == planner.TypeText:
		return a.Text
	case tool == planner.OpenURL && strings.ContainsAny(a.URL, "?#"):
		return a.URL
	}
	return ""
}
