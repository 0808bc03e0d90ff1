package tool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"interlock/internal/tool"
)

// doubling is a schema of n definitions, each of which applies the next twice.
func doubling(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d0","$defs":{%s,"d%d":{}}}`, strings.Join(defs, ","), n)
}

// numbers is n distinct numbers, joined by commas.
func numbers(from, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(from + i)
	}
	return strings.Join(out, ",")
}

func nested(open, inside, closed string, n int) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(closed, n)
}

// Each of these cost seconds to centuries, or gigabytes, before the check
// measured first.
func TestArgumentsThatWouldTakeTooLongToCheckAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, args string }{
		"references that double sixty times": {doubling(60), `{}`},
		"a reference to itself in place":     {`{"type":"object","$ref":"#"}`, `{}`},
		"a tree that branches in the same property": {`{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`,
			nested(`{"a":`, `{}`, `}`, 30)},
		"a long enum for each of many items": {`{"type":"object","properties":{"n":{"items":{"enum":[` + numbers(0, 9000) + `]}}}}`, `{"n":[` + numbers(20000, 10000) + `]}`},
		"numbers that only exact arithmetic tells apart": {`{"type":"object","properties":{"n":{"uniqueItems":true}}}`,
			`{"n":[1000000000000000000000000000000000001` + strings.Repeat(`,1000000000000000000000000000000000002`, 5000) + `]}`},
		"a large pattern on a long text": {`{"type":"object","properties":{"n":{"pattern":"(x?y?z?){300}$"}}}`, `{"n":"` + strings.Repeat("x", 200_000) + `"}`},
		"many lengths of a long text": {`{"type":"object","properties":{"n":{"allOf":[` + strings.Repeat(`{"minLength":1},`, 3000) + `{}]}}}`,
			`{"n":"` + strings.Repeat("x", 200_000) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := tool.NewSet([]tool.Spec{spec("a", c.schema)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Check("a", []byte(c.args)); !errors.Is(err, tool.ErrArguments) || !strings.Contains(err.Error(), "more work") {
				t.Errorf("got %v, want a refusal for the work", err)
			}
		})
	}
}

func TestASchemaThatCannotBeMeasuredIsNoTool(t *testing.T) {
	t.Parallel()
	many := make([]tool.Spec, 5)
	for i := range many {
		many[i] = spec(fmt.Sprint("t", i), fmt.Sprintf(`{"type":"object","title":"%d","description":"%s"}`, i, strings.Repeat("x", tool.MaxSetBytes/5)))
	}
	property := func(schema string) []tool.Spec {
		return []tool.Spec{spec("a", `{"type":"object","properties":{"x":`+schema+`}}`)}
	}
	for name, specs := range map[string][]tool.Spec{
		"a pattern of gigabytes":           property(`{"pattern":"` + strings.Repeat("x{1000}", 500) + `"}`),
		"many large patterns":              property(`{"allOf":[{"pattern":"a{1000}"},{"pattern":"(bc){1000}"},{"pattern":"(def){1000}"},{"pattern":"(ghij){1000}"}]}`),
		"a large pattern for names":        property(`{"patternProperties":{"` + strings.Repeat("x{1000}", 50) + `":{}}}`),
		"long patterns":                    property(`{"pattern":"` + strings.Repeat(`(?i:\\pL)`, 1000) + `"}`),
		"a reference by an anchor":         property(`{"$anchor":"here","$ref":"#here"}`),
		"a reference by a dynamic anchor":  property(`{"$dynamicAnchor":"here","$dynamicRef":"#here"}`),
		"an escaped reference":             property(`{"$ref":"#/%24defs/x"}`),
		"a reference to nothing":           property(`{"$ref":"#/$defs/x"}`),
		"a reference beyond a list":        property(`{"allOf":[{}],"$ref":"#/properties/x/allOf/1"}`),
		"a schema inside with its own id":  property(`{"$id":"urn:other","$ref":"#"}`),
		"an old dialect":                   {spec("a", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`)},
		"five schemas that are too much":   many,
		"the same schema for every tool's": {spec("a", string(many[0].Parameters)), spec("b", string(many[0].Parameters)), spec("c", string(many[0].Parameters)), spec("d", string(many[0].Parameters)), spec("e", string(many[0].Parameters))},
	} {
		if _, err := tool.NewSet(specs); err == nil || len(err.Error()) > 300 {
			t.Errorf("%s: got %v, want a short refusal", name, err)
		}
	}
}

func TestOrdinarySchemasAreNotTooMuchWork(t *testing.T) {
	t.Parallel()
	const filter = `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/filter","anyOf":[
		{"properties":{"field":{"type":"string","pattern":"^[a-z]{1,64}$"}},"required":["field"]},
		{"properties":{"and":{"type":"array","items":{"$ref":"#"}}},"required":["and"]}]}`
	for name, c := range map[string]struct{ schema, args string }{
		"a filter inside filters":            {filter, nested(`{"and":[`, `{"field":"a"},{"field":"b"}`, `]}`, 10)},
		"a thousand numbers within limits":   {`{"type":"object","properties":{"n":{"items":{"type":"integer","minimum":0,"maximum":100000}}}}`, `{"n":[` + numbers(0, 1000) + `]}`},
		"a long text":                        {`{"type":"object","properties":{"n":{"type":"string","maxLength":200000}}}`, `{"n":"` + strings.Repeat("x", 200_000) + `"}`},
		"two hundred names, all different":   {`{"type":"object","properties":{"n":{"uniqueItems":true,"items":{"type":"string"}}}}`, `{"n":["` + strings.ReplaceAll(numbers(0, 200), ",", `","`) + `"]}`},
		"a property that is called $ref":     {`{"type":"object","properties":{"$ref":{"type":"string"},"$id":{"type":"string"}}}`, `{"$ref":"x","$id":"y"}`},
		"a definition with a slash":          {`{"type":"object","properties":{"n":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string"}}}`, `{"n":"x"}`},
		"a format that the tool checks":      {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"format":"regex"}}}`, `{"n":"x{1000}"}`},
		"a pattern twice, for names and for": {`{"type":"object","patternProperties":{"^n$":{"pattern":"^n$"}}}`, `{"n":"n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := tool.NewSet([]tool.Spec{spec("a", c.schema)})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Check("a", []byte(c.args)); err != nil || !json.Valid(got.Arguments) {
				t.Errorf("refused: %v", err)
			}
		})
	}
}
