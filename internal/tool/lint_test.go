package tool_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/tool"
)

// R-PLAN-12
func TestLintNamesTheProviderThePlaceAndTheCost(t *testing.T) {
	t.Parallel()
	strict := func(properties string) string {
		return `{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":` + properties + `}}`
	}
	both := func(at, severity string) []string {
		return []string{"anthropic " + at + " " + severity, "openai " + at + " " + severity}
	}
	for name, c := range map[string]struct {
		spec tool.Spec
		want []string // provider, place and severity of each problem
	}{
		"a closed schema with all required suits both": {spec("tap", strict(`{"type":"string","enum":["a","b"]}`)), nil},
		"a dotted name is refused by both":             {spec("phone.tap", strict(`{"type":"string"}`)), both("name", "refused")},
		"a name of 65 is refused by both":              {spec(strings.Repeat("a", 65), strict(`{"type":"string"}`)), both("name", "refused")},
		"no schema at all":                             {spec("tap", `null`), both("", "refused")},
		"a choice at the root": {spec("tap", `{"type":"object","additionalProperties":false,"anyOf":[{"type":"object","additionalProperties":false}]}`),
			both("/anyOf", "refused")},
		"an open object":             {spec("tap", `{"type":"object"}`), both("/additionalProperties", "not_strict")},
		"default, which strict bans": {spec("tap", strict(`{"type":"string","default":"a"}`)), both("/properties/x/default", "not_strict")},
		"maxItems, which only Anthropic bans": {spec("tap", strict(`{"type":"array","items":{"type":"string"},"maxItems":3}`)),
			[]string{"anthropic /properties/x/maxItems not_strict"}},
		"minItems above one":     {spec("tap", strict(`{"type":"array","items":{"type":"string"},"minItems":2}`)), []string{"anthropic /properties/x/minItems not_strict"}},
		"a format and a pattern": {spec("tap", strict(`{"type":"string","format":"regex"}`)), []string{"anthropic /properties/x/format not_strict", "openai /properties/x/format not_strict"}},
		"an optional property":   {spec("tap", `{"type":"object","additionalProperties":false,"properties":{"a/b":{"type":"string"}}}`), []string{"openai /properties/a~1b not_strict"}},
		"a reference with siblings": {spec("tap", `{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":{"$ref":"#/$defs/s","description":"d"}},"$defs":{"s":{"type":"string"}}}`),
			both("/properties/x/$ref", "not_strict")},
		"a nested open object": {spec("tap", strict(`{"type":"object"}`)), both("/properties/x/additionalProperties", "not_strict")},
		"a schema of true":     {spec("tap", strict(`true`)), both("/properties/x", "not_strict")},
	} {
		var got []string
		for _, p := range tool.Lint([]tool.Spec{c.spec}) {
			got = append(got, fmt.Sprintf("%s %s %s", p.Provider, p.Where, p.Severity))
			if p.Tool != c.spec.Name || p.Detail == "" || !strings.Contains(p.String(), p.Detail) {
				t.Errorf("%s: incomplete problem %+v", name, p)
			}
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// R-PLAN-12
func TestLintCountsOverTheWholeSchema(t *testing.T) {
	t.Parallel()
	var values []string
	for i := range 1001 {
		values = append(values, fmt.Sprintf(`"v%d"`, i))
	}
	deep := `{"type":"string"}`
	for range 11 {
		deep = `{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":` + deep + `}}`
	}
	for name, schema := range map[string]string{
		"reduce the schema's enum values from 1001 to 1000": `{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":{"enum":[` + strings.Join(values, ",") + `]}}}`,
		"reduce the schema's levels from 12 to 10":          deep,
	} {
		problems := tool.Lint([]tool.Spec{spec("tap", schema)})
		if len(problems) != 2 || problems[0].Detail != name || problems[0].Severity != tool.NotStrict {
			t.Errorf("want one %q a provider, got %v", name, problems)
		}
	}
}

// R-PLAN-12
func TestStrictIsAskedOnlyWithinTheSubset(t *testing.T) {
	t.Parallel()
	bounded := spec("tap", `{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":{"type":"integer","minimum":0}}}`)
	if tool.Strict("anthropic", bounded) || !tool.Strict("openai", bounded) || tool.Strict("nobody", bounded) {
		t.Errorf("anthropic %v, openai %v, nobody %v; want false, true, false",
			tool.Strict("anthropic", bounded), tool.Strict("openai", bounded), tool.Strict("nobody", bounded))
	}
}

// R-PLAN-12: what strangers publish can't stop the linter, and it never calls
// strict what it has a problem with.
func TestLintStandsAnySchema(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		schema := drawSchema(t, 4)
		s := spec("tap", schema)
		for _, provider := range []string{"anthropic", "openai"} {
			problems := 0
			for _, p := range tool.Lint([]tool.Spec{s}) {
				if p.Provider == provider {
					problems++
				}
			}
			if tool.Strict(provider, s) != (problems == 0) {
				t.Fatalf("%s: %s: strict %v with %d problems", provider, schema, tool.Strict(provider, s), problems)
			}
		}
	})
}

func drawSchema(t *rapid.T, depth int) string {
	kinds := []string{`true`, `7`, `{"type":"string"}`, `{"enum":[1,null]}`, `{"type":["object","null"]}`}
	if depth > 0 {
		inside := drawSchema(t, depth-1)
		kinds = append(kinds, `{"type":"object","properties":{"a":`+inside+`},"additionalProperties":false,"required":["a"]}`,
			`{"anyOf":[`+inside+`]}`, `{"items":`+inside+`}`, `{"type":"object","properties":`+inside+`,"required":3}`)
	}
	return rapid.SampledFrom(kinds).Draw(t, "schema")
}
