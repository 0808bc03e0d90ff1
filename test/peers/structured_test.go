package peers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/provider/providertest"
	"interlock/internal/secret"
)

// formCase is one request for an answer in a form.
type formCase struct {
	name    string
	shape   providertest.Shape
	dialect provider.Dialect
	request llm.StructuredRequest
}

// formCases leaves out what is asked for as a tool call: it is that of
// wireCases.
func formCases() []formCase {
	plain := providertest.StructuredRequest()
	odd := plain
	odd.System, odd.User = "", "a \"quoted\" line\n\u2028 é 🚀 \x01 </script>"
	loose := plain
	loose.Schema = json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"},"note":{"type":"string"}},"required":["x"],"additionalProperties":false}`)
	var cases []formCase
	for name, r := range map[string]llm.StructuredRequest{"plain": plain, "odd characters, no system prompt": odd, "a member that may be left out": loose} {
		cases = append(cases,
			formCase{"anthropic, " + name, providertest.Anthropic, provider.DialectVendor, r},
			formCase{"openai, " + name, providertest.OpenAI, provider.DialectVendor, r},
			formCase{"openai, portable dialect, " + name, providertest.OpenAI, provider.DialectPortable, r})
	}
	return cases
}

// R-BRIDGE-7, R-PLAN-1: each field that we send for an answer in a form is one
// that the vendor's library sends, and no other.
func TestOurStructuredRequestsAreThoseOfTheVendorsLibraries(t *testing.T) {
	t.Parallel()
	cases := formCases()
	var jobs []job
	var ours []sent
	for _, c := range cases {
		own, seen := encodeForm(t, c)
		ours = append(ours, own)
		form := &offer{Name: seen.Form.Name, Schema: c.request.Schema, Strict: seen.Form.Strict != nil && *seen.Form.Strict}
		jobs = append(jobs, job{Vendor: c.shape.Provider, Portable: c.dialect == provider.DialectPortable, Reply: providertest.Answer(c.shape, `{"x":3}`).Body,
			Request: request{Model: "model-x", MaxTokens: seen.MaxTokens, System: c.request.System, User: c.request.User, Form: form}})
	}
	for i, theirs := range run(t, jobs) {
		if theirs.Error != "" {
			t.Errorf("%s: the library failed: %s", cases[i].name, theirs.Error)
		}
		if diff := cmp.Diff(theirs.sent, ours[i]); diff != "" {
			t.Errorf("%s (-library +ours):\n%s", cases[i].name, diff)
		}
	}
}

// encodeForm makes our client send the request; see encode.
func encodeForm(t *testing.T, c formCase) (sent, providertest.Seen) {
	t.Helper()
	v := providertest.NewVendor(c.shape, secret.New("key"), providertest.Answer(c.shape, `{"x":3}`))
	var own sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.Method, own.Path = r.Method, r.URL.Path
		v.ServeHTTP(w, r)
	}))
	defer server.Close()
	caller := client(t, c.shape.Provider, provider.Config{BaseURL: server.URL, Key: secret.New("key"), Model: "model-x", Timeout: 20 * time.Second, Dialect: c.dialect})
	if _, err := caller.(llm.StructuredCaller).Structured(t.Context(), c.request); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	seen := v.Requests()[0]
	own.Headers = keptHeaders(seen)
	if err := json.Unmarshal(seen.Body, &own.Body); err != nil {
		t.Fatal(err)
	}
	return own, seen
}

// R-BRIDGE-7: an answer that we take is the one text that the vendor's library
// reads in the reply, and where we find none or several, so does it.
func TestTheVendorsLibrariesReadTheSameAnswers(t *testing.T) {
	t.Parallel()
	for _, shape := range shapes {
		recordings := providertest.Answers(shape)
		var jobs []job
		for _, r := range recordings {
			jobs = append(jobs, job{Vendor: shape.Provider, Request: request{Model: "m", MaxTokens: 100, User: "u", Form: &offer{Name: "x", Schema: json.RawMessage(`{"type":"object"}`)}}, Reply: r.Body})
		}
		for i, theirs := range run(t, jobs) {
			r, name := recordings[i], shape.Provider+", "+recordings[i].Name
			if theirs.Error != "" {
				t.Errorf("%s: the library failed: %s", name, theirs.Error)
				continue
			}
			if diff := cmp.Diff(theirs.Usage, r.Want.Usage, cmp.Comparer(func(a, b llm.Count) bool { return a == b })); diff != "" {
				t.Errorf("%s: usage (-library +ours):\n%s", name, diff)
			}
			compareAnswer(t, name, r.Want, theirs)
		}
	}
}

func compareAnswer(t *testing.T, name string, want providertest.Want, theirs result) {
	t.Helper()
	answers := len(theirs.Texts) + len(theirs.Calls)
	switch {
	case want.Reason == "":
		text, _ := append(theirs.Texts, "")[0].(string)
		if answers != 1 || !sameArguments(json.RawMessage(text), want.Arguments) {
			t.Errorf("%s: the library reads %q, we %s", name, theirs.Texts, want.Arguments)
		}
	case stopped[want.Reason] != "":
		if theirs.Stop == "" || !strings.Contains(stopped[want.Reason], theirs.Stop) {
			t.Errorf("%s: the library reads the stop reason %q, we %s", name, theirs.Stop, want.Reason)
		}
	case want.Reason == llm.NoCall:
		if answers != 0 && theirs.Stop != "pause_turn" {
			t.Errorf("%s: the library reads %d answers, we none", name, answers)
		}
	case want.Reason == llm.ManyCalls:
		if answers < 2 {
			t.Errorf("%s: the library reads %d answers, we several", name, answers)
		}
	default:
		if answers != 1 {
			t.Errorf("%s: the library reads %d answers, we one that won't do", name, answers)
		}
	}
}
