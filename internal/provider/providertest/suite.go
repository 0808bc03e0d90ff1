package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/secret"
	"interlock/internal/tool"
)

// Subject is one way to a decision.
type Subject struct {
	Shape Shape
	// New returns a caller that reaches the vendor at the endpoint, and cleans
	// up after itself with t.Cleanup.
	New func(t testing.TB, e Endpoint) llm.ToolCaller

	formed bool // see Structured
}

// Endpoint is where a fake vendor listens, and what to send it.
type Endpoint struct {
	provider.Config // to the vendor; its Transport is set on a Network only
	// Network is what a transport with servers of its own must use. Nil: real
	// sockets.
	Network *Network
}

// The settings of every case. The canaries must be found in no text of ours.
const (
	askedModel   = "asked-model"
	keyCanary    = "sk-key-canary-91b7"
	promptCanary = "prompt-canary-3e60"
)

// Run runs the cases that take no time worth speaking of, over sockets.
func Run(t *testing.T, s Subject) {
	t.Run("replies", s.replies)
	t.Run("failures", s.failures)
	t.Run("requests", s.requests)
	t.Run("many at once", s.manyAtOnce)
}

// Request returns the request of the suite's cases: four tools, of which each
// vendor can be strict about some.
func Request() llm.Request {
	return llm.Request{System: "You operate a phone. " + promptCanary, User: "Decide 3. " + promptCanary, Tools: offered, Timeout: 10 * time.Second}
}

var offered = func() *tool.Set {
	s, err := tool.NewSet([]tool.Spec{
		{Name: "tap", Description: "Taps.", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"},"note":{"type":"string"}},"required":["x"],"additionalProperties":false}`)},
		{Name: "wait", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "pick", Description: "Picks.", Parameters: json.RawMessage(`{"type":"object","properties":{"of":{"type":"array","items":{"type":"string"},"maxItems":3,"default":[]}},"required":["of"],"additionalProperties":false}`)},
		{Name: "home", Description: "Goes home.", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	})
	if err != nil {
		panic(err)
	}
	return s
}()

// world is one fake vendor on a socket, and the caller under test.
type world struct {
	vendor *Vendor
	url    string
	caller llm.ToolCaller
}

// world starts a fake that gives the replies. change, which may be nil, edits
// the settings of the caller.
func (s Subject) world(t *testing.T, change func(*provider.Config), replies ...Reply) world {
	t.Helper()
	v := NewVendor(s.Shape, secret.New(keyCanary), replies...)
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	c := provider.Config{BaseURL: server.URL, Key: secret.New(keyCanary), Model: askedModel, Timeout: 30 * time.Second, Dialect: s.dialect()}
	if change != nil {
		change(&c)
	}
	return world{v, server.URL, s.New(t, Endpoint{Config: c})}
}

func (s Subject) replies(t *testing.T) {
	for _, r := range s.recordings() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			w := s.world(t, nil, Reply{Body: r.Body})
			d, err := w.caller.Decide(t.Context(), Request())
			s.check(t, d, err, r.Want)
			if n := len(w.vendor.Requests()); n != 1 {
				t.Errorf("the vendor was asked %d times, want once: a reply is final", n)
			}
		})
	}
	t.Run("a bad reply doesn't poison the next decision [openai-agents 2283]", func(t *testing.T) {
		t.Parallel()
		r := s.recordings()
		w := s.world(t, nil, Reply{Body: find(t, r, "an array").Body}, s.good())
		_, err := w.caller.Decide(t.Context(), Request())
		s.check(t, llm.Decision{}, err, find(t, r, "an array").Want)
		again := Request()
		again.Key = "another decision"
		d, err := w.caller.Decide(t.Context(), again)
		s.check(t, d, err, s.goodRecording().Want)
	})
}

// recordings returns the replies of the subject's kind. The first is a good
// one.
func (s Subject) recordings() []Recording {
	if s.formed {
		return Answers(s.Shape)
	}
	return Recordings(s.Shape)
}

func (s Subject) goodRecording() Recording { return s.recordings()[0] }

func (s Subject) good() Reply { return Reply{Body: s.goodRecording().Body} }

// tap is a good reply with the arguments.
func (s Subject) tap(arguments string) string {
	switch {
	case s.formed:
		return Answer(s.Shape, arguments).Body
	case s.Shape.Provider == Anthropic.Provider:
		return message(use("tap", arguments), "tool_use", anthropicUsage)
	default:
		return completion(`"tool_calls":[`+call("tap", arguments)+`]`, "tool_calls", openaiUsage)
	}
}

func find(t *testing.T, all []Recording, name string) Recording {
	t.Helper()
	for _, r := range all {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no recording is called %q", name)
	return Recording{}
}

// check compares an outcome with what was wanted. A failure must show the
// vendor's request id, and nothing that the vendor or we must keep.
func (s Subject) check(t *testing.T, d llm.Decision, err error, want Want) {
	t.Helper()
	if want.Reason != "" {
		s.checkFailure(t, err, want)
		return
	}
	got := Want{Tool: d.Call.Tool, Arguments: string(d.Call.Arguments), Usage: d.Usage, Model: d.Model}
	if diff := cmp.Diff(want, got, comparable); err != nil || diff != "" {
		t.Errorf("error %v, decision (-want +got):\n%s", err, diff)
	}
	if d.Provider != s.Shape.Provider || d.ProviderRequestID != requestID {
		t.Errorf("provider %q, request id %q; want %q, %q", d.Provider, d.ProviderRequestID, s.Shape.Provider, requestID)
	}
}

// comparable lets cmp look into llm.Count.
var comparable = cmp.Comparer(func(a, b llm.Count) bool { return a == b })

func (s Subject) checkFailure(t *testing.T, err error, want Want) {
	t.Helper()
	var u *llm.Unavailable
	if !errors.As(err, &u) || !errors.Is(err, llm.ErrUnavailable) {
		t.Fatalf("got error %v, want an *llm.Unavailable with reason %s", err, want.Reason)
	}
	got := Want{Reason: u.Reason, Usage: u.Usage, Model: u.Model}
	if diff := cmp.Diff(Want{Reason: want.Reason, Usage: want.Usage, Model: want.Model}, got, comparable, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if u.Provider != s.Shape.Provider || u.Detail == "" {
		t.Errorf("provider %q, detail %q; want %q and a sentence", u.Provider, u.Detail, s.Shape.Provider)
	}
	keepsSecrets(t, err)
}

// keepsSecrets prints v in every usual way and looks for the canaries.
func keepsSecrets(t *testing.T, v any) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
		text := fmt.Sprintf(verb, v)
		for e, ok := v.(error); ok && e != nil; e = errors.Unwrap(e) {
			text += fmt.Sprintf(verb, e)
		}
		for _, canary := range []string{keyCanary, promptCanary, wordsCanary} {
			if strings.Contains(text, canary) {
				t.Errorf("%s of %T shows %s: %s", verb, v, canary, text)
			}
		}
	}
}

// failures runs what is not worth another try; the rest takes time.
func (s Subject) failures(t *testing.T) {
	for _, f := range failures {
		if f.again {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := s.world(t, nil, f.reply(s.Shape))
			_, err := w.caller.Decide(t.Context(), Request())
			s.checkFailing(t, err, f)
			keepsSecrets(t, w.caller)
			if n := len(w.vendor.Requests()); n != 1 {
				t.Errorf("the vendor was asked %d times, want once", n)
			}
		})
	}
	t.Run("a redirect is not followed", s.redirect)
	t.Run("a wrong key", s.wrongKey)
	t.Run("nobody listens", s.nobodyListens)
	t.Run("a caller that gives up", s.callerGivesUp)
}

// requestID is what the fakes put in their header.
const requestID = "req_fake-1"

func (s Subject) checkFailing(t *testing.T, err error, f failing) {
	t.Helper()
	s.checkFailure(t, err, Want{Reason: f.want, Model: askedModel})
	u := llm.AsUnavailable(err)
	wantID := requestID
	if f.nameless {
		wantID = ""
	}
	if u.RetryAfter != f.retryAfter || u.ProviderRequestID != wantID {
		t.Errorf("Retry-After %s, request id %q; want %s, %q", u.RetryAfter, u.ProviderRequestID, f.retryAfter, wantID)
	}
}

func (s Subject) redirect(t *testing.T) {
	t.Parallel()
	trap := NewVendor(s.Shape, secret.New(keyCanary), s.good())
	elsewhere := httptest.NewServer(trap)
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		w := s.world(t, nil, Reply{Status: status, Header: map[string]string{"Location": elsewhere.URL + s.Shape.Path}})
		_, err := w.caller.Decide(t.Context(), Request())
		s.checkFailing(t, err, failing{want: llm.ProviderError})
	}
	if n := len(trap.Requests()); n != 0 {
		t.Errorf("%d redirects were followed, with the key and the prompts", n)
	}
}

func (s Subject) wrongKey(t *testing.T) {
	t.Parallel()
	w := s.world(t, func(c *provider.Config) { c.Key = secret.New(keyCanary + "-old") }, Reply{})
	_, err := w.caller.Decide(t.Context(), Request())
	s.checkFailing(t, err, failing{want: llm.Auth})
}

func (s Subject) nobodyListens(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	w := s.world(t, func(c *provider.Config) { c.BaseURL, c.Timeout = url, 300*time.Millisecond })
	_, err := w.caller.Decide(t.Context(), Request())
	s.checkFailure(t, err, Want{Reason: llm.Transport, Model: askedModel})
}

func (s Subject) callerGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := s.world(t, nil, Reply{Hang: true})
	w.vendor.Answer(func(Seen) Reply { cancel(); return Reply{Hang: true} })
	_, err := w.caller.Decide(ctx, Request())
	if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
}

// R-PLAN-1: decisions that run together get each its own answer.
func (s Subject) manyAtOnce(t *testing.T) {
	t.Parallel()
	w := s.world(t, nil, Reply{})
	w.vendor.Answer(func(seen Seen) Reply {
		var n int
		fmt.Sscanf(seen.User, "Decide %d.", &n)
		return Reply{Body: s.tap(fmt.Sprintf(`{"x":%d}`, n))}
	})
	type outcome struct {
		n        int
		decision llm.Decision
		err      error
	}
	const callers = 64
	outcomes := make(chan outcome)
	for n := range callers {
		go func() {
			r := Request()
			r.User, r.Key, r.TaskID, r.Attempt = fmt.Sprintf("Decide %d.", n), fmt.Sprintf("key-%d", n), fmt.Sprintf("task-%d", n), 1
			d, err := w.caller.Decide(t.Context(), r)
			outcomes <- outcome{n, d, err}
		}()
	}
	for range callers {
		o := <-outcomes
		s.check(t, o.decision, o.err, Want{Tool: "tap", Arguments: fmt.Sprintf(`{"x":%d}`, o.n), Usage: fullUsage, Model: Model})
	}
}
