package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"interlock/internal/tool"
)

// R-PLAN-3
func TestDecodeArguments(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string // want "" means refused
	}{
		"an object is compacted":        {"{ \"a\" : [1, 2] }\n", `{"a":[1,2]}`},
		"numbers keep their digits":     {`{"a":12345678901234567890.10}`, `{"a":12345678901234567890.10}`},
		"escapes are kept as they came": {`{"a":"\u00e9\ud83d\ude00"}`, `{"a":"\u00e9\ud83d\ude00"}`},
		"nothing":                       {"", ""},
		"null":                          {"null", ""},
		"an array":                      {`[{"a":1}]`, ""},
		"a string":                      {`"{}"`, ""},
		"truncated":                     {`{"x": 1`, ""},
		"trailing data":                 {`{"a":1}{"a":2}`, ""},
		"trailing word":                 {`{} x`, ""},
		"duplicate names":               {`{"a":1,"a":2}`, ""},
		"duplicate names by escape":     {`{"a":1,"\u0061":2}`, ""},
		"bad UTF-8":                     {"{\"a\":\"\xff\"}", ""},
		"lone surrogate":                {`{"a":"\ud800"}`, ""},
		"NaN":                           {`{"a":NaN}`, ""},
		"huge exponent":                 {`{"a":1e1000000000}`, ""},
		"huge negative exponent":        {`{"a":1e-1000000000}`, ""},
		"endless digits":                {`{"a":` + strings.Repeat("9", 400) + `}`, ""},
		"deep":                          {strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), ""},
		"large":                         {`{"a":"` + strings.Repeat("x", tool.MaxArgumentBytes) + `"}`, ""},
	} {
		got, err := tool.DecodeArguments([]byte(c.in))
		if (err == nil) != (c.want != "") || string(got) != c.want {
			t.Errorf("%s: got %.80q, %v; want %q", name, got, err, c.want)
		}
		if err != nil && !errors.Is(err, tool.ErrArguments) {
			t.Errorf("%s: %v is not ErrArguments", name, err)
		}
	}
}

func spec(name, schema string) tool.Spec {
	return tool.Spec{Name: name, Parameters: json.RawMessage(schema)}
}

func TestSetChecksNameAndSchema(t *testing.T) {
	s, err := tool.NewSet([]tool.Spec{
		spec("tap", `{"type":"object","properties":{"x":{"type":"integer","minimum":0}},"required":["x"],"additionalProperties":false}`),
		spec("wait", `{"type":"object","properties":{}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.Check("tap", []byte(`{ "x": 3 }`)); err != nil || c.Tool != "tap" || string(c.Arguments) != `{"x":3}` {
		t.Errorf("good call: %v, %v", c, err)
	}
	if _, err := s.Check("Tap", []byte(`{"x":3}`)); !errors.Is(err, tool.ErrUnknown) {
		t.Errorf("unknown name: %v", err)
	}
	for _, bad := range []string{`{}`, `{"x":-1}`, `{"x":"secret-words"}`, `{"x":1,"y":2}`, `[]`} {
		_, err := s.Check("tap", []byte(bad))
		if !errors.Is(err, tool.ErrArguments) || strings.Contains(err.Error(), "secret-words") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if !s.TakesNothing("wait") || s.TakesNothing("tap") || s.TakesNothing("nope") {
		t.Error("TakesNothing is wrong")
	}
}

func TestNewSetRefuses(t *testing.T) {
	const ok = `{"type":"object"}`
	for name, specs := range map[string][]tool.Spec{
		"none":               nil,
		"a dotted name":      {spec("a.b", ok)},
		"an empty name":      {spec("", ok)},
		"a long name":        {spec(strings.Repeat("a", 65), ok)},
		"a name twice":       {spec("a", ok), spec("a", ok)},
		"null parameters":    {spec("a", `null`)},
		"no parameters":      {spec("a", ``)},
		"a non-object root":  {spec("a", `{"type":"array"}`)},
		"an untyped root":    {spec("a", `{}`)},
		"a bad keyword":      {spec("a", `{"type":"object","properties":{"x":{"type":"strange"}}}`)},
		"a file reference":   {spec("a", `{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}`)},
		"a web reference":    {spec("a", `{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1/x"}}}`)},
		"duplicate names":    {spec("a", `{"type":"object","type":"object"}`)},
		"an enormous schema": {spec("a", `{"type":"object","description":"`+strings.Repeat("x", tool.MaxSchemaBytes)+`"}`)},
		"too many tools":     make([]tool.Spec, tool.MaxTools+1),
	} {
		if _, err := tool.NewSet(specs); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzDecodeArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"b":"\u00e9"}]}`, `{"a":1,"a":2}`, `[`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := tool.DecodeArguments(in)
		if err != nil {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(out, &m); err != nil || m == nil {
			t.Fatalf("accepted %q, which encoding/json does not read as an object: %v", in, err)
		}
		if again, err := tool.DecodeArguments(out); err != nil || string(again) != string(out) {
			t.Fatalf("not stable: %q then %q, %v", out, again, err)
		}
	})
}
