package selector

import (
	"testing"

	"interlock/internal/tool"
)

// R-BRIDGE-7, R-PLAN-12
func TestWhatOfAToolsSchemaAModelCanBeHeldTo(t *testing.T) {
	t.Parallel()
	const asText = ""
	for name, c := range map[string]struct{ schema, want string }{
		"within both subsets": {`{"type":"object","properties":{"a":{"type":"string","description":"A."}},"required":["a"],"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"a":{"description":"A.","type":"string"}},"required":["a"],"type":"object"}`},
		"patterns and bounds are dropped": {`{"type":"object","properties":{"a":{"type":"string","pattern":"^a","minLength":1,"maxLength":9,"format":"email","default":"a"},"n":{"type":"integer","minimum":1}},"required":["a","n"],"additionalProperties":false,"title":"T"}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"},"n":{"type":"integer"}},"required":["a","n"],"type":"object"}`},
		"arguments that are called as keywords stay": {`{"type":"object","properties":{"pattern":{"type":"string"},"$ref":{"type":"string"},"properties":{"type":"string"}},"required":["$ref","pattern","properties"],"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"$ref":{"type":"string"},"pattern":{"type":"string"},"properties":{"type":"string"}},"required":["$ref","pattern","properties"],"type":"object"}`},
		"lists, choices and objects inside": {`{"type":"object","properties":{"l":{"type":"array","maxItems":3,"items":{"anyOf":[{"type":"string","pattern":"^a"},{"type":"object","properties":{},"additionalProperties":false}]}}},"required":["l"],"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"l":{"items":{"anyOf":[{"type":"string"},{"additionalProperties":false,"properties":{},"type":"object"}]},"type":"array"}},"required":["l"],"type":"object"}`},
		"a reference":                {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, asText},
		"an optional argument":       {`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, asText},
		"an open object inside":      {`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`, asText},
		"an argument without a type": {`{"type":"object","properties":{"a":{"minimum":1}},"required":["a"],"additionalProperties":false}`, asText},
		"an argument of any value":   {`{"type":"object","properties":{"a":true},"required":["a"],"additionalProperties":false}`, asText},
		"a choice that must be one":  {`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`, asText},
		"objects nested too deeply":  {deep(12), asText},
		"a list for a schema":        {`[]`, asText},
	} {
		got, ok := embeddable(tool.Spec{Name: "x", Parameters: []byte(c.schema)})
		if ok != (c.want != asText) || (ok && string(encoded(got)) != c.want) {
			t.Errorf("%s: got %v %s, want %s", name, ok, encoded(got), c.want)
		}
	}
}

// deep is the schema of objects n levels inside one another.
func deep(n int) string {
	if n == 0 {
		return `{"type":"string"}`
	}
	return `{"type":"object","properties":{"a":` + deep(n-1) + `},"required":["a"],"additionalProperties":false}`
}
