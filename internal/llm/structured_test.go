package llm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"interlock/internal/llm"
)

func form(t *testing.T) *llm.Form {
	t.Helper()
	f, err := llm.StructuredRequest{Name: "pick", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`)}.Form()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// R-BRIDGE-7
func TestAcceptStructured(t *testing.T) {
	t.Parallel()
	f := form(t)
	usage := llm.Usage{Input: llm.Known(7), Output: llm.Known(0)}
	answers := func(texts ...string) (all []llm.RawCall) {
		for _, text := range texts {
			all = append(all, f.Answer([]byte(text)))
		}
		return all
	}
	for name, c := range map[string]struct {
		stop    llm.Stop
		answers []llm.RawCall
		want    llm.Reason // "" means accepted
	}{
		"one answer":                             {llm.StopOther, answers(` {"x": 1} `), ""},
		"no answer":                              {llm.StopOther, nil, llm.NoCall},
		"two answers":                            {llm.StopOther, answers(`{"x":1}`, `{"x":1}`), llm.ManyCalls},
		"a refused turn that carries an answer":  {llm.StopRefused, answers(`{"x":1}`), llm.Refused},
		"a truncated turn with a whole answer":   {llm.StopTruncated, answers(`{"x":1}`), llm.Truncated},
		"a paused turn":                          {llm.StopPaused, answers(`{"x":1}`), llm.NoCall},
		"an empty answer":                        {llm.StopOther, answers(""), llm.InvalidArguments},
		"words":                                  {llm.StopOther, answers("I can't say."), llm.InvalidArguments},
		"an answer within a fence of Markdown":   {llm.StopOther, answers("```json\n{\"x\":1}\n```"), llm.InvalidArguments},
		"an answer and words behind it":          {llm.StopOther, answers(`{"x":1} as you asked`), llm.InvalidArguments},
		"an array":                               {llm.StopOther, answers(`[{"x":1}]`), llm.InvalidArguments},
		"a cut answer":                           {llm.StopOther, answers(`{"x": 1`), llm.InvalidArguments},
		"a name twice":                           {llm.StopOther, answers(`{"x":1,"x":2}`), llm.InvalidArguments},
		"a value of another type":                {llm.StopOther, answers(`{"x":"1"}`), llm.InvalidArguments},
		"a member that the schema doesn't know":  {llm.StopOther, answers(`{"x":1,"y":2}`), llm.InvalidArguments},
		"a missing member":                       {llm.StopOther, answers(`{}`), llm.InvalidArguments},
		"a call of something that isn't offered": {llm.StopOther, []llm.RawCall{{Name: "rm", Arguments: []byte(`{"x":1}`)}}, llm.UnknownTool},
	} {
		r, err := llm.AcceptStructured(f, llm.Reply{Stop: c.stop, Calls: c.answers, Usage: usage, Provider: "p", Model: "m", ProviderRequestID: "r"})
		if c.want == "" {
			if err != nil || string(r.JSON) != `{"x":1}` || r.Usage != usage || r.Provider != "p" || r.Model != "m" || r.ProviderRequestID != "r" {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			continue
		}
		var u *llm.Unavailable
		if !errors.As(err, &u) || u.Reason != c.want || u.Usage != usage || u.Provider != "p" || u.Model != "m" || u.ProviderRequestID != "r" || r.JSON != nil {
			t.Errorf("%s: %+v, %v; want %s", name, r, err, c.want)
		}
	}
}

func TestAFormNeedsANameAndASchemaOfAnObject(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]llm.StructuredRequest{
		"no name":         {Schema: json.RawMessage(`{"type":"object"}`)},
		"a name of words": {Name: "pick one", Schema: json.RawMessage(`{"type":"object"}`)},
		"no schema":       {Name: "pick"},
		"an array":        {Name: "pick", Schema: json.RawMessage(`{"type":"array"}`)},
		"a reference out": {Name: "pick", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"https://example.com/x"}}}`)},
	} {
		if f, err := r.Form(); err == nil {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}
