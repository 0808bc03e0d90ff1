package selector

import (
	"encoding/json"
	"maps"
	"slices"

	"interlock/internal/tool"
)

// vendors are those that a form must fit, whichever is asked.
var vendors = []string{"anthropic", "openai"}

// portable reports whether every vendor can hold its model to the schema.
func portable(schema json.RawMessage) bool {
	return !slices.ContainsFunc(vendors, func(v string) bool { return !tool.Strict(v, tool.Spec{Name: "form", Parameters: schema}) })
}

// embeddable returns the tool's schema without what vendors don't hold a model
// to, such as patterns and bounds: it lets through more, and the offer checks
// the arguments by the whole schema anyway. Ok is false where what is left is
// still not portable, or says too little.
func embeddable(spec tool.Spec) (schema any, ok bool) {
	var whole any
	if json.Unmarshal(spec.Parameters, &whole) != nil {
		return nil, false
	}
	var l loosener
	schema = l.loosen(whole)
	return schema, !l.vague && portable(encoded(schema))
}

// loosener keeps of schemas the keywords that every vendor knows.
type loosener struct {
	vague bool // a schema is left without a type or a choice
}

// kept are the keywords that stay as they are.
var kept = []string{"type", "description", "enum", "const", "required", "additionalProperties"}

func (l *loosener) loosen(node any) any {
	m, _ := node.(map[string]any)
	out := map[string]any{}
	for _, k := range kept {
		if v, has := m[k]; has {
			out[k] = v
		}
	}
	if inside, has := m["properties"].(map[string]any); has {
		properties := map[string]any{}
		for name, s := range inside {
			properties[name] = l.loosen(s)
		}
		out["properties"] = properties
	}
	if items, has := m["items"]; has {
		out["items"] = l.loosen(items)
	}
	if inside, has := m["anyOf"].([]any); has {
		choices := make([]any, len(inside))
		for i, s := range inside {
			choices[i] = l.loosen(s)
		}
		out["anyOf"] = choices
	}
	l.vague = l.vague || (out["type"] == nil && out["anyOf"] == nil)
	return out
}

// closed is the schema of an object with exactly these members.
func closed(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(properties)), "additionalProperties": false}
}

// one is the schema of one word.
func one(word string) map[string]any {
	return map[string]any{"type": "string", "enum": []string{word}}
}
