// Package tool says what can be proposed: a Spec describes a tool to a model,
// a Call is one proposal, and a Set is a closed list of specs that checks a
// call's name and arguments. Nothing here runs a tool.
//
// Arguments come from models and from strangers. DecodeArguments accepts only
// one bounded JSON object in valid UTF-8 without duplicate names or trailing
// data, so every later reader sees the same arguments. What a check would cost
// is measured before it is made: a schema is a stranger's program.
package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Spec describes one tool to a model. Parameters is a JSON Schema (2020-12)
// whose root is an object type.
type Spec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Call is one proposed use of a tool. Arguments is a compact JSON object.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Limits of one arguments object, and of a parameter schema.
const (
	MaxArgumentBytes = 256 << 10
	MaxSchemaBytes   = 64 << 10
	MaxDepth         = 32
	maxNumberText    = 40
	maxExponent      = 250 // beyond it a validator that uses exact numbers can be made to hang
)

// ErrArguments is in the chain of every error that DecodeArguments and
// Set.Check return for arguments; its text is fit for the model and for a
// person, and quotes none of the values.
var ErrArguments = errors.New("invalid arguments")

// DecodeArguments checks that raw is exactly one JSON object within the limits
// and returns it compacted. Its error wraps ErrArguments.
func DecodeArguments(raw []byte) (json.RawMessage, error) {
	if len(raw) > MaxArgumentBytes {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrArguments, MaxArgumentBytes)
	}
	if err := scan(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Compact(jsontext.PreserveRawStrings(true)); err != nil {
		return nil, fmt.Errorf("%w: not valid JSON", ErrArguments)
	}
	return json.RawMessage(v), nil
}

// scan walks the tokens once. jsontext itself refuses invalid UTF-8 and
// duplicate names.
func scan(raw []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for first := true; ; first = false {
		t, err := d.ReadToken()
		if first && err == nil && t.Kind() != '{' {
			return errors.New("not a JSON object")
		}
		switch {
		case errors.Is(err, io.EOF) && !first:
			return nil
		case err != nil:
			return errors.New("not one whole JSON object in UTF-8 with distinct names")
		case d.StackDepth() > MaxDepth:
			return fmt.Errorf("nested deeper than %d", MaxDepth)
		case t.Kind() == '0' && !boundedNumber(t.String()):
			return errors.New("a number is out of range")
		}
	}
}

func boundedNumber(s string) bool {
	if len(s) > maxNumberText {
		return false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		return err == nil && e <= maxExponent && e >= -maxExponent
	}
	return true
}
