package wordpress_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// stranger is a server that is asked as the gateway, and answers as it is told.
type stranger struct {
	*wire
	answer atomic.Pointer[http.HandlerFunc]
}

func newStranger(t testing.TB) *stranger {
	t.Helper()
	s := &stranger{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*s.answer.Load())(rw, r) }))
	t.Cleanup(server.Close)
	s.wire = newWire(t, server.URL)
	return s
}

// will says what is answered from now on.
func (s *stranger) will(h http.HandlerFunc) { s.answer.Store(&h) }

// says answers everything so.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		rw.Header().Set("Location", "/elsewhere") // means something with some statuses
		rw.WriteHeader(status)
		fmt.Fprint(rw, body)
	}
}

// proposes proposes the lookup of the ABN in asked, and leaves the lookup to
// the handler.
func proposes(lookup http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/resolve") {
			says(http.StatusOK, "application/json", envelope(proposal(nil)))(rw, r)
			return
		}
		lookup(rw, r)
	}
}

// connected are settings that are well formed and lead to the URL.
func connected(url string) map[string]string {
	return map[string]string{"gateway_url": url, "site_id": "site_0123456789abcdef", "tenant_id": "acme", "kid": "", "audience": "interlock"}
}

const (
	canary = `<script id="canary">document.title='taken'</script><img src=x onerror=alert(1)>`
	asked  = "Check whether ABN 51824753556 is registered."
)

// envelope is a gateway's answer that went well.
func envelope(data any) string {
	b, err := json.Marshal(map[string]any{"ok": true, "data": data, "error": nil, "meta": map[string]any{"request_id": "req-1"}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// refusal is a gateway's answer that did not.
func refusal(code, detail string) string {
	b, err := json.Marshal(map[string]any{"ok": false, "data": nil, "error": map[string]any{"code": code, "detail": detail}, "meta": map[string]any{"request_id": canary}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// proposal is what a gateway proposes for asked, with changes.
func proposal(changes map[string]any) map[string]any {
	p := map[string]any{"status": "resolved", "selector": "deterministic_v1", "capability": "business.au.abn.lookup", "app": "abn_lookup",
		"operation": "lookup_v1", "arguments": map[string]any{"abn": "51824753556"}, "risk": "low", "confirmation": false}
	maps.Copy(p, changes)
	return p
}

// R-BRIDGE-9: whatever answers as the gateway, an administrator gets a clear
// sentence, and nothing of a stranger runs in the page.
func TestAGatewayThatIsNoneIsSaidClearly(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	gateway := newStranger(t)
	admin.settle(connected(gateway.URL))
	const notUnderstood = "What answered is not an Interlock gateway"
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		says                    string
	}{
		{"a web page", "text/html", "<html>" + canary + "</html>", 200, notUnderstood},
		{"a web page that says it is JSON", "application/json", "<html>" + canary + "</html>", 200, notUnderstood},
		{"an envelope that says it is a web page", "text/html", envelope(proposal(nil)), 200, notUnderstood},
		{"an envelope without a type", "", envelope(proposal(nil)), 200, notUnderstood},
		{"nothing", "application/json", "", 200, notUnderstood},
		{"garbage", "application/json", "\x00\xff{{{", 200, notUnderstood},
		{"half an envelope", "application/json", envelope(proposal(nil))[:40], 200, notUnderstood},
		{"an array", "application/json", `[true]`, 200, notUnderstood},
		{"a number", "application/json", `7`, 200, notUnderstood},
		{"ok as a word", "application/json", strings.Replace(envelope(proposal(nil)), "true", `"true"`, 1), 200, notUnderstood},
		{"data as a list of words", "application/json", envelope([]string{canary}), 200, notUnderstood},
		{"no data", "application/json", `{"ok":true,"data":null,"error":null,"meta":{}}`, 200, notUnderstood},
		{"a depth of a thousand", "application/json", `{"ok":true,"data":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, 200, notUnderstood},
		{"a megabyte of spaces around an envelope", "application/json", strings.Repeat(" ", 1<<20) + envelope(proposal(nil)), 200, notUnderstood},
		{"an envelope that went well with a status that did not", "application/json", envelope(proposal(nil)), 500, notUnderstood},
		{"a refusal with a status of success", "application/json", refusal("policy_denied", "no"), 200, notUnderstood},
		{"a refusal whose code is markup", "application/json", refusal(canary, "no"), 403, notUnderstood},
		{"a refusal with markup in its words", "application/json", refusal("policy_denied", canary), 403, "policy does not allow this call"},
		{"a refusal of a kind that nobody knows", "application/json", refusal("moon_phase", canary), 503, "The gateway refused the call."},
		{"a status that nobody knows", "application/json", envelope(map[string]any{"status": canary}), 200, notUnderstood},
		{"a reason that is markup", "application/json", envelope(map[string]any{"status": "no_matching_tool", "reason": canary}), 200, "found nothing that it could do"},
		{"a redirect", "application/json", envelope(proposal(nil)), 307, notUnderstood},
		{"another capability", "application/json", envelope(proposal(map[string]any{"capability": "business.au.abn.delete"})), 200, "something else than looking up an ABN"},
		{"another operation", "application/json", envelope(proposal(map[string]any{"operation": "lookup_v2"})), 200, "another service"},
		{"another app", "application/json", envelope(proposal(map[string]any{"app": "../../operator/v1"})), 200, "another service"},
		{"a high risk", "application/json", envelope(proposal(map[string]any{"risk": "high"})), 200, "risk is not low"},
		{"a call to confirm", "application/json", envelope(proposal(map[string]any{"confirmation": true})), 200, "a person must confirm"},
		{"an ABN that nobody wrote", "application/json", envelope(proposal(map[string]any{"arguments": map[string]any{"abn": "53004085616"}})), 200, "does not stand in your instruction"},
		{"an ABN as a number", "application/json", envelope(proposal(map[string]any{"arguments": map[string]any{"abn": 51824753556}})), 200, "something else than one valid ABN"},
		{"an argument more", "application/json", envelope(proposal(map[string]any{"arguments": map[string]any{"abn": "51824753556", "guid": "x"}})), 200, "something else than one valid ABN"},
	} {
		gateway.will(says(c.status, c.contentType, c.body))
		got := admin.ask(asked)
		if !strings.Contains(html.UnescapeString(got.result()), c.says) {
			t.Errorf("%s: %q does not say %q", c.name, got.result(), c.says)
		}
		inert(t, c.name, got)
		for _, e := range gateway.forget() {
			if e.Path != resolvePath {
				t.Errorf("%s: %s was asked for", c.name, e.Path)
			}
		}
	}
	if got := w.wire.tells(nil); len(got) > 0 {
		t.Errorf("a browser saw %v", got)
	}
}

// inert fails the test where the page has the canary as markup.
func inert(t testing.TB, name string, p page) {
	t.Helper()
	if p.Status != http.StatusOK || strings.Contains(p.Body, `<script id="canary"`) || strings.Contains(p.Body, "<img src=x") {
		t.Errorf("%s: the page (%d) holds a stranger's markup:\n%s", name, p.Status, p.Body)
	}
}

// R-BRIDGE-9: the lookup's answer is a stranger's too.
func TestALookupsAnswerIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	gateway := newStranger(t)
	admin.settle(connected(gateway.URL))
	answer := func(changes map[string]any) map[string]any {
		a := map[string]any{"status": "found", "abn": "51824753556", "abn_formatted": canary, "registered": true, "replaced_by": canary, "source": canary, "as_of": canary,
			"entity": map[string]any{"name": canary, "status": canary, "status_from": canary, "type_name": canary, "acn": canary, "gst_from": canary, "state": canary,
				"postcode": canary, "business_names": []any{canary, 7, map[string]any{"a": 1}, "O'BRIEN & SONS", "É"}}}
		maps.Copy(a, changes)
		return a
	}
	for _, c := range []struct {
		name   string
		answer map[string]any
		shows  []string
	}{
		{"markup in every field", answer(nil), []string{"Registered", "O'BRIEN & SONS", "É", `document.title='taken'`}},
		{"fields of the wrong kind", answer(map[string]any{"source": 7, "as_of": []any{}, "entity": map[string]any{"name": []any{"x"}, "business_names": "x"}}), []string{"Registered"}},
		{"another number", answer(map[string]any{"abn": "53004085616"}), []string{"gateway_not_understood"}},
		{"another status", answer(map[string]any{"status": canary}), []string{"gateway_not_understood"}},
		{"found without an entity", answer(map[string]any{"entity": nil}), []string{"gateway_not_understood"}},
		{"cancelled", answer(map[string]any{"status": "cancelled", "replaced_by": "53004085616"}), []string{"Cancelled", "53 004 085 616"}},
		{"no record", answer(map[string]any{"status": "not_found", "entity": nil}), []string{"No record", "51 824 753 556"}},
	} {
		gateway.will(proposes(says(http.StatusOK, "application/json; charset=utf-8", envelope(c.answer))))
		got := admin.ask(asked)
		for _, want := range c.shows {
			if !strings.Contains(html.UnescapeString(got.result()), want) {
				t.Errorf("%s: the result does not show %q:\n%s", c.name, want, got.result())
			}
		}
		inert(t, c.name, got)
	}
}

// R-BRIDGE-9
func TestAGatewayThatIsDownIsSaidClearly(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	admin.settle(connected("http://" + freeAddress(t)))
	if got := admin.ask(asked).result(); !strings.Contains(got, "The gateway could not be reached") {
		t.Errorf("the result says %q", got)
	}
}

// R-BRIDGE-9: a gateway that cannot prove who it is gets no token.
func TestAGatewayWithoutATrustedCertificateGetsNothing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that are broken off
	server.StartTLS()
	t.Cleanup(server.Close)
	admin := newWordPress(t).signedIn("admin")
	admin.settle(connected(server.URL))
	if got := admin.ask("Check whether ABN 51824753556 is registered.").result(); !strings.Contains(got, "The gateway could not be reached") || !strings.Contains(strings.ToLower(got), "certificate") {
		t.Errorf("the result says %q", got)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("it was sent %d requests", n)
	}
}

// R-BRIDGE-9: a second try is the same call, with a token of its own.
func TestWhatMayPassIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	gateway := newStranger(t)
	admin.settle(connected(gateway.URL))
	for _, c := range []struct {
		name, failure string
		cut           bool
		status, tries int
	}{
		{"a refusal that may pass", `{"ok":false,"data":null,"error":{"code":"log_unavailable","detail":"d","retryable":true,"retry_after_ms":10},"meta":{}}`, false, 503, 2},
		{"a refusal that takes long to pass", `{"ok":false,"data":null,"error":{"code":"rate_limited","detail":"d","retryable":true,"retry_after_ms":60000},"meta":{}}`, false, 429, 1},
		{"a refusal that is final", `{"ok":false,"data":null,"error":{"code":"policy_denied","detail":"d","retryable":false},"meta":{}}`, false, 403, 1},
		{"an answer that is not understood", "<html>", false, 200, 1},
		{"a connection that is cut", "", true, 0, 2},
	} {
		tries := make(chan http.Header, 10)
		gateway.will(proposes(func(rw http.ResponseWriter, r *http.Request) {
			tries <- r.Header
			if c.cut {
				panic(http.ErrAbortHandler)
			}
			says(c.status, "application/json", c.failure)(rw, r)
		}))
		got := admin.ask(asked)
		if !strings.Contains(got.result(), "The call did not succeed") {
			t.Errorf("%s: the result is %s", c.name, got.result())
		}
		var tried []http.Header
		for len(tries) > 0 {
			tried = append(tried, <-tries)
		}
		if len(tried) != c.tries {
			t.Errorf("%s: %d tries, want %d", c.name, len(tried), c.tries)
		}
		if len(tried) == 2 && (tried[0].Get("Idempotency-Key") == "" || tried[0].Get("Idempotency-Key") != tried[1].Get("Idempotency-Key") || tried[0].Get("Authorization") == tried[1].Get("Authorization")) {
			t.Errorf("%s: the second try is not the same call with another token: %v and %v", c.name, tried[0], tried[1])
		}
	}
}
