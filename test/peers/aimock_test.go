package peers_test

import (
	"encoding/json"
	"testing"
	"time"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/provider/providertest"
	"interlock/internal/secret"
	"interlock/internal/tool"
	"interlock/test/peers/aimock"
)

func call(name, arguments string) tool.Call {
	return tool.Call{Tool: name, Arguments: json.RawMessage(arguments)}
}

// each runs f for both vendors, with a mock of its own.
func each(t *testing.T, answers []aimock.Answer, flags []string, f func(t *testing.T, caller llm.ToolCaller)) {
	t.Parallel()
	for _, shape := range shapes {
		t.Run(shape.Provider, func(t *testing.T) {
			t.Parallel()
			mock := aimock.Start(t, answers, flags...)
			f(t, client(t, shape.Provider, provider.Config{BaseURL: mock.URL, Key: secret.New("any"), Model: "mock-model", Timeout: 20 * time.Second}))
		})
	}
}

// R-PLAN-1, R-PLAN-7
func TestDecisionsFromAimock(t *testing.T) {
	each(t, []aimock.Answer{
		{Call: call("tap", `{"x":1}`), Input: 100, Output: 7},
		{Call: call("tap", `{"x":2,"note":"é 🚀"}`), Input: 110, Output: 9},
		{Call: call("reboot", `{}`), Input: 5, Output: 5},
		{Call: call("tap", `{"x":"three"}`), Input: 6, Output: 6},
	}, nil, func(t *testing.T, caller llm.ToolCaller) {
		for i, want := range []struct {
			call          tool.Call
			reason        llm.Reason
			input, output int64
		}{
			{call("tap", `{"x":1}`), "", 100, 7},
			{call("tap", `{"x":2,"note":"é 🚀"}`), "", 110, 9},
			{tool.Call{}, llm.UnknownTool, 5, 5},
			{tool.Call{}, llm.InvalidArguments, 6, 6},
		} {
			d, err := caller.Decide(t.Context(), providertest.Request())
			usage := d.Usage
			if err != nil {
				u := llm.AsUnavailable(err)
				usage = u.Usage
				if u.Reason != want.reason {
					t.Errorf("decision %d: got %v, want %q", i, err, want.reason)
				}
			}
			if d.Call.Tool != want.call.Tool || string(d.Call.Arguments) != string(want.call.Arguments) {
				t.Errorf("decision %d: got %s %s, want %s %s", i, d.Call.Tool, d.Call.Arguments, want.call.Tool, want.call.Arguments)
			}
			if usage.Input != llm.Known(want.input) || usage.Output != llm.Known(want.output) {
				t.Errorf("decision %d: got %+v, want %d in, %d out", i, usage, want.input, want.output)
			}
			if err == nil && (d.Model != "mock-model" || d.ProviderRequestID == "") {
				t.Errorf("decision %d: model %q, request id %q", i, d.Model, d.ProviderRequestID)
			}
		}
	})
}

// R-PLAN-11
func TestARateLimitOfAimockIsWaitedOut(t *testing.T) {
	each(t, []aimock.Answer{
		{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", RetryAfter: 1},
		{Call: call("tap", `{"x":1}`)},
	}, nil, func(t *testing.T, caller llm.ToolCaller) {
		if d, err := caller.Decide(t.Context(), providertest.Request()); err != nil || d.Call.Tool != "tap" {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}

// R-PLAN-11
func TestARateLimitOfAimockBeyondTheDeadlineIsPassedOn(t *testing.T) {
	each(t, []aimock.Answer{{Status: 429, Type: "rate_limit_error", Code: "rate_limit_exceeded", RetryAfter: 90, Always: true}}, nil, func(t *testing.T, caller llm.ToolCaller) {
		_, err := caller.Decide(t.Context(), providertest.Request())
		if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.RateLimited || u.RetryAfter != 90*time.Second {
			t.Errorf("got %+v, want rate_limited with Retry-After 1m30s", u)
		}
	})
}

// R-PLAN-5
func TestFailuresOfAimockAreTyped(t *testing.T) {
	for name, c := range map[string]struct {
		answers []aimock.Answer
		flags   []string
		want    llm.Reason
	}{
		"a refused key":      {[]aimock.Answer{{Status: 401, Type: "authentication_error", Code: "invalid_api_key", Always: true}}, nil, llm.Auth},
		"an exhausted quota": {[]aimock.Answer{{Status: 429, Type: "insufficient_quota", Code: "insufficient_quota", Always: true}}, nil, llm.QuotaExhausted},
		"an overload":        {[]aimock.Answer{{Status: 529, Type: "overloaded_error", Always: true}}, nil, llm.Overloaded},
		"no fixture fits":    {[]aimock.Answer{{When: "never said", Call: call("tap", `{}`)}}, nil, llm.Overloaded},
		"malformed replies":  {nil, []string{"--chaos-malformed", "1"}, llm.ProviderError},
		"dropped requests":   {nil, []string{"--chaos-drop", "1"}, llm.ProviderError},
		"cut connections":    {nil, []string{"--chaos-disconnect", "1"}, llm.Transport},
		"rate limits":        {nil, []string{"--chaos-ratelimit", "1"}, llm.RateLimited},
	} {
		answers := c.answers
		if answers == nil {
			answers = []aimock.Answer{{Call: call("tap", `{"x":1}`), Always: true}}
		}
		t.Run(name, func(t *testing.T) {
			each(t, answers, c.flags, func(t *testing.T, caller llm.ToolCaller) {
				_, err := caller.Decide(t.Context(), providertest.Request())
				if u := llm.AsUnavailable(err); err == nil || u.Reason != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		})
	}
}
