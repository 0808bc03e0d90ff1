package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxMistakes = 4 // named in one explanation; the others are counted
	maxNamed    = 4 // properties in one of them
	maxPlace    = 100
)

// explain says what is wrong with arguments that break their schema, in clauses
// that a person or a model can act on: which property is missing, not allowed or
// of a wrong type. What stands in the arguments is never repeated, and neither
// is a name of theirs that doesn't look like one.
func explain(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	found := mistakes(v, nil)
	slices.Sort(found) // the library looks at properties in no order
	found = slices.Compact(found)
	if more := len(found) - maxMistakes; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(found[:maxMistakes], "; "), more)
	}
	return strings.Join(found, "; ")
}

// mistakes appends the clauses of v, or of what caused it.
func mistakes(v *jsonschema.ValidationError, to []string) []string {
	if len(v.Causes) == 0 {
		return append(to, mistake(v.InstanceLocation, v.ErrorKind))
	}
	for _, c := range v.Causes {
		to = mistakes(c, to)
	}
	return to
}

// mistake is what one keyword of a schema finds wrong at a place.
func mistake(at []string, what jsonschema.ErrorKind) string {
	switch k := what.(type) {
	case *kind.Required:
		return all(at, k.Missing, "missing")
	case *kind.DependentRequired:
		return all(at, k.Missing, "missing, which another property asks for")
	case *kind.Dependency:
		return all(at, k.Missing, "missing, which another property asks for")
	case *kind.AdditionalProperties:
		return all(at, k.Properties, "not allowed")
	case *kind.FalseSchema:
		return place(at) + " is not allowed"
	case *kind.Type:
		return fmt.Sprintf("%s is of type %s and must be %s", place(at), k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum, *kind.Const:
		return place(at) + " is none of the values that its schema lists"
	}
	return fmt.Sprintf("%s breaks the rule %.60q of its schema", place(at), strings.Join(what.KeywordPath(), "/"))
}

// all says the same of some properties of one object.
func all(at, names []string, what string) string {
	names = slices.Sorted(slices.Values(names))
	var places []string
	for _, name := range names[:min(len(names), maxNamed)] {
		places = append(places, place(append(slices.Clone(at), name)))
	}
	places = slices.Compact(places)
	if more := len(names) - maxNamed; more > 0 {
		places = append(places, fmt.Sprintf("%d more", more))
	}
	last := len(places) - 1
	if last == 0 {
		return places[0] + " is " + what
	}
	return strings.Join(places[:last], ", ") + " and " + places[last] + " are " + what
}

// place names a value by its path. An array's items are numbered.
func place(path []string) string {
	if len(path) == 0 {
		return "the object"
	}
	words := make([]string, len(path))
	for i, name := range path {
		if words[i] = name; !portableName(name) {
			words[i] = "?"
		}
	}
	joined := strings.Join(words, ".")
	if len(joined) > maxPlace {
		joined = joined[:maxPlace] + "…"
	}
	return `"` + joined + `"`
}
