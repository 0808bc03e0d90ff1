package sites_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/baresite"
	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/serve/sites"
	"interlock/internal/waittest"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestTheDoorIsDescribedAsItWas(t *testing.T) {
	t.Parallel()
	doc, err := sites.Document([]catalog.App{abn.NewApp(abn.Sample()).Describe()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("the sites' document differs from %s: plugins in the field keep to the old one; rewrite it with -update if that is meant", file)
	}
}

// R-BRIDGE-1, R-BRIDGE-3, R-BRIDGE-4
func TestAnInstructionBecomesOneGovernedCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, err := w.site.Resolve(t.Context(), "Check whether ABN 51824753556 is registered.")
	if err != nil {
		t.Fatal(err)
	}
	w.checkEnvelope(a)
	const proposal = `{"status":"resolved","selector":"deterministic_v1","capability":"business.au.abn.lookup","app":"abn_lookup","operation":"lookup_v1","arguments":{"abn":"51824753556"},"risk":"low","confirmation":false}`
	if string(a.Data) != proposal {
		t.Errorf("resolved to %s", a.Data)
	}
	a, err = w.site.Lookup(t.Context(), "51824753556", "click-1")
	if err != nil {
		t.Fatal(err)
	}
	w.checkEnvelope(a)
	var found struct {
		Status     string
		Registered bool
		Entity     struct{ Name string }
		Source     string
	}
	if err := json.Unmarshal(a.Data, &found); err != nil || found.Status != "found" || !found.Registered || found.Entity.Name != "AUSTRALIAN TAXATION OFFICE" || found.Source != "sample" {
		t.Errorf("found %s (%v)", a.Data, err)
	}
	if q := a.Meta.Quota; q == nil || q.Limit != 1000 || q.Remaining != 999 || !q.ResetsAt.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("quota %+v", a.Meta.Quota)
	}
	if limit, policy := a.Header.Get("RateLimit"), a.Header.Get("RateLimit-Policy"); limit != `"quota";r=999;t=43200` || policy != `"quota";q=1000` {
		t.Errorf("RateLimit %s, policy %s", limit, policy)
	}

	again, err := w.site.Lookup(t.Context(), "51824753556", "click-1")
	if err != nil || !again.OK || !again.Meta.Replayed || !bytes.Equal(again.Data, a.Data) || again.Meta.Quota.Remaining != 999 {
		t.Errorf("the second click got %s (%v)", again.Body, err)
	}
}

// R-BRIDGE-3
func TestAnInstructionThatMatchesNothingSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for instruction, reason := range map[string]string{
		"Is Telstra registered?":                                             "no_match",
		"Call 0412 345 678 or +61 412 345 678":                               "no_match",
		"ABN 51824753556 or ABN 53004085616?":                                "ambiguous",
		"Is ABN 51824753557 registered?":                                     "invalid_checksum",
		"Charge card 5182 4753 5560 0000":                                    "no_match",
		"Check INV51824753556 please":                                        "no_match",
		"\u0665\u0661\u0668\u0662\u0664\u0667\u0665\u0663\u0665\u0665\u0666": "no_match",
	} {
		a, err := w.site.Resolve(t.Context(), instruction)
		if err != nil {
			t.Fatal(err)
		}
		w.checkEnvelope(a)
		var r sites.Resolution
		if err := json.Unmarshal(a.Data, &r); err != nil || r.Status != "no_matching_tool" || r.Reason != reason || r.Arguments != nil || r.App != "" {
			t.Errorf("%q: %s, want %s", instruction, a.Body, reason)
		}
	}
}

// Only what the tenant has enabled is considered. R-BRIDGE-2
func TestAnAppThatIsNotEnabledIsNotProposed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(w.store.Disable(t.Context(), acme, "abn_lookup", fact("app.disable")))
	a, err := w.site.Resolve(t.Context(), "Check whether ABN 51824753556 is registered.")
	if err != nil {
		t.Fatal(err)
	}
	var r sites.Resolution
	if err := json.Unmarshal(a.Data, &r); err != nil || r.Status != "no_matching_tool" || r.Reason != "not_offered" {
		t.Errorf("got %s", a.Body)
	}
}

// An instruction as long as may be, in the longest form that JSON has for it,
// is one all the same. R-BRIDGE-1
func TestAnInstructionMayBeEscapedAllOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"instruction":"` + strings.Repeat(`\u003f`, selector.MaxInstruction) + `"}`
	a := w.send(baresite.Request{Path: sites.PathResolve, Scope: "platform:agent:invoke", Body: []byte(body)})
	w.checkEnvelope(a)
	if !a.OK || !bytes.Contains(a.Data, []byte(`"no_match"`)) {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

// R-BRIDGE-1
func TestResolveRefusesWhatIsNoInstruction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, code := range map[string]string{
		`{"instruction":""}`: "invalid_instruction",
		`{"instruction":"` + strings.Repeat("x", 4097) + `"}`: "invalid_instruction",
		`{"instruction":7}`:                     "invalid_body",
		`{"instruction":"a","instruction":"b"}`: "invalid_body",
		`{"INSTRUCTION":"a"}`:                   "invalid_instruction",
		"{\"instruction\":\"\xff\"}":            "invalid_body",
		`{"instruction":"a"`:                    "invalid_body",
		``:                                      "invalid_body",
		`{"instruction":"` + strings.Repeat("x", 30_000) + `"}`: "body_too_large",
	} {
		a := w.send(baresite.Request{Path: sites.PathResolve, Scope: "platform:agent:invoke", Body: []byte(body + "")})
		if body == "" {
			a = w.send(baresite.Request{Path: sites.PathResolve, Scope: "platform:agent:invoke", Body: []byte{}})
		}
		w.checkEnvelope(a)
		if a.OK || a.Code() != code {
			t.Errorf("%.60q: got %d %s, want %s", body, a.Status, a.Code(), code)
		}
	}
}

// A token is worth one call. R-BRIDGE-1
func TestATokenIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, err := w.site.Signer.Token("app:service:say", w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if a := w.send(baresite.Request{Token: token}); !a.OK {
		t.Fatalf("first use: %s", a.Body)
	}
	if a := w.send(baresite.Request{Token: token}); a.Status != http.StatusUnauthorized || a.Code() != "invalid_token" {
		t.Errorf("second use: %d %s", a.Status, a.Body)
	}
	w.clock.Advance(time.Hour)
	late, err := w.site.Signer.Token("app:service:say", w.clock.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if a := w.send(baresite.Request{Token: late}); a.Status != http.StatusUnauthorized {
		t.Errorf("expired: %d %s", a.Status, a.Body)
	}
	if err := w.sites.DisableKey(t.Context(), acme, audit.System, w.site.Signer.Issuer, "k1"); err != nil {
		t.Fatal(err)
	}
	if a := w.send(baresite.Request{}); a.Status != http.StatusUnauthorized {
		t.Errorf("revoked key: %d %s", a.Status, a.Body)
	}
}

// R-BRIDGE-5
func TestASiteThatCallsTooOftenWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := 1
	if _, err := w.sites.Change(t.Context(), acme, audit.System, w.site.Signer.Issuer, site.Change{PerMinute: &one, Burst: &one}); err != nil {
		t.Fatal(err)
	}
	if a := w.send(baresite.Request{}); !a.OK {
		t.Fatalf("first: %s", a.Body)
	}
	a := w.send(baresite.Request{})
	w.checkEnvelope(a)
	if a.Status != http.StatusTooManyRequests || a.Code() != "rate_limited" || !a.Error.Retryable || a.Header.Get("Retry-After") != "60" {
		t.Errorf("second: %d %s, Retry-After %s", a.Status, a.Body, a.Header.Get("Retry-After"))
	}
}

// What net/http and the kit refuse has the same form.
func TestEveryAnswerIsAnEnvelope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct{ method, path, code string }{
		{"GET", "/api/v1/service/say", "method_not_allowed"},
		{"DELETE", "/api/v1/bridge_platform/agent/resolve", "method_not_allowed"},
		{"POST", "/api/", "no_such_path"},
		{"POST", "/api", "no_such_path"},
		{"POST", "//api/v1/service/say", "no_such_path"},
		{"POST", "/api/v1//service/say", "no_such_path"},
		{"POST", "/api/v1/x/../service/say", "no_such_path"},
		{"POST", "/api/v1/service%2Fsay", "no_such_path"},
		{"POST", "/api/v1/service/say/", "no_such_path"},
		{"GET", "/api/v1/a/b/c/d", "no_such_path"},
		{"POST", "/api/v1/service/say", "invalid_token"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, w.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.site.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var e sites.Envelope
		err = json.NewDecoder(resp.Body).Decode(&e)
		resp.Body.Close()
		if err != nil || e.OK || e.Error == nil || e.Error.Code != c.code || e.Meta.RequestID == "" {
			t.Errorf("%s %s: %d %+v (%v), want %s", c.method, c.path, resp.StatusCode, e, err, c.code)
		}
	}
}

// A repeat while the first call is under way waits for it: one call, one unit.
func TestADoubleClickIsOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.service.hold()
	answers := make(chan baresite.Answer, 2)
	for range 2 {
		go func() {
			a, err := w.site.Send(t.Context(), baresite.Request{Path: "/api/v1/service/say", Scope: "app:service:say", Key: "click", Body: []byte(`{"word":"hello"}`)})
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
	}
	waittest.For(t, 10*time.Second, "a call reaches the service", func() (bool, bool) { n := w.service.calls.Load(); return true, n > 0 })
	release()
	first, second := <-answers, <-answers
	if !first.OK || !second.OK || first.Meta.Replayed == second.Meta.Replayed {
		t.Errorf("got %s and %s", first.Body, second.Body)
	}
	if n := w.service.calls.Load(); n != 1 {
		t.Errorf("the service was called %d times", n)
	}
}
