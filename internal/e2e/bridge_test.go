package e2e_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/baresite"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/site"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/tenant"
	"interlock/internal/waittest"
)

// example is the instruction of the document that asked for the Bridge.
const example = "Check whether ABN 51824753556 is registered."

// siteKey is one RSA key for all sites of these tests: making one takes long.
var siteKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// site lets a new site of a new tenant in, as an operator does, with so many
// calls of the ABN app a month.
func (w *world) site(of string, quota int64) *baresite.Site {
	w.t.Helper()
	w.must(http.MethodPost, operators.PathTenants, operators.NewTenant{ID: of, Name: of, Subscription: &operators.Subscription{Plan: "basic"}}, nil)
	w.must(http.MethodPut, operators.TenantAppPath(of, "abn_lookup"), operators.EnableApp{Quota: operators.Quota{Limit: quota, Window: "month"}}, nil)
	var made operators.Site
	w.must(http.MethodPost, operators.TenantPath(of, "sites"), operators.NewSite{Name: of + ".example", PerMinute: 1_000_000, Burst: 100_000}, &made)
	s := site.Signer{Key: siteKey(), KID: "k1", Issuer: site.ID(made.ID), Subject: tenant.ID(of), Audience: "interlock"}
	public, err := s.PublicPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	w.must(http.MethodPost, operators.SitePath(of, made.ID, "keys"), operators.NewSiteKey{PEM: public, KID: "k1"}, nil)
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &baresite.Site{URL: w.url, Client: &http.Client{Transport: transport}, Signer: s, Now: w.clock.Now}
}

// calls reads all call records of a tenant.
func (w *world) calls(of string) []operators.Call {
	w.t.Helper()
	var all []operators.Call
	for cursor := ""; ; {
		var page operators.CallPage
		w.must(http.MethodGet, operators.TenantPath(of, "calls")+"?limit=200&cursor="+cursor, nil, &page)
		all = append(all, page.Calls...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

func fromSample(c *app.ServerConfig) { c.Bridge.ABN.Source = app.ABNSample }

// R-BRIDGE-1, R-BRIDGE-4, R-GOV-0: from an operator's first command to the
// answer, with every step on record.
func TestASitesInstructionIsAnswered(t *testing.T) {
	t.Parallel()
	w := start(t, fromSample)
	s := w.site("acme", 10)
	proposed, err := s.Resolve(t.Context(), example)
	if err != nil || !proposed.OK {
		t.Fatalf("resolve: %v %s", err, proposed.Body)
	}
	if calls := w.calls("acme"); len(calls) != 0 {
		t.Errorf("resolve ran something: %+v", calls)
	}
	answer, err := s.Lookup(t.Context(), "51824753556", "click")
	if err != nil || !answer.OK || !bytes.Contains(answer.Data, []byte(`"registered":true`)) {
		t.Fatalf("lookup: %v %s", err, answer.Body)
	}
	calls := w.calls("acme")
	if len(calls) != 1 || calls[0].Verdict != "ok" || calls[0].RequestID != answer.Meta.RequestID || string(calls[0].Arguments) != `{"abn":"51824753556"}` {
		t.Errorf("calls: %+v", calls)
	}
	var resolutions operators.ResolutionPage
	w.must(http.MethodGet, operators.TenantPath("acme", "resolutions"), nil, &resolutions)
	if r := resolutions.Resolutions; len(r) != 1 || r[0].RequestID != proposed.Meta.RequestID || r[0].Selector != "deterministic_v1" || r[0].Instruction != "" {
		t.Errorf("resolutions: %+v", r)
	}
	if status, metrics := w.operator(http.MethodGet, "/metrics", nil, nil); status != 200 ||
		!strings.Contains(string(metrics), `interlock_site_calls_total{verdict="ok"} 1`) || !strings.Contains(string(metrics), `interlock_resolutions_total{outcome="resolved"} 1`) {
		t.Errorf("the counters: %d %s", status, metrics)
	}
	var verdict operators.AuditVerdict
	w.must(http.MethodGet, operators.PathAuditVerify+"?tenant=acme", nil, &verdict)
	if !verdict.Valid || verdict.Entries < 4 {
		t.Errorf("the tenant's chain: %+v", verdict)
	}
}

// R-BRIDGE-10: through the whole server, a quota is used up and not exceeded;
// the gateway's own tests have 8,000 calls on a quota of 1,000.
func TestAQuotaIsExact(t *testing.T) {
	t.Parallel()
	const tries, quota, callers = 1600, 200, 64
	w := start(t, func(c *app.ServerConfig) {
		fromSample(c)
		c.Logger = slog.New(slog.DiscardHandler)
	})
	s := w.site("acme", quota)
	var next, done, refused atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for n := next.Add(1); n <= tries; {
				a, err := s.Lookup(t.Context(), "51824753556", fmt.Sprintf("call-%d", n))
				switch {
				case err == nil && a.OK:
					done.Add(1)
				case err == nil && a.Code() == "quota_exceeded":
					refused.Add(1)
				case err == nil && a.Error.Retryable: // the machine is busy: as a site does, the same again
					continue
				default:
					t.Errorf("neither done nor refused for the quota: %v %s", err, a.Body)
					return
				}
				n = next.Add(1)
			}
		})
	}
	wg.Wait()
	var standing operators.TenantStanding
	w.must(http.MethodGet, operators.TenantPath("acme", ""), nil, &standing)
	if done.Load() != quota || refused.Load() != tries-quota || len(standing.Apps) != 1 || standing.Apps[0].Used != quota {
		t.Errorf("%d done and %d refused of %d, want %d done; the standing says %+v", done.Load(), refused.Load(), tries, quota, standing.Apps)
	}
}

// R-BRIDGE-5: a server that is killed at any moment has a record, and a unit of
// the quota, for every call that it answered, and no quota is exceeded.
func TestAKilledServerHasEveryCallItAnswered(t *testing.T) {
	t.Parallel()
	const callers, quota = 8, 100_000
	u := startUpstream(t, 0)
	srv := newServer(t, u)
	srv.settings["INTERLOCK_ABN_SOURCE"] = "sample"
	srv.start()
	t.Cleanup(func() { srv.kill() })
	w := &world{t: t, url: srv.url, token: srv.token(), clock: &clock{}, log: srv.log}
	s := w.site("acme", quota)
	var mu sync.Mutex
	answered := map[string]bool{} // by request id; guarded by mu
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				// What failed is a repeat with the same key next time round.
				a, err := s.Lookup(t.Context(), "51824753556", fmt.Sprintf("key-%d-%d", i, n))
				if err != nil || !a.OK {
					n--
					continue
				}
				mu.Lock()
				answered[a.Meta.RequestID] = true
				mu.Unlock()
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(answered) }
	for k := range kills {
		goal := count() + 1 + k*7%40
		waittest.For(t, 60*time.Second, "more calls are answered", func() (int, bool) { n := count(); return n, n >= goal })
		srv.kill()
		srv.start()
	}
	close(stop)
	wg.Wait()
	recorded, charged := map[string]bool{}, int64(0)
	keys := map[string]int{}
	for _, c := range w.calls("acme") {
		recorded[c.RequestID] = true
		if c.Charged {
			charged++
			keys[c.IdempotencyKey]++
		}
	}
	mu.Lock()
	defer mu.Unlock()
	missing := 0
	for id := range answered {
		if !recorded[id] {
			missing++
		}
	}
	var standing operators.TenantStanding
	w.must(http.MethodGet, operators.TenantPath("acme", ""), nil, &standing)
	for key, n := range keys {
		if n != 1 {
			t.Errorf("the key %s has %d charged records", key, n)
		}
	}
	// A replay's answer has a request id of its own and no record of its own.
	if replays := missing; replays > kills*callers {
		t.Errorf("%d answered calls have no record, more than could be repeats", replays)
	}
	if standing.Apps[0].Used != charged || int64(len(keys)) != charged {
		t.Errorf("the quota has %d units used and %d records are charged", standing.Apps[0].Used, charged)
	}
	t.Logf("%d calls answered over %d kills, %d of them repeats", len(answered), kills, missing)
}

// R-BRIDGE-6, R-BRIDGE-8: the GUID and the site's tokens are nowhere, whatever
// the register does.
func TestTheRegistersCredentialIsNowhere(t *testing.T) {
	t.Parallel()
	const guid = "7c0ffee1-cafe-4bad-a55e-0ddba11dec0d"
	register := abrtest.New(t, guid)
	register.Enter(abrtest.Entity{ABN: "51824753556", Status: "Active", StatusFrom: "1999-11-01", Name: "O'BRIEN & SONS \u00c9CLAIR (AUST)", TypeCode: "PRV", TypeName: "Australian Private Company", State: "NSW", Postcode: "2640"})
	register.Behave("53004085616", abrtest.Page())
	register.Behave("48123123124", abrtest.Redirect("http://127.0.0.1:1/?guid="+guid))
	register.Behave("49004028077", abrtest.Refuse(abrtest.Unrecognised))
	register.Behave("33051775556", abrtest.Status(500, "text/plain", "trouble with guid "+guid))
	keyset := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := credential.CreateKeyset(keyset, time.Now()); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *app.ServerConfig) {
		c.Bridge.KeysetFile = keyset
		c.Bridge.ABN = app.ABN{Source: app.ABNWeb, BaseURL: register.URL}
	})
	s := w.site("acme", 100)
	var answers bytes.Buffer
	look := func(abn string, status int, code string) {
		t.Helper()
		a, err := s.Lookup(t.Context(), abn, "")
		if err != nil || a.Status != status || a.Code() != code {
			t.Errorf("%s: %d %s (%v), want %d %q", abn, a.Status, a.Body, err, status, code)
		}
		answers.Write(a.Body)
		fmt.Fprint(&answers, a.Header)
	}
	look("51824753556", 424, "credential_missing")
	_, reply := w.operator(http.MethodPut, operators.CredentialPath("acme", "abn_lookup"), operators.SetCredential{Value: secret.Expose(secret.New(guid))}, nil)
	answers.Write(reply)
	look("51824753556", 200, "")
	look("88000014675", 200, "") // no record
	look("53004085616", 502, "upstream_unavailable")
	look("48123123124", 502, "upstream_unavailable")
	look("33051775556", 502, "upstream_unavailable")
	look("49004028077", 502, "credential_rejected")
	for _, path := range []string{"credentials", "calls", "resolutions", "sites"} {
		_, reply := w.operator(http.MethodGet, operators.TenantPath("acme", path), nil, nil)
		answers.Write(reply)
	}
	_, reply = w.operator(http.MethodGet, operators.PathAudit+"?tenant=acme&limit=200", nil, nil)
	answers.Write(reply)
	if !strings.Contains(answers.String(), `O'BRIEN`) || !strings.Contains(answers.String(), "\u00c9CLAIR") {
		t.Errorf("the names did not come through: %s", answers.String())
	}
	w.stop()
	needles := append(forms("the GUID", guid), forms("the GUID in capitals", strings.ToUpper(guid))...)
	needles = append(needles, canary{"a site's token", []byte("eyJ")})
	search(t, needles, append(databaseFiles(t, w.database), haystack{"the log", []byte(w.log.String())}, haystack{"the answers", answers.Bytes()}))
}

// hallucinator is a model that always proposes the same ABN.
func hallucinator(t *testing.T, abn string) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		content, err := json.Marshal(fmt.Sprintf(`{"choice":{"tool":"abn_lookup__lookup_v1","arguments":{"abn":%q}}}`, abn))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"m-2","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s,"refusal":null}}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`, content)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

// R-BRIDGE-7: a model is asked last, trusted never, capped and metered.
func TestAModelCannotInventACall(t *testing.T) {
	t.Parallel()
	url, asked := hallucinator(t, "53004085616")
	w := start(t, func(c *app.ServerConfig) {
		fromSample(c)
		c.Bridge.Selector = app.Selector{Enabled: true, Provider: app.OpenAI, Model: "m-2", Key: secret.New("sk-test-selector-00"), BaseURL: url, CallsPerDay: 2}
	})
	s := w.site("acme", 100)
	reason := func(instruction string) string {
		t.Helper()
		a, err := s.Resolve(t.Context(), instruction)
		if err != nil || !a.OK {
			t.Fatalf("%q: %v %s", instruction, err, a.Body)
		}
		var r struct{ Status, Reason string }
		if err := json.Unmarshal(a.Data, &r); err != nil {
			t.Fatal(err)
		}
		return r.Status + " " + r.Reason
	}
	for _, c := range []struct {
		instruction, want string
		asked             int64
	}{
		{example, "resolved ", 0},
		{"ABN 51824753556 or ABN 88000014675?", "no_matching_tool ambiguous", 0},
		{"Is Bunnings registered?", "no_matching_tool not_in_instruction", 1},
		{"Look up five three zero zero four.", "no_matching_tool not_in_instruction", 2},
		{"Is Telstra registered?", "no_matching_tool selector_capped", 2},
	} {
		if got := reason(c.instruction); got != c.want || asked.Load() != c.asked {
			t.Errorf("%q: %s with %d calls of the model, want %s with %d", c.instruction, got, asked.Load(), c.want, c.asked)
		}
	}
	var report operators.UsageReport
	w.must(http.MethodGet, operators.PathUsage+"?tenant=acme&group=model", nil, &report)
	var log operators.ResolutionPage
	w.must(http.MethodGet, operators.TenantPath("acme", "resolutions")+"?limit=1", nil, &log)
	if len(log.Resolutions) != 1 || log.Resolutions[0].Selector != app.OpenAI {
		t.Errorf("the last to speak: %+v", log.Resolutions)
	}
	if len(report.Rows) != 1 || report.Rows[0].Calls != 2 || report.Rows[0].Input.Total != 200 || report.Rows[0].Model != "m-2" {
		t.Errorf("usage: %+v", report.Rows)
	}
	w.stop()
	if log := w.log.String(); strings.Contains(log, "Bunnings") || strings.Contains(log, "sk-test-selector") || strings.Contains(log, "53004085616") {
		t.Errorf("the log holds an instruction, a key or an argument")
	}
}

// A setting that can't work is refused at the start, with what to do.
func TestABridgeThatCannotWorkDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bridge app.Bridge
		says   string
	}{
		"a selector without a model": {app.Bridge{Selector: app.Selector{Enabled: true}}, "AGENT_LLM_MODEL"},
		"a selector without a key":   {app.Bridge{Selector: app.Selector{Enabled: true, Model: "m"}}, "AGENT_LLM_API_KEY_FILE"},
		"a keyset that is not there": {app.Bridge{KeysetFile: filepath.Join(t.TempDir(), "none.json")}, "keyset new"},
		"an index without a path":    {app.Bridge{ABN: app.ABN{Source: app.ABNIndex}}, "INTERLOCK_ABN_INDEX"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := app.NewServer(t.Context(), app.ServerConfig{Listen: "127.0.0.1:0", Database: filepath.Join(t.TempDir(), "interlock.db"), Bridge: c.bridge})
			if err == nil {
				err = errors.Join(errors.New("it started"), s.Close())
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want it to name %s", err, c.says)
			}
		})
	}
}
