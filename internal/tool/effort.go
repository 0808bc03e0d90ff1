package tool

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas come from hosts, arguments from models, and the library that
// compares them can't be interrupted. A few hundred bytes of schema can ask for
// hours of work (references that double at each step, a long enum for each of
// many items) or for gigabytes (repeated repeats in a pattern). So both are
// measured first.
const (
	// maxEffort is how many steps one check of arguments may take: about a
	// tenth of a second. A call of a phone's tool takes some ten.
	maxEffort = 100_000
	// maxNesting is how deep schemas may apply one another, in the same value
	// and in values within it.
	maxNesting = 500
	// maxPatternText and maxPatternSize bound all patterns of one schema: bytes
	// as written, and instructions as compiled.
	maxPatternText = 4_000
	maxPatternSize = 10_000
)

var errEffort = errors.New("checking them takes more work than a call is worth; send less, or simplify the tool's schema")

// schema is one compiled parameter schema.
type schema struct {
	compiled *jsonschema.Schema
	doc      map[string]any
	patterns map[string]int // size of each
}

// validate holds v against the schema, if that is affordable.
func (s *schema) validate(v any) error {
	e := effort{schema: s, left: maxEffort}
	e.apply(s.doc, v, 0)
	if e.left < 0 {
		return errEffort
	}
	return s.compiled.Validate(v)
}

// effort walks a value along its schema as the library will, and counts. Where
// what the library does depends on a result, it counts the dearer way.
type effort struct {
	*schema
	left int // negative: too much
}

func (e *effort) spend(n int) bool {
	e.left -= min(n, e.left+1)
	return e.left >= 0
}

// apply counts what holding value against the schema node costs.
func (e *effort) apply(node, value any, depth int) {
	text, _ := value.(string)
	if depth > maxNesting {
		e.left = -1
	}
	s, ok := node.(map[string]any)
	if !e.spend(1+len(text)/64) || !ok {
		return
	}
	e.compare(s, value)
	e.inPlace(s, value, depth+1)
	switch v := value.(type) {
	case map[string]any:
		e.members(s, v, depth+1)
	case []any:
		e.items(s, v, depth+1)
	}
}

// compare counts the keywords that look at the value as a whole.
func (e *effort) compare(s map[string]any, value any) {
	for _, k := range [...]string{"enum", "const", "required", "dependentRequired", "dependencies"} {
		if list, ok := s[k]; ok {
			e.size(list)
		}
	}
	switch v := value.(type) {
	case string:
		pattern, _ := s["pattern"].(string)
		e.match(pattern, v)
	case []any:
		if s["uniqueItems"] == true {
			e.distinct(v)
		}
	}
}

// match counts one run of a pattern.
func (e *effort) match(pattern, text string) {
	e.spend(len(text) * e.patterns[pattern] / 20)
}

// distinct counts the comparison of items with one another: each with a few,
// but numbers that only exact arithmetic tells apart, each with each.
func (e *effort) distinct(items []any) {
	before := e.left
	exact := e.size(items)
	e.spend(20*(before-max(e.left, 0)) + exact*exact)
}

// size spends one step for each value inside v, and returns how many of them
// are numbers with more digits than a float holds.
func (e *effort) size(v any) (exact int) {
	if !e.spend(1) {
		return 0
	}
	switch v := v.(type) {
	case map[string]any:
		for _, inside := range v {
			exact += e.size(inside)
		}
	case []any:
		for _, inside := range v {
			exact += e.size(inside)
		}
	case string:
		e.spend(len(v) / 64)
	case interface{ String() string }: // a number
		if len(v.String()) > 15 {
			exact = 1
		}
	}
	return exact
}

// inPlace counts the schemas that s applies to the same value.
func (e *effort) inPlace(s map[string]any, value any, depth int) {
	for _, k := range [...]string{"not", "if", "then", "else"} {
		if sub, ok := s[k]; ok {
			e.apply(sub, value, depth)
		}
	}
	for _, k := range [...]string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[k].([]any)
		for _, sub := range list {
			e.apply(sub, value, depth)
		}
	}
	for _, k := range [...]string{"dependentSchemas", "dependencies"} {
		inside, _ := s[k].(map[string]any)
		for _, sub := range inside {
			e.apply(sub, value, depth)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		target, _ := resolve(e.doc, ref)
		e.apply(target, value, depth)
	}
}

func (e *effort) members(s, value map[string]any, depth int) {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	for name, v := range value {
		if e.left < 0 {
			return
		}
		own, named := properties[name]
		if named {
			e.apply(own, v, depth)
		} else if sub, ok := s["additionalProperties"]; ok {
			e.apply(sub, v, depth)
		}
		for pattern, sub := range patterns {
			e.match(pattern, name)
			e.apply(sub, v, depth)
		}
		if sub, ok := s["unevaluatedProperties"]; ok {
			e.apply(sub, v, depth)
		}
		if sub, ok := s["propertyNames"]; ok {
			e.apply(sub, name, depth)
		}
	}
}

func (e *effort) items(s map[string]any, value []any, depth int) {
	for i, v := range value {
		if e.left < 0 {
			return
		}
		for _, k := range [...]string{"prefixItems", "items", "additionalItems", "contains", "unevaluatedItems"} {
			switch sub := s[k].(type) {
			case []any: // one schema a place
				if i < len(sub) {
					e.apply(sub[i], v, depth)
				}
			case nil:
			default:
				e.apply(sub, v, depth)
			}
		}
	}
}

// resolve finds what a reference within doc names: "#", or "#/" and a JSON
// pointer.
func resolve(doc map[string]any, ref string) (node any, ok bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.Contains(path, "%") {
		return nil, false
	}
	node = doc
	if path == "" {
		return node, true
	}
	path, ok = strings.CutPrefix(path, "/")
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch inside := node.(type) {
		case map[string]any:
			node, ok = inside[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(inside); ok {
				node = inside[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return node, ok
}

// plain refuses what would let a schema mean something else than it shows to
// the walk above: references that are not pointers into it, and parts that are
// documents of their own.
func plain(doc map[string]any) error {
	if dialect, ok := doc["$schema"].(string); ok && strings.Contains(dialect, "draft-04") {
		return errors.New("write it as JSON Schema 2020-12, not draft-04")
	}
	var walk func(node any, root bool) error
	walk = func(node any, root bool) error {
		switch v := node.(type) {
		case map[string]any:
			for k, inside := range v {
				text, isText := inside.(string)
				switch {
				case isText && (k == "$dynamicRef" || k == "$recursiveRef" || (k == "$id" && !root)):
					return errors.New("leave out $dynamicRef, $recursiveRef and inner $id; refer with $ref")
				case isText && k == "$ref":
					if _, ok := resolve(doc, text); !ok {
						return errors.New("every $ref is a JSON pointer into the schema itself, such as #/$defs/name")
					}
				}
				if err := walk(inside, false); err != nil {
					return err
				}
			}
		case []any:
			for _, inside := range v {
				if err := walk(inside, false); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(doc, true)
}

// patterns compiles the patterns of one schema within their bounds.
type patterns struct {
	sizes      map[string]int
	text, size int
	// sealed: the schema is compiled. What still asks is the format "regex",
	// for text of a model, which is left to the tool.
	sealed bool
}

var errPattern = errors.New("its patterns are too long, or too large when compiled")

// compile implements jsonschema.RegexpEngine.
func (p *patterns) compile(pattern string) (jsonschema.Regexp, error) {
	if p.sealed {
		return nil, nil
	}
	if _, again := p.sizes[pattern]; !again {
		if p.text += len(pattern); p.text > maxPatternText {
			return nil, errPattern
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return nil, err
		}
		size := patternSize(parsed)
		if p.size += size; p.size > maxPatternSize {
			return nil, errPattern
		}
		p.sizes[pattern] = size
	}
	return regexp.Compile(pattern)
}

// patternSize estimates from above how many instructions a pattern compiles
// to, without compiling it. It stops at maxPatternSize and one more.
func patternSize(re *syntax.Regexp) int {
	size := 2
	if re.Op == syntax.OpLiteral {
		size += len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1) + 1
	}
	return min(size, maxPatternSize+1)
}
