package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/tool"
)

// Structured makes a subject of a client that answers in the form of a schema.
// It runs the same suite: an answer stands for a call of the one tool that the
// form would be, and only the replies and what the vendor is sent differ.
func Structured(shape Shape, open func(t testing.TB, e Endpoint) llm.StructuredCaller) Subject {
	return Subject{Shape: shape, formed: true, New: func(t testing.TB, e Endpoint) llm.ToolCaller { return answering{open(t, e)} }}
}

// answering makes decisions of answers.
type answering struct{ llm.StructuredCaller }

// Decide answers r's prompts in the suite's form.
func (a answering) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	asked := StructuredRequest()
	asked.System, asked.User, asked.Timeout = r.System, r.User, r.Timeout
	s, err := a.Structured(ctx, asked)
	return llm.Decision{Call: tool.Call{Tool: formName, Arguments: s.JSON}, Usage: s.Usage, Provider: s.Provider, Model: s.Model, ProviderRequestID: s.ProviderRequestID, StepIndex: -1}, err
}

// StructuredRequest returns the request of the suite's cases: its schema is
// within both vendors' strict subsets.
func StructuredRequest() llm.StructuredRequest {
	r := Request()
	return llm.StructuredRequest{System: r.System, User: r.User, Timeout: r.Timeout, Name: formName,
		Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`)}
}

// dialect is the vendor's own where the portable one asks for something else.
func (s Subject) dialect() provider.Dialect {
	if s.formed {
		return provider.DialectVendor
	}
	return provider.DialectByURL
}

// byCall is the subject of the same vendor's calls, for their replies.
func (s Subject) byCall() Subject {
	s.formed = false
	return s
}

// formRequests checks what the vendor was sent for an answer.
func (s Subject) formRequests(t *testing.T) {
	for name, f := range map[string]func(*testing.T){
		"ask for the form in the vendor's words":              s.asksForForm,
		"ask for strictness only where the schema allows":     s.asksForFormStrictly,
		"keep to the portable dialect at another address":     s.asksPortably,
		"ask for a call where there is no structured output":  s.fallsBack,
		"ask for a call of a model that takes neither":        s.fallsBackTwice,
		"remember nothing of a refusal that the call has too": s.learnsNothing,
		"bound the reply":                                        s.boundsAnswer,
		"refuse what the vendor would refuse":                    s.refusesForm,
		"carry prompts whole":                                    s.carriesPrompts,
		"reach the API with and without the version in the base": s.baseURLs,
		"send no credential where there is none":                 s.noKey,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
}

// answer makes one good answer in w and returns the last request.
func (s Subject) answer(t *testing.T, w world, r llm.StructuredRequest) Seen {
	t.Helper()
	got, err := w.caller.(answering).Structured(t.Context(), r)
	if err != nil || string(got.JSON) != three || got.Usage != fullUsage || got.Provider != s.Shape.Provider || got.Model != Model || got.ProviderRequestID != requestID {
		t.Fatalf("got %+v, %v", got, err)
	}
	seen := w.vendor.Requests()
	return seen[len(seen)-1]
}

func (s Subject) asksForForm(t *testing.T) {
	r := StructuredRequest()
	seen := s.answer(t, s.world(t, nil, s.good()), r)
	if seen.Form == nil || string(seen.Form.Schema) != string(r.Schema) || seen.Model != askedModel || seen.MaxTokens < 1024 || seen.Thinking != "" || seen.Forced {
		t.Errorf("got %s", seen.Body)
	}
	if s.Shape.Provider == OpenAI.Provider && (seen.Form.Name != r.Name || seen.Store == nil || *seen.Store) {
		t.Errorf("name %q, or OpenAI was not told to store nothing: %s", seen.Form.Name, seen.Body)
	}
}

// R-PLAN-12
func (s Subject) asksForFormStrictly(t *testing.T) {
	const inside, outside = "strict", "not strict"
	for name, c := range map[string]struct{ schema, anthropic, openai string }{
		"all required": {string(StructuredRequest().Schema), inside, inside},
		"one optional": {`{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["x"],"additionalProperties":false}`, inside, outside},
		"a bound":      {`{"type":"object","properties":{"x":{"type":"integer","minimum":1}},"required":["x"],"additionalProperties":false}`, outside, inside},
		"open":         {`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`, outside, outside},
	} {
		r := StructuredRequest()
		r.Schema = json.RawMessage(c.schema)
		w := s.world(t, nil)
		w.vendor.Answer(s.whateverIsAsked)
		seen := s.answer(t, w, r)
		switch {
		case s.Shape.Provider == OpenAI.Provider:
			if seen.Form == nil || seen.Form.Strict == nil || *seen.Form.Strict != (c.openai == inside) {
				t.Errorf("%s: want %s: %s", name, c.openai, seen.Body)
			}
		case (seen.Form != nil) != (c.anthropic == inside):
			t.Errorf("%s: want %s: %s", name, c.anthropic, seen.Body)
		}
	}
}

// whateverIsAsked answers with an answer or with a call.
func (s Subject) whateverIsAsked(seen Seen) Reply {
	if seen.Form == nil {
		return s.byCall().good()
	}
	return s.good()
}

// R-PLAN-10: compatible servers know OpenAI's form, and of Anthropic's API its
// tools.
func (s Subject) asksPortably(t *testing.T) {
	w := s.world(t, func(c *provider.Config) { c.Dialect = provider.DialectPortable })
	w.vendor.Answer(s.whateverIsAsked)
	seen := s.answer(t, w, StructuredRequest())
	if (seen.Form != nil) != (s.Shape.Provider == OpenAI.Provider) {
		t.Errorf("got %s", seen.Body)
	}
	for _, word := range []string{`"strict"`, `"store"`, `"output_config"`} {
		if strings.Contains(string(seen.Body), word) {
			t.Errorf("the request says %s: %s", word, seen.Body)
		}
	}
}

func (s Subject) fallsBack(t *testing.T) {
	w := s.world(t, nil, s.byCall().good())
	w.vendor.Unformed = true
	for i := range 2 {
		seen := s.answer(t, w, StructuredRequest())
		if !seen.Forced || !seen.Single || len(seen.Tools) != 1 || seen.Tools[0].Name != formName {
			t.Errorf("answer %d: got %s", i, seen.Body)
		}
	}
	if n := len(w.vendor.Requests()); n != 3 {
		t.Errorf("the vendor was asked %d times for two answers, want 3: what was learned is remembered", n)
	}
}

func (s Subject) fallsBackTwice(t *testing.T) {
	w := s.world(t, nil, s.byCall().good())
	w.vendor.Unformed, w.vendor.Unforceable = true, true
	seen := s.answer(t, w, StructuredRequest())
	if seen.Forced || !seen.Single || len(seen.Tools) != 1 {
		t.Errorf("got %s", seen.Body)
	}
}

func (s Subject) learnsNothing(t *testing.T) {
	refused := Reply{Status: 400, Body: s.Shape.complain("invalid_request_error", "", s.Shape.unformed)}
	w := s.world(t, nil, refused, refused, s.good())
	_, err := w.caller.(answering).Structured(t.Context(), StructuredRequest())
	s.checkFailing(t, err, failing{want: llm.BadRequest})
	if seen := s.answer(t, w, StructuredRequest()); seen.Form == nil {
		t.Errorf("a refusal that was not about the form was remembered: %s", seen.Body)
	}
}

func (s Subject) boundsAnswer(t *testing.T) {
	for _, unformed := range []bool{false, true} {
		w := s.world(t, func(c *provider.Config) { c.MaxOutput = 5000 })
		w.vendor.Answer(s.whateverIsAsked)
		w.vendor.Unformed = unformed
		r := StructuredRequest()
		if seen := s.answer(t, w, r); seen.MaxTokens != 5000 {
			t.Errorf("without a bound, no structured output %v: at most %d tokens, want the client's 5000", unformed, seen.MaxTokens)
		}
		r.MaxOutput = 700
		if seen := s.answer(t, w, r); seen.MaxTokens != 700 {
			t.Errorf("no structured output %v: at most %d tokens, want 700", unformed, seen.MaxTokens)
		}
	}
}

func (s Subject) refusesForm(t *testing.T) {
	w := s.world(t, nil, s.good())
	for name, change := range map[string]func(*llm.StructuredRequest){
		"no user prompt":      func(r *llm.StructuredRequest) { r.User = "" },
		"a name of words":     func(r *llm.StructuredRequest) { r.Name = "pick one" },
		"a schema of a list":  func(r *llm.StructuredRequest) { r.Schema = json.RawMessage(`{"type":"array"}`) },
		"no schema":           func(r *llm.StructuredRequest) { r.Schema = nil },
		"a schema elsewhere":  func(r *llm.StructuredRequest) { r.Schema = json.RawMessage(`{"type":"object","$ref":"file:///x"}`) },
		"a schema cut in two": func(r *llm.StructuredRequest) { r.Schema = r.Schema[:20] },
	} {
		r := StructuredRequest()
		change(&r)
		_, err := w.caller.(answering).Structured(t.Context(), r)
		s.checkFailure(t, fmt.Errorf("%s: %w", name, err), Want{Reason: llm.BadRequest, Model: askedModel})
	}
	if n := len(w.vendor.Requests()); n != 0 {
		t.Errorf("the vendor was asked %d times", n)
	}
}
