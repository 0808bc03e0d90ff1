package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxTools is how many tools one set may offer.
const MaxTools = 128

// ErrUnknown is returned by Check for a name that the set doesn't offer.
var ErrUnknown = errors.New("unknown tool")

// Set is an immutable list of specs with compiled schemas, safe for
// concurrent use.
type Set struct {
	specs   []Spec
	schemas map[string]*jsonschema.Schema
}

// NewSet compiles specs. Names must be distinct and portable (see Lint), each
// Parameters must be a schema whose root type is "object", and no schema may
// refer outside itself. The error names the tool.
func NewSet(specs []Spec) (*Set, error) {
	if len(specs) == 0 || len(specs) > MaxTools {
		return nil, fmt.Errorf("tools: want 1 to %d, got %d", MaxTools, len(specs))
	}
	s := &Set{specs: make([]Spec, 0, len(specs)), schemas: make(map[string]*jsonschema.Schema, len(specs))}
	for _, spec := range specs {
		if !portableName(spec.Name) {
			return nil, fmt.Errorf("tool name %.80q: want 1 to 64 of a-z, A-Z, 0-9, '_' and '-'", spec.Name)
		}
		if _, twice := s.schemas[spec.Name]; twice {
			return nil, fmt.Errorf("tool %s: offered twice", spec.Name)
		}
		schema, err := compile(spec.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %s: parameters: %w", spec.Name, err)
		}
		s.specs = append(s.specs, spec)
		s.schemas[spec.Name] = schema
	}
	return s, nil
}

// Specs returns the specs in the order given. The caller must not change them.
func (s *Set) Specs() []Spec { return s.specs }

// Offers reports whether the set has a tool of that name.
func (s *Set) Offers(name string) bool { return s.schemas[name] != nil }

// Check decodes raw strictly and validates it against the named tool's schema.
// It returns ErrUnknown or an error that wraps ErrArguments.
func (s *Set) Check(name string, raw []byte) (Call, error) {
	schema := s.schemas[name]
	if schema == nil {
		return Call{}, ErrUnknown
	}
	args, err := DecodeArguments(raw)
	if err != nil {
		return Call{}, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return Call{}, fmt.Errorf("%w: not valid JSON", ErrArguments)
	}
	if err := schema.Validate(doc); err != nil {
		return Call{}, fmt.Errorf("%w: %s", ErrArguments, explain(err))
	}
	return Call{Tool: name, Arguments: args}, nil
}

// TakesNothing reports whether {} satisfies the named tool's schema: only then
// may an empty arguments text stand for {}.
func (s *Set) TakesNothing(name string) bool {
	schema := s.schemas[name]
	return schema != nil && schema.Validate(map[string]any{}) == nil
}

// explain lists the places that break the schema and the keyword each breaks,
// without the values found there.
func explain(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return "does not match the schema"
	}
	var out []string
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 && len(out) < 4 {
			out = append(out, fmt.Sprintf("/%.100s breaks %q", strings.Join(v.InstanceLocation, "/"), strings.Join(v.ErrorKind.KeywordPath(), "/")))
		}
		for _, c := range v.Causes {
			walk(c)
		}
	}
	walk(v)
	return strings.Join(out, ", ")
}

// compiled caches schemas by content: a host offers the same few tools at each
// step, and compiling one costs more than the rest of a decision's checks.
var compiled = struct {
	sync.Mutex
	m map[[32]byte]*jsonschema.Schema // guarded by Mutex
}{m: map[[32]byte]*jsonschema.Schema{}}

// maxCompiled bounds the cache, which strangers' tools could otherwise grow.
const maxCompiled = 4096

func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("larger than %d bytes", MaxSchemaBytes)
	}
	key := sha256.Sum256(raw)
	compiled.Lock()
	schema := compiled.m[key]
	compiled.Unlock()
	if schema != nil {
		return schema, nil
	}
	if err := scan(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("not valid JSON")
	}
	if root, ok := doc.(map[string]any); !ok || root["type"] != "object" {
		return nil, errors.New(`the root must say "type": "object"`)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	const here = "urn:tool"
	if err := c.AddResource(here, doc); err != nil {
		return nil, errors.New("not a JSON Schema")
	}
	if schema, err = c.Compile(here); err != nil {
		return nil, errors.New("not a JSON Schema that stands by itself")
	}
	compiled.Lock()
	defer compiled.Unlock()
	if len(compiled.m) >= maxCompiled {
		clear(compiled.m)
	}
	compiled.m[key] = schema
	return schema, nil
}

// noLoader refuses every $ref that leaves the schema: a tool must not make us
// read a file or open a connection.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("refers outside itself") }

// portableName is the rule that both vendors accept: ^[a-zA-Z0-9_-]{1,64}$.
func portableName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
