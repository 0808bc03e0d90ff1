package tool_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/tool"
)

// R-PLAN-3
func TestToolsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	const one, other = `[{"name":"one","description":"first","parameters":{ "type" : "object" }}]`, `[{"name":"one","description":"first","parameters":{"type":"object"}}]`
	want := []tool.Spec{{Name: "one", Description: "first", Parameters: []byte(`{ "type" : "object" }`)}}
	for range 2 { // the second time they are recognised
		raw := []byte(one)
		s, malformed, refused := tool.Read(raw)
		if malformed != nil || refused != nil {
			t.Fatal(malformed, refused)
		}
		clear(raw) // the caller's to use again
		if diff := cmp.Diff(want, s.Specs()); diff != "" {
			t.Error(diff)
		}
		same, err := tool.NewSet(want)
		if err != nil || same.Digest() != s.Digest() {
			t.Errorf("the same specs have another digest (%v)", err)
		}
	}
	s, _, _ := tool.Read([]byte(one))
	if o, _, _ := tool.Read([]byte(other)); o.Digest() == s.Digest() {
		t.Error("parameters that are written in another way have the same digest")
	}
}

// R-PLAN-3
func TestWhatIsNoSetIsRefusedEachTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw                string
		malformed, refused bool
	}{
		"nothing":                   {raw: ``, malformed: true},
		"an object":                 {raw: `{}`, malformed: true},
		"null":                      {raw: `null`, refused: true},
		"no tool":                   {raw: `[]`, refused: true},
		"a name that is a number":   {raw: `[{"name":1}]`, malformed: true},
		"a member twice":            {raw: `[{"name":"a","name":"a","parameters":{"type":"object"}}]`, malformed: true},
		"a tool twice":              {raw: `[{"name":"a","parameters":{"type":"object"}},{"name":"a","parameters":{"type":"object"}}]`, refused: true},
		"a schema of another thing": {raw: `[{"name":"a","parameters":{"type":"string"}}]`, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				s, malformed, refused := tool.Read([]byte(c.raw))
				if s != nil || (malformed != nil) != c.malformed || (refused != nil) != c.refused {
					t.Errorf("got %v, malformed %v, refused %v", s, malformed, refused)
				}
			}
		})
	}
}

// R-PLAN-3
func TestDigestsTellListsApart(t *testing.T) {
	t.Parallel()
	object := []byte(`{"type":"object"}`)
	seen := map[[32]byte]int{}
	for i, specs := range [][]tool.Spec{
		{{Name: "a", Description: "bc", Parameters: object}},
		{{Name: "ab", Description: "c", Parameters: object}},
		{{Name: "a", Parameters: object}, {Name: "b", Parameters: object}},
		{{Name: "b", Parameters: object}, {Name: "a", Parameters: object}},
	} {
		s, err := tool.NewSet(specs)
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[s.Digest()]; twice {
			t.Errorf("lists %d and %d have one digest", before, i)
		}
		seen[s.Digest()] = i
	}
}

func TestAFormIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s, err := tool.NewSet([]tool.Spec{{Name: "a", Parameters: []byte(`{"type":"object"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	write := func(specs []tool.Spec) ([]byte, error) {
		if writes++; writes == 1 {
			return nil, tool.ErrUnknown
		}
		return []byte(specs[0].Name), nil
	}
	if _, err := s.Form("names", write); err == nil {
		t.Error("an error of the writer is not told")
	}
	for range 3 {
		if form, err := s.Form("names", write); err != nil || !bytes.Equal(form, []byte("a")) {
			t.Errorf("got %q, %v", form, err)
		}
	}
	if writes != 2 {
		t.Errorf("written %d times, want once after the error", writes)
	}
}
