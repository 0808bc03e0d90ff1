package peers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/provider/anthropic"
	"interlock/internal/provider/openai"
	"interlock/internal/provider/providertest"
	"interlock/internal/secret"
	"interlock/test/peers/aimock"
)

// job and result are what peer.mjs reads and writes.
type job struct {
	Vendor   string  `json:"vendor"`
	Request  request `json:"request"`
	Portable bool    `json:"portable"`
	Reply    string  `json:"reply"`
}

type request struct {
	Model     string   `json:"model"`
	MaxTokens int      `json:"maxTokens"`
	System    string   `json:"system"`
	User      string   `json:"user"`
	Image     *picture `json:"image,omitempty"`
	Tools     []offer  `json:"tools"`
	Form      *offer   `json:"form,omitempty"` // in place of tools
}

type picture struct {
	Type   string `json:"type"`
	Base64 string `json:"base64"`
}

type offer struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      bool            `json:"strict"`
}

type result struct {
	sent
	Calls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"calls"`
	Texts []any     `json:"texts"`
	Stop  string    `json:"stop"`
	Usage llm.Usage `json:"usage"`
	Error string    `json:"error"`
}

// sent is a request on the wire. The credential is left out: the vendor takes
// the key in either of two headers, and its library uses the other.
type sent struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
}

// run gives the jobs to the vendors' libraries.
func run(t *testing.T, jobs []job) []result {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "peer.mjs")
	cmd.Dir = aimock.Folder(t)
	cmd.Stdin = bytes.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node peer.mjs: %v\n%s", err, said.String())
	}
	var results []result
	if err := json.Unmarshal(out, &results); err != nil || len(results) != len(jobs) {
		t.Fatalf("node peer.mjs: %d results of %d jobs, %v", len(results), len(jobs), err)
	}
	return results
}

var shapes = []providertest.Shape{providertest.Anthropic, providertest.OpenAI}

func client(t *testing.T, vendor string, c provider.Config) llm.ToolCaller {
	t.Helper()
	var caller llm.ToolCaller
	var err error
	if vendor == "anthropic" {
		caller, err = anthropic.New(c)
	} else {
		caller, err = openai.New(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// wireCase is one request as either side has to write it.
type wireCase struct {
	name    string
	shape   providertest.Shape
	dialect provider.Dialect
	request llm.Request
}

func wireCases(t *testing.T) []wireCase {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 5, 4))); err != nil {
		t.Fatal(err)
	}
	shot, err := llm.NewImage(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	seen := providertest.Request()
	seen.Image = shot
	odd := providertest.Request()
	odd.System, odd.User = "", "a \"quoted\" line\n\u2028 é 🚀 \x01 </script>"
	var cases []wireCase
	for _, shape := range shapes {
		for _, dialect := range []provider.Dialect{provider.DialectVendor, provider.DialectPortable} {
			for name, r := range map[string]llm.Request{"plain": providertest.Request(), "with a picture": seen, "odd characters, no system prompt": odd} {
				cases = append(cases, wireCase{shape.Provider + ", " + string(dialect) + " dialect, " + name, shape, dialect, r})
			}
		}
	}
	return cases
}

// R-PLAN-1, R-PLAN-2, R-PLAN-3: each field that we send is one that the
// vendor's library sends for the same request, and no other.
func TestOurRequestsAreThoseOfTheVendorsLibraries(t *testing.T) {
	t.Parallel()
	cases := wireCases(t)
	var jobs []job
	var ours []sent
	for _, c := range cases {
		own, seen := encode(t, c)
		ours = append(ours, own)
		jobs = append(jobs, job{Vendor: c.shape.Provider, Request: neutral(c, seen), Portable: c.dialect == provider.DialectPortable, Reply: good(t, c.shape)})
	}
	for i, theirs := range run(t, jobs) {
		if theirs.Error != "" {
			t.Errorf("%s: the library failed: %s", cases[i].name, theirs.Error)
		}
		if cases[i].dialect == provider.DialectPortable {
			// The library has one version, and compatible servers another.
			delete(theirs.Headers, "anthropic-version")
			delete(ours[i].Headers, "anthropic-version")
		}
		if diff := cmp.Diff(theirs.sent, ours[i]); diff != "" {
			t.Errorf("%s (-library +ours):\n%s", cases[i].name, diff)
		}
	}
}

// encode makes our client send the request, and returns it as sent and as the
// fake vendor read it.
func encode(t *testing.T, c wireCase) (sent, providertest.Seen) {
	t.Helper()
	v := providertest.NewVendor(c.shape, secret.New("key"), providertest.Reply{Body: good(t, c.shape)})
	var own sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.Method, own.Path = r.Method, r.URL.Path
		v.ServeHTTP(w, r)
	}))
	defer server.Close()
	_, err := client(t, c.shape.Provider, provider.Config{BaseURL: server.URL, Key: secret.New("key"), Model: "model-x", Timeout: 20 * time.Second, Dialect: c.dialect}).Decide(t.Context(), c.request)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	seen := v.Requests()[0]
	own.Headers = keptHeaders(seen)
	if err := json.Unmarshal(seen.Body, &own.Body); err != nil {
		t.Fatal(err)
	}
	return own, seen
}

// keptHeaders are those that say how the body is to be read.
func keptHeaders(seen providertest.Seen) map[string]string {
	kept := map[string]string{}
	for _, k := range []string{"content-type", "anthropic-version"} {
		if value := seen.Header.Get(k); value != "" {
			kept[k] = value
		}
	}
	return kept
}

// neutral writes the case's request for peer.mjs. What is our own choice (the
// reply's limit, where to be strict, an empty "properties") is taken from what
// we sent; how it is written is the library's.
func neutral(c wireCase, seen providertest.Seen) request {
	r := request{Model: "model-x", MaxTokens: seen.MaxTokens, System: c.request.System, User: c.request.User}
	if c.request.Image != nil {
		r.Image = &picture{c.request.Image.MediaType, base64.StdEncoding.EncodeToString(c.request.Image.Bytes())}
	}
	for _, o := range seen.Tools {
		r.Tools = append(r.Tools, offer{o.Name, o.Description, o.Schema, o.Strict != nil && *o.Strict})
	}
	return r
}

func good(t *testing.T, s providertest.Shape) string {
	t.Helper()
	for _, r := range providertest.Recordings(s) {
		if r.Want.Tool != "" {
			return r.Body
		}
	}
	t.Fatalf("no good recording of %s", s.Provider)
	return ""
}

// R-PLAN-3, R-PLAN-7: what we make of a reply agrees with what the vendor's
// library reads in it.
func TestTheVendorsLibrariesReadTheSameReplies(t *testing.T) {
	t.Parallel()
	for _, shape := range shapes {
		recordings := providertest.Recordings(shape)
		var jobs []job
		for _, r := range recordings {
			jobs = append(jobs, job{Vendor: shape.Provider, Request: request{Model: "m", MaxTokens: 100, User: "u"}, Reply: r.Body})
		}
		for i, theirs := range run(t, jobs) {
			r := recordings[i]
			if theirs.Error != "" {
				t.Errorf("%s, %s: the library failed: %s", shape.Provider, r.Name, theirs.Error)
				continue
			}
			compare(t, shape, r, theirs)
		}
	}
}

// stopped are the stop reasons with which each failure must go, where there is
// a whole call that would do otherwise.
var stopped = map[llm.Reason]string{llm.Refused: "refusal content_filter", llm.Truncated: "max_tokens length model_context_window_exceeded"}

func compare(t *testing.T, shape providertest.Shape, r providertest.Recording, theirs result) {
	t.Helper()
	name := shape.Provider + ", " + r.Name
	// Our correction of servers that count reasoning beside the output goes
	// beyond what a library reads.
	if diff := cmp.Diff(theirs.Usage, r.Want.Usage, cmp.Comparer(func(a, b llm.Count) bool { return a == b })); diff != "" && !strings.Contains(r.Name, "beside") {
		t.Errorf("%s: usage (-library +ours):\n%s", name, diff)
	}
	calls := len(theirs.Calls)
	switch reason := r.Want.Reason; {
	case reason == "":
		if calls != 1 || theirs.Calls[0].Name != r.Want.Tool || !sameArguments(theirs.Calls[0].Arguments, r.Want.Arguments) {
			t.Errorf("%s: the library reads %+v, we %s %s", name, theirs.Calls, r.Want.Tool, r.Want.Arguments)
		}
	case stopped[reason] != "":
		if !strings.Contains(stopped[reason], theirs.Stop) || theirs.Stop == "" {
			t.Errorf("%s: the library reads the stop reason %q, we %s", name, theirs.Stop, reason)
		}
	case reason == llm.NoCall:
		if calls != 0 && theirs.Stop != "pause_turn" {
			t.Errorf("%s: the library reads %d calls, we none", name, calls)
		}
	case reason == llm.ManyCalls:
		if calls < 2 {
			t.Errorf("%s: the library reads %d calls, we several", name, calls)
		}
	default:
		if calls != 1 {
			t.Errorf("%s: the library reads %d calls, we one that won't do", name, calls)
		}
	}
}

// sameArguments compares a library's reading with ours: one gives the value,
// the other the text of it, and both leave empty text to the reader.
func sameArguments(theirs json.RawMessage, ours string) bool {
	var text string
	if json.Unmarshal(theirs, &text) == nil {
		theirs = json.RawMessage(text)
		if text == "" {
			theirs = json.RawMessage("{}")
		}
	}
	var a, b any
	return json.Unmarshal(theirs, &a) == nil && json.Unmarshal([]byte(ours), &b) == nil && cmp.Equal(a, b)
}
