package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Severity says what a Problem costs.
type Severity string

// The severities.
const (
	// Refused: the provider would answer 400 for the whole request, so the
	// set must not be published for it.
	Refused Severity = "refused"
	// NotStrict: the tool works, but the provider can't be asked to hold the
	// model to its schema. The tool is sent non-strict and our own check of
	// the arguments is the only one.
	NotStrict Severity = "not_strict"
)

// Problem is one disagreement between a spec and what a provider takes.
type Problem struct {
	Provider string   `json:"provider"`
	Tool     string   `json:"tool"`
	Where    string   `json:"where"` // a JSON pointer into the parameters, "name", or "" for the parameters as a whole
	Severity Severity `json:"severity"`
	Detail   string   `json:"detail"` // one sentence that says what to do
}

// String is one line for a person.
func (p Problem) String() string {
	return fmt.Sprintf("%s: tool %q at %q: %s (%s)", p.Provider, p.Tool, p.Where, p.Detail, p.Severity)
}

// Limits is what one provider takes of a tool spec. The rows are data, not
// code, because vendors move them without notice.
type Limits struct {
	Provider string
	Source   string // where the row comes from

	// RootBans are keywords that the provider refuses at the root, strict or
	// not.
	RootBans []string

	// The rest describes the subset within which the provider can be asked to
	// be strict.
	Keywords      []string // every keyword that the subset knows
	Formats       []string // values of "format"; empty: any
	MaxMinItems   int      // largest "minItems"; negative: any
	AllRequired   bool     // every property must be listed in "required"
	Closed        bool     // every object must say "additionalProperties": false
	MaxProperties int      // over the whole schema
	MaxDepth      int      // objects inside objects
	MaxEnumValues int      // over the whole schema
}

// limits holds a row a provider. None was checked against a live API.
var limits = []Limits{
	{
		Provider: "anthropic",
		Source:   "the schema transformer of anthropic-sdk-go v1.84.0 for the strict subset; anthropics/claude-code issues 5319 and 5878 for the root; depth and sizes as OpenAI's, for want of a published figure",
		RootBans: []string{"oneOf", "allOf", "anyOf"},
		Keywords: []string{"$ref", "$defs", "type", "anyOf", "allOf", "description", "title", "enum", "const", "properties",
			"additionalProperties", "required", "items", "minItems", "format", "pattern"},
		Formats:       []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
		MaxMinItems:   1,
		Closed:        true,
		MaxProperties: 5000, MaxDepth: 10, MaxEnumValues: 1000,
	},
	{
		Provider: "openai",
		Source:   "OpenAI's structured-outputs page as cited in 2026 by third parties; dotnet/extensions issue 6266 for default; langchain-ai/langchainjs issue 9804 for the root",
		RootBans: []string{"oneOf", "anyOf", "allOf", "enum", "not"},
		Keywords: []string{"$ref", "$defs", "type", "anyOf", "description", "title", "enum", "const", "properties",
			"additionalProperties", "required", "items", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum",
			"exclusiveMaximum", "multipleOf"},
		MaxMinItems:   -1,
		AllRequired:   true,
		Closed:        true,
		MaxProperties: 5000, MaxDepth: 10, MaxEnumValues: 1000,
	},
}

// Lint checks specs against every provider's limits; an empty answer means
// that each tool can be sent strict to each provider. It is for the moment a
// set is published: a wrong spec then fails in front of its author instead of
// failing every request that offers it. Specs that NewSet refuses may be
// linted too.
func Lint(specs []Spec) []Problem {
	var all []Problem
	for _, l := range limits {
		for _, spec := range specs {
			all = append(all, l.check(spec)...)
		}
	}
	return all
}

// Strict reports whether the provider can be asked to hold the model to this
// spec's schema. An unknown provider can't.
func Strict(provider string, spec Spec) bool {
	i := slices.IndexFunc(limits, func(l Limits) bool { return l.Provider == provider })
	return i >= 0 && len(limits[i].check(spec)) == 0
}

// check lists the problems of one spec in a fixed order.
func (l Limits) check(spec Spec) []Problem {
	w := &linter{limits: l, tool: spec.Name}
	if !portableName(spec.Name) {
		w.add("name", Refused, "rename the tool to 1 to 64 of a-z, A-Z, 0-9, '_' and '-'")
	}
	var root map[string]any
	if err := json.Unmarshal(spec.Parameters, &root); err != nil || root["type"] != "object" {
		w.add("", Refused, `make the parameters a JSON Schema whose root says "type": "object"`)
		return w.found
	}
	if len(spec.Parameters) > MaxSchemaBytes {
		w.add("", Refused, fmt.Sprintf("shorten the parameters to %d bytes", MaxSchemaBytes))
		return w.found
	}
	for _, ban := range l.RootBans {
		if _, has := root[ban]; has {
			w.add("/"+ban, Refused, fmt.Sprintf("move %q below the root, or leave the rule to the tool itself", ban))
		}
	}
	w.schema("", root, 1)
	w.totals()
	return w.found
}

// linter walks one schema and counts as it goes.
type linter struct {
	limits            Limits
	tool              string
	found             []Problem
	properties, enums int
	depth             int
}

func (w *linter) add(where string, s Severity, detail string) {
	w.found = append(w.found, Problem{Provider: w.limits.Provider, Tool: w.tool, Where: where, Severity: s, Detail: detail})
}

// schema checks the schema at where, which lies inside depth objects.
func (w *linter) schema(where string, node any, depth int) {
	m, ok := node.(map[string]any)
	if !ok || depth > MaxDepth {
		w.add(where, NotStrict, "write the schema as an object with keywords, nested less deeply")
		return
	}
	w.depth = max(w.depth, depth)
	w.keywords(where, m)
	if isObject(m) {
		w.object(where, m)
	}
	w.descend(where, m, depth)
}

// keywords checks the names of the keywords and the values of the few that
// are limited in them.
func (w *linter) keywords(where string, m map[string]any) {
	for _, k := range sortedKeys(m) {
		if !slices.Contains(w.limits.Keywords, k) {
			w.add(where+"/"+escape(k), NotStrict, fmt.Sprintf("drop %q to have the provider hold the model to the schema; we check it in any case", k))
		}
	}
	if f, ok := m["format"].(string); ok && len(w.limits.Formats) > 0 && !slices.Contains(w.limits.Formats, f) {
		w.add(where+"/format", NotStrict, "use one of the formats "+strings.Join(w.limits.Formats, ", "))
	}
	if n, ok := m["minItems"].(float64); ok && w.limits.MaxMinItems >= 0 && n > float64(w.limits.MaxMinItems) {
		w.add(where+"/minItems", NotStrict, fmt.Sprintf("keep minItems at %d or less", w.limits.MaxMinItems))
	}
	if values, ok := m["enum"].([]any); ok {
		w.enums += len(values)
	}
	if _, ref := m["$ref"]; ref && len(m) > 1 {
		w.add(where+"/$ref", NotStrict, "leave $ref alone in its object")
	}
}

// object checks what a strict object must say.
func (w *linter) object(where string, m map[string]any) {
	properties, _ := m["properties"].(map[string]any)
	w.properties += len(properties)
	if w.limits.Closed && m["additionalProperties"] != false {
		w.add(where+"/additionalProperties", NotStrict, `say "additionalProperties": false`)
	}
	if !w.limits.AllRequired {
		return
	}
	required, _ := m["required"].([]any)
	for _, name := range sortedKeys(properties) {
		if !slices.Contains(required, any(name)) {
			w.add(where+"/properties/"+escape(name), NotStrict, fmt.Sprintf("list %.80q in required, and let its type be null where it may be absent", name))
		}
	}
}

// descend visits every schema directly inside m.
func (w *linter) descend(where string, m map[string]any, depth int) {
	for _, k := range []string{"properties", "$defs"} {
		inside, _ := m[k].(map[string]any)
		for _, name := range sortedKeys(inside) {
			w.schema(where+"/"+k+"/"+escape(name), inside[name], depth+1)
		}
	}
	for _, k := range []string{"anyOf", "allOf", "oneOf"} {
		inside, _ := m[k].([]any)
		for i, s := range inside {
			w.schema(fmt.Sprintf("%s/%s/%d", where, k, i), s, depth+1)
		}
	}
	if items, has := m["items"]; has {
		w.schema(where+"/items", items, depth+1)
	}
}

// totals checks what only the whole schema can break.
func (w *linter) totals() {
	for _, c := range []struct {
		what       string
		have, most int
	}{{"properties", w.properties, w.limits.MaxProperties}, {"levels", w.depth, w.limits.MaxDepth}, {"enum values", w.enums, w.limits.MaxEnumValues}} {
		if c.have > c.most {
			w.add("", NotStrict, fmt.Sprintf("reduce the schema's %s from %d to %d", c.what, c.have, c.most))
		}
	}
}

// isObject reports whether the schema describes an object, alone or in a
// union with null.
func isObject(m map[string]any) bool {
	if types, ok := m["type"].([]any); ok {
		return slices.Contains(types, any("object"))
	}
	_, properties := m["properties"]
	return m["type"] == "object" || properties
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// escape writes a name as one step of a JSON pointer, bounded because names
// come from strangers' catalogs.
func escape(name string) string {
	return fmt.Sprintf("%.80s", strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}
