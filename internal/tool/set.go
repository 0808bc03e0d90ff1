package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of one set.
const (
	MaxTools    = 128
	MaxSetBytes = 256 << 10 // of all parameter schemas together: compiled, each byte can take hundreds
)

// ErrUnknown is returned by Check for a name that the set doesn't offer.
var ErrUnknown = errors.New("unknown tool")

// Set is an immutable list of specs with compiled schemas, safe for
// concurrent use.
type Set struct {
	specs   []Spec
	schemas map[string]*schema
	digest  [32]byte
	forms   sync.Map // of Form: name -> []byte
}

// NewSet compiles specs. Names must be distinct and portable (see Lint), each
// Parameters must be a schema whose root type is "object", and no schema may
// refer outside itself or hold patterns beyond their bounds. The error names
// the tool.
func NewSet(specs []Spec) (*Set, error) {
	if len(specs) == 0 || len(specs) > MaxTools {
		return nil, fmt.Errorf("tools: want 1 to %d, got %d", MaxTools, len(specs))
	}
	s := &Set{specs: make([]Spec, 0, len(specs)), schemas: make(map[string]*schema, len(specs))}
	left := MaxSetBytes
	for _, spec := range specs {
		if !portableName(spec.Name) {
			return nil, fmt.Errorf("tool name %.80q: want 1 to 64 of a-z, A-Z, 0-9, '_' and '-'", spec.Name)
		}
		if _, twice := s.schemas[spec.Name]; twice {
			return nil, fmt.Errorf("tool %s: offered twice", spec.Name)
		}
		if left -= len(spec.Parameters); left < 0 {
			return nil, fmt.Errorf("tools: all parameters together are larger than %d bytes", MaxSetBytes)
		}
		schema, err := compile(spec.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %s: parameters: %w", spec.Name, err)
		}
		s.specs = append(s.specs, spec)
		s.schemas[spec.Name] = schema
	}
	s.digest = digest(s.specs)
	return s, nil
}

// Specs returns the specs in the order given. The caller must not change them.
func (s *Set) Specs() []Spec { return s.specs }

// Digest names the set by its content: sets with the same specs, byte by byte
// and in the same order, have the same one, and no others have.
func (s *Set) Digest() [32]byte { return s.digest }

// digest hashes specs with the length before each field, so that no two lists
// hash the same bytes.
func digest(specs []Spec) [32]byte {
	h := sha256.New()
	var length [8]byte
	for _, spec := range specs {
		for _, field := range [...][]byte{[]byte(spec.Name), []byte(spec.Description), spec.Parameters} {
			binary.BigEndian.PutUint64(length[:], uint64(len(field)))
			h.Write(length[:])
			h.Write(field)
		}
	}
	return [32]byte(h.Sum(nil))
}

// Form returns the set in an encoding of the caller's, which write is asked
// for once as long as the set lives; an error is not remembered. The name
// stands for one encoding in the whole process. The caller must not change the
// bytes.
func (s *Set) Form(name string, write func([]Spec) ([]byte, error)) ([]byte, error) {
	if known, ok := s.forms.Load(name); ok {
		return known.([]byte), nil
	}
	form, err := write(s.specs)
	if err == nil {
		s.forms.Store(name, form)
	}
	return form, err
}

// Check decodes raw strictly and validates it against the named tool's schema.
// It returns ErrUnknown or an error that wraps ErrArguments, also for arguments
// that would take too much work to check.
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
	if err := schema.validate(doc); err != nil {
		return Call{}, fmt.Errorf("%w: %s", ErrArguments, explain(err))
	}
	return Call{Tool: name, Arguments: args}, nil
}

// TakesNothing reports whether {} satisfies the named tool's schema: only then
// may an empty arguments text stand for {}.
func (s *Set) TakesNothing(name string) bool {
	schema := s.schemas[name]
	return schema != nil && schema.validate(map[string]any{}) == nil
}

// compiled caches schemas by content: a set that was changed a little keeps
// most of them, and compiling one costs more than the rest of a decision's
// checks. Compiled, a schema takes hundreds of times its text.
var compiled = newRecent[*schema](256 << 10)

func compile(raw json.RawMessage) (*schema, error) {
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("larger than %d bytes", MaxSchemaBytes)
	}
	key := sha256.Sum256(raw)
	if s, known := compiled.get(key); known {
		return s, nil
	}
	s, err := compileAnew(raw)
	if err != nil {
		return nil, err
	}
	compiled.put(key, s, len(raw))
	return s, nil
}

func compileAnew(raw json.RawMessage) (*schema, error) {
	if err := scan(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("not valid JSON")
	}
	root, ok := doc.(map[string]any)
	if !ok || root["type"] != "object" {
		return nil, errors.New(`the root must say "type": "object"`)
	}
	if err := plain(root); err != nil {
		return nil, err
	}
	p := &patterns{sizes: map[string]int{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(p.compile)
	const here = "urn:tool"
	if err := c.AddResource(here, doc); err != nil {
		return nil, errors.New("not a JSON Schema")
	}
	s, err := c.Compile(here)
	switch {
	case p.text > maxPatternText || p.size > maxPatternSize:
		return nil, errPattern
	case err != nil:
		return nil, errors.New("not a JSON Schema that stands by itself")
	}
	p.sealed = true
	return &schema{compiled: s, doc: root, patterns: p.sizes}, nil
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
