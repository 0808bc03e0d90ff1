package operators_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/site"
	"interlock/internal/problem"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/tenant"
)

// app is the one that the world's server has.
const app = "abn_lookup"

var thousand = operators.EnableApp{Quota: operators.Quota{Limit: 1000, Window: "day"}}

func ptr[T any](v T) *T { return &v }

// keyPair is one for all tests of a process: making one takes a second.
var keyPair = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func publicDER(t *testing.T) []byte {
	t.Helper()
	return try(x509.MarshalPKIXPublicKey(&keyPair().PublicKey))(t)
}

func publicPEM(t *testing.T) string {
	t.Helper()
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER(t)}))
}

// tenant makes a tenant that may use the app, and returns an operator of it.
func (w *world) tenant(id string) *world {
	w.t.Helper()
	w.must("POST", operators.PathTenants, operators.NewTenant{ID: id, Name: "Tenant " + id, Subscription: &operators.Subscription{Plan: "basic"}}, nil)
	w.must("PUT", operators.TenantAppPath(id, app), thousand, nil)
	var token operators.TokenReply
	w.must("POST", operators.PathTokens+"?tenant="+id, operators.NewToken{Name: "of " + id}, &token)
	own := *w
	own.token, own.tokenID = token.Value.Reveal(), token.ID
	return &own
}

// site registers a site of a tenant.
func (w *world) site(of string) operators.Site {
	w.t.Helper()
	var s operators.Site
	w.must("POST", operators.TenantPath(of, "sites"), operators.NewSite{Name: of + ".example"}, &s)
	return s
}

// facts lists the actions of a tenant's chain, with who did each.
func (w *world) facts(of string) []string {
	w.t.Helper()
	var out []string
	for cursor := ""; ; {
		var page operators.AuditPage
		w.must("GET", operators.PathAudit+"?limit=3&tenant="+of+"&cursor="+cursor, nil, &page)
		for _, e := range page.Entries {
			out = append(out, e.Action+" by "+e.Actor)
		}
		if cursor = page.NextCursor; cursor == "" {
			return out
		}
	}
}

// R-GOV-0, R-BRIDGE-5
func TestEveryChangeOfATenantIsAFactOfItsOwnChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant("acme")
	s := w.site("acme")
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Name: ptr("Acme Pty Ltd")}},
		{"PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Suspended: ptr(true)}},
		{"PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Suspended: ptr(false)}},
		{"PUT", operators.TenantPath("acme", "subscription"), operators.Subscription{Plan: "gold"}},
		{"PUT", operators.TenantAppPath("acme", app), operators.EnableApp{Quota: operators.Quota{Limit: 5, Window: "hour"}}},
		{"PATCH", operators.SitePath("acme", s.ID, ""), operators.SiteChange{PerMinute: ptr(7), Disabled: ptr(true)}},
		{"PATCH", operators.SitePath("acme", s.ID, ""), operators.SiteChange{Disabled: ptr(false)}},
		{"POST", operators.SitePath("acme", s.ID, "keys"), operators.NewSiteKey{PEM: publicPEM(t), KID: "k"}},
		{"DELETE", operators.SiteKeyPath("acme", s.ID, "k"), nil},
		{"PUT", operators.CredentialPath("acme", app), operators.SetCredential{Value: secret.Expose(secret.New("guid"))}},
		{"DELETE", operators.CredentialPath("acme", app), nil},
		{"DELETE", operators.TenantAppPath("acme", app), nil},
		{"DELETE", operators.TenantPath("acme", "subscription"), nil},
	} {
		w.must(c.method, c.path, c.body, nil)
	}
	want := []string{"tenant.create", "app.enable", "token.create", "site.create", "tenant.change", "tenant.suspend", "tenant.resume", "subscription.set",
		"quota.set", "site.change", "site.disable", "site.enable", "site_key.add", "site_key.disable", "credential.set", "credential.delete", "app.disable", "subscription.end"}
	for i := range want {
		want[i] += " by token:" + w.tokenID
	}
	if got := w.facts("acme"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the facts\n%q, want\n%q", got, want)
	}
	var verdict operators.AuditVerdict
	w.must("GET", operators.PathAuditVerify+"?tenant=acme", nil, &verdict)
	if !verdict.Valid || verdict.Entries != int64(len(want)) {
		t.Errorf("got the verdict %+v, want a whole chain of %d", verdict, len(want))
	}
}

// R-GOV-4
func TestAnOperatorOfATenantReachesThatOneAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acme, other := w.tenant("acme"), w.tenant("other")
	foreign := w.site("other")
	w.must("POST", operators.SitePath("other", foreign.ID, "keys"), operators.NewSiteKey{PEM: publicPEM(t), KID: "k"}, nil)

	bodies := map[string]string{
		"change-tenant": `{"name":"x"}`, "set-subscription": `{"plan":"x"}`, "enable-app": `{"quota":{"limit":1,"window":"day"}}`, "create-site": `{"name":"x"}`,
		"change-site": `{"name":"x"}`, "add-site-key": `{"pem":"x"}`, "set-credential": `{"value":"x"}`, "create-tenant": `{"id":"x","name":"x"}`,
		"purge-abn": `{}`, "create-token": `{"name":"x"}`,
	}
	ask := func(o operation, path string) problem.Problem {
		t.Helper()
		var body []byte
		if b, ok := bodies[o.id]; ok {
			body = []byte(b)
		}
		res, out := acme.send(o.method, path, body, nil)
		return problemOf(t, res, out)
	}
	before := w.facts("other")
	reached := 0
	for _, o := range described(t) {
		path := strings.NewReplacer("{app}", app, "{site}", foreign.ID, "{kid}", "k", "{id}", other.tokenID).Replace(o.path)
		switch {
		case strings.Contains(o.path, "{tenant}"):
		case slices.Contains([]string{"list-audit", "verify-audit", "query-usage", "create-token", "list-tokens", "revoke-token"}, o.id):
			path += "?tenant={tenant}"
		default:
			continue
		}
		reached++
		there, nowhere := ask(o, strings.ReplaceAll(path, "{tenant}", "other")), ask(o, strings.ReplaceAll(path, "{tenant}", "nowhere"))
		if there.Status != 404 || there.Code != "tenant_not_found" || there.Detail != nowhere.Detail || there.Code != nowhere.Code {
			t.Errorf("%s %s: got %d %s %q, and %s %q for a tenant that is not there", o.method, o.path, there.Status, there.Code, there.Detail, nowhere.Code, nowhere.Detail)
		}
	}
	if reached < 20 {
		t.Errorf("only %d operations were tried", reached)
	}
	if after := w.facts("other"); len(after) != len(before) {
		t.Errorf("the other tenant was changed: %q", after[len(before):])
	}
	// A site of the other tenant is not to be had through its own either.
	for _, method := range []string{"GET", "PATCH"} {
		res, out := acme.send(method, operators.SitePath("acme", foreign.ID, ""), map[string][]byte{"PATCH": []byte(`{"name":"x"}`)}[method], nil)
		if p := problemOf(t, res, out); p.Status != 404 || p.Code != "site_not_found" {
			t.Errorf("%s of the other's site: got %d %s", method, p.Status, p.Code)
		}
	}
	var page operators.TenantPage
	acme.must("GET", operators.PathTenants, nil, &page)
	if len(page.Tenants) != 1 || page.Tenants[0].ID != "acme" {
		t.Errorf("got the tenants %+v, want its own", page.Tenants)
	}
}

// R-GOV-4
func TestATenantDoesNotChangeWhatItMayUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acme := w.tenant("acme")
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", operators.PathTenants, operators.NewTenant{ID: "second", Name: "x"}},
		{"PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Suspended: ptr(false)}},
		{"PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Name: ptr("x"), Suspended: ptr(true)}},
		{"PUT", operators.TenantPath("acme", "subscription"), operators.Subscription{Plan: "gold"}},
		{"DELETE", operators.TenantPath("acme", "subscription"), nil},
		{"PUT", operators.TenantAppPath("acme", app), operators.EnableApp{Quota: operators.Quota{Limit: 1_000_000, Window: "hour"}}},
		{"DELETE", operators.TenantAppPath("acme", app), nil},
		{"POST", operators.PathCredentialsRotate, nil},
		{"POST", operators.PathABNPurge, operators.PurgeABN{}},
	} {
		if p := acme.refused(c.method, c.path, c.body); p.Status != 403 || p.Code != "platform_only" {
			t.Errorf("%s %s: got %d %s, want 403 platform_only", c.method, c.path, p.Status, p.Code)
		}
	}
	if len(w.purged) != 0 {
		t.Errorf("purged %v", w.purged)
	}
	// The rest of what is its own is its own.
	s := acme.site("acme")
	acme.must("PATCH", operators.SitePath("acme", s.ID, ""), operators.SiteChange{Disabled: ptr(true)}, nil)
	acme.must("PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Policy: &operators.PolicyRules{MaxRisk: "low"}}, nil)
	acme.must("PUT", operators.CredentialPath("acme", app), operators.SetCredential{Value: secret.Expose(secret.New("guid"))}, nil)
	facts := acme.facts("")
	if last := facts[len(facts)-1]; last != "credential.set by token:"+acme.tokenID {
		t.Errorf("its last fact is %q, want its own", last)
	}
}

func TestATenantIsShownAsItStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant("acme")
	var after operators.Tenant
	rules := operators.PolicyRules{Revision: "mine", MaxRisk: "low", AllowedTools: []string{app + "__lookup_v1"}, AllowedPackages: []string{app}}
	w.must("PATCH", operators.TenantPath("acme", ""), operators.TenantChange{Policy: &rules, KeepInstructions: ptr(true)}, &after)
	if p := after.Policy; p.MaxRisk != "low" || len(p.AllowedTools) != 1 || len(p.AllowedPackages) != 1 || p.Revision == "" || p.Revision == "mine" {
		t.Errorf("got the policy %+v, want the rules with a revision of their own", p)
	}
	if after.Name != "Tenant acme" || !after.KeepInstructions || !after.SuspendedAt.IsZero() {
		t.Errorf("got %+v, want what was not named unchanged", after)
	}
	var s operators.TenantStanding
	w.must("GET", operators.TenantPath("acme", ""), nil, &s)
	if s.Subscription == nil || s.Subscription.Plan != "basic" || !s.Subscription.Active || !s.Subscription.EndsAt.IsZero() {
		t.Errorf("got the subscription %+v", s.Subscription)
	}
	if len(s.Apps) != 1 || s.Apps[0].App != app || s.Apps[0].Quota != thousand.Quota || s.Apps[0].Used != 0 || s.Apps[0].Remaining != 1000 || !s.Apps[0].ResetsAt.After(time.Now()) {
		t.Errorf("got the apps %+v", s.Apps)
	}
	var over operators.Subscription
	w.must("PUT", operators.TenantPath("acme", "subscription"), operators.Subscription{Plan: "trial", StartsAt: time.Now().Add(-48 * time.Hour), EndsAt: time.Now().Add(-time.Hour)}, &over)
	if over.Active || over.Plan != "trial" {
		t.Errorf("got %+v, want one that is over", over)
	}
	w.must("DELETE", operators.TenantPath("acme", "subscription"), nil, nil)
	w.must("DELETE", operators.TenantAppPath("acme", app), nil, nil)
	var bare operators.TenantStanding
	w.must("GET", operators.TenantPath("acme", ""), nil, &bare)
	if bare.Subscription != nil || len(bare.Apps) != 0 {
		t.Errorf("got %+v and %+v, want neither a subscription nor an app", bare.Subscription, bare.Apps)
	}
	if p := w.refused("DELETE", operators.TenantAppPath("acme", app), nil); p.Status != 404 {
		t.Errorf("disabled twice: got %d %s, want 404", p.Status, p.Code)
	}
}

func TestListsOfTheBridgeComeInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		w.must("POST", operators.PathTenants, operators.NewTenant{ID: id, Name: id}, nil)
		w.site("a")
	}
	var tenants, sites []string
	for cursor := ""; ; {
		var page operators.TenantPage
		w.must("GET", operators.PathTenants+"?limit=2&cursor="+cursor, nil, &page)
		for _, k := range page.Tenants {
			tenants = append(tenants, k.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	for cursor := ""; ; {
		var page operators.SitePage
		w.must("GET", operators.TenantPath("a", "sites")+"?limit=1&cursor="+cursor, nil, &page)
		for _, s := range page.Sites {
			sites = append(sites, s.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if fmt.Sprint(tenants) != "[a b c default]" || len(sites) != 3 || len(slices.Compact(sites)) != 3 {
		t.Errorf("got the tenants %v and the sites %v, want each once", tenants, sites)
	}
	var whole operators.SitePage
	w.must("GET", operators.TenantPath("a", "sites")+"?limit=3", nil, &whole)
	if len(whole.Sites) != 3 || whole.NextCursor != "" {
		t.Errorf("a page that holds all: got %d and the cursor %q", len(whole.Sites), whole.NextCursor)
	}
}

// R-BRIDGE-1
func TestASiteCallsWithAKeyThatIsRegisteredHere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant("acme")
	s := w.site("acme")
	if s.Tenant != "acme" || s.PerMinute == 0 || s.Burst == 0 || len(s.Keys) != 0 {
		t.Errorf("got the site %+v", s)
	}
	signer := site.Signer{Key: keyPair(), KID: "2026", Issuer: site.ID(s.ID), Subject: tenant.ID("acme"), Audience: audience}
	calls := func() error {
		_, err := w.sites.Authenticate(t.Context(), try(signer.Token("platform:agent:invoke", time.Now()))(t))
		return err
	}
	if calls() == nil {
		t.Error("it calls without a key")
	}
	var k operators.SiteKey
	w.must("POST", operators.SitePath("acme", s.ID, "keys"), operators.NewSiteKey{PEM: publicPEM(t), KID: "2026", NotAfter: time.Now().Add(time.Hour)}, &k)
	sum := sha256.Sum256(publicDER(t))
	if k.State != "active" || k.Bits != 2048 || k.SHA256 != hex.EncodeToString(sum[:]) || k.NotAfter.IsZero() {
		t.Errorf("got the key %+v", k)
	}
	if err := calls(); err != nil {
		t.Errorf("with its key: %v", err)
	}
	var off, on, after operators.Site
	w.must("PATCH", operators.SitePath("acme", s.ID, ""), operators.SiteChange{Disabled: ptr(true)}, &off)
	if off.DisabledAt.IsZero() || calls() == nil {
		t.Errorf("a disabled site calls: %+v", off)
	}
	w.must("PATCH", operators.SitePath("acme", s.ID, ""), operators.SiteChange{Disabled: ptr(false), Name: ptr("new.example")}, &on)
	if err := calls(); err != nil || on.Name != "new.example" || !on.DisabledAt.IsZero() {
		t.Errorf("enabled again: %v, %+v", err, on)
	}
	w.must("DELETE", operators.SiteKeyPath("acme", s.ID, "2026"), nil, nil)
	if calls() == nil {
		t.Error("it calls with a disabled key")
	}
	jwk := fmt.Sprintf(`{"kty":"RSA","e":"AQAB","n":%q,"kid":"2027"}`, base64.RawURLEncoding.EncodeToString(keyPair().N.Bytes()))
	w.must("POST", operators.SitePath("acme", s.ID, "keys"), operators.NewSiteKey{JWK: []byte(jwk), NotBefore: time.Now().Add(time.Hour)}, &k)
	w.must("GET", operators.SitePath("acme", s.ID, ""), nil, &after)
	if len(after.Keys) != 2 || after.Keys[0].State != "disabled" || after.Keys[1].State != "pending" || after.Keys[1].KID != "2027" || after.Keys[1].SHA256 != after.Keys[0].SHA256 {
		t.Errorf("got the keys %+v, want a disabled one and one whose time has not come", after.Keys)
	}
}

// R-BRIDGE-2
func TestTheAppsAreShownWithAllThatGovernsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var list operators.AppList
	w.must("GET", operators.PathApps, nil, &list)
	if len(list.Apps) != 1 || list.Apps[0].ID != app || len(list.Apps[0].Operations) != 1 {
		t.Fatalf("got %+v, want the one app", list.Apps)
	}
	o := list.Apps[0].Operations[0]
	if o.Name != "lookup_v1" || o.Capability != "business.au.abn.lookup" || o.Scope != "app:abn_lookup:lookup_v1" || o.Tool != "abn_lookup__lookup_v1" ||
		o.Risk != "low" || o.Confirm || !o.ReadOnly || !o.AgentVisible {
		t.Errorf("got %+v", o)
	}
	if !strings.Contains(string(o.Arguments), `"abn"`) || len(o.Result) == 0 {
		t.Errorf("got the schemas %s and %s", o.Arguments, o.Result)
	}
}

// R-BRIDGE-5
func TestACredentialIsNeverShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const canary = "canary-guid-5f0f3f2e"
	path := operators.CredentialPath("default", app)
	w.must("PUT", path, operators.SetCredential{Value: secret.Expose(secret.New(canary))}, nil)
	var list operators.CredentialList
	w.must("GET", operators.TenantPath("default", "credentials"), nil, &list)
	if len(list.Credentials) != 1 || list.Credentials[0].App != app || list.Credentials[0].Revision != 1 || list.Credentials[0].SetBy != "token:"+w.tokenID {
		t.Errorf("got %+v", list.Credentials)
	}
	var shown strings.Builder
	for _, c := range []struct{ method, path, body string }{
		{"GET", operators.TenantPath("default", "credentials"), ""},
		{"GET", operators.PathAudit, ""},
		{"PUT", path, `{"value":["` + canary + `"]}`},
		{"PUT", path, `{"value":"` + canary + `","value":"` + canary + `"}`},
		{"PUT", path, `{"value":"` + canary + `\n"x`},
		{"PUT", path, `{"value":"` + canary + strings.Repeat("x", 5000) + `"}`},
		{"PUT", path, `{"value":"` + canary + `","more":1}`},
		{"PUT", path, `{"value":" ` + canary + `"}`},
		{"PUT", operators.CredentialPath("default", "no_app"), `{"value":"` + canary + `"}`},
		{"PUT", operators.CredentialPath("nowhere", app), `{"value":"` + canary + `"}`},
		{"POST", operators.PathCredentialsRotate, ""},
	} {
		_, out := w.send(c.method, c.path, []byte(c.body)[:len(c.body):len(c.body)], nil)
		shown.Write(out)
	}
	if strings.Contains(shown.String(), canary) {
		t.Errorf("an answer shows the credential: %s", shown.String())
	}
	if strings.Contains(w.log.String(), canary) {
		t.Error("the log shows the credential")
	}
}

func TestAPurgeForgetsOneAnswerOrAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var r operators.PurgeABNReply
	w.must("POST", operators.PathABNPurge, operators.PurgeABN{ABN: "51824753556"}, &r)
	w.must("POST", operators.PathABNPurge, operators.PurgeABN{}, nil)
	w.must("POST", operators.PathABNPurge, nil, nil)
	if want := []abn.Number{try(abn.Parse("51824753556"))(t), {}, {}}; !slices.Equal(w.purged, want) || r.Purged != 1 {
		t.Errorf("purged %v and told of %d, want %v", w.purged, r.Purged, want)
	}
	if p := w.refused("POST", operators.PathABNPurge, operators.PurgeABN{ABN: "51824753557"}); p.Status != 400 || p.Code != "abn_checksum" {
		t.Errorf("a number that is no ABN: got %d %s", p.Status, p.Code)
	}
}

func TestAServerWithoutAKeysetOrACacheSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *operators.Config) { c.Credentials, c.PurgeABN = nil, nil })
	for _, c := range []struct {
		method, path string
		body         any
		code, says   string
	}{
		{"GET", operators.TenantPath("default", "credentials"), nil, "keyset_not_configured", "interlock credential keyset new"},
		{"PUT", operators.CredentialPath("default", app), operators.SetCredential{Value: secret.Expose(secret.New("x"))}, "keyset_not_configured", "INTERLOCK_KEYSET_FILE"},
		{"DELETE", operators.CredentialPath("default", app), nil, "keyset_not_configured", "INTERLOCK_KEYSET_FILE"},
		{"POST", operators.PathCredentialsRotate, nil, "keyset_not_configured", "INTERLOCK_KEYSET_FILE"},
		{"POST", operators.PathABNPurge, nil, "nothing_cached", "nothing to purge"},
	} {
		if p := w.refused(c.method, c.path, c.body); p.Status != 409 || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s: got %d %s %q, want 409 %s", c.method, c.path, p.Status, p.Code, p.Detail, c.code)
		}
	}
}

// R-BRIDGE-5
func TestWhatSitesCalledIsListedAndCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant("acme")
	w.must("PUT", operators.TenantAppPath("acme", app), operators.EnableApp{Quota: operators.Quota{Limit: 2, Window: "month"}}, nil)
	first, second := w.site("acme"), w.site("acme")
	call := func(from operators.Site, arguments string) {
		who := site.Caller{Tenant: "acme", Site: site.ID(from.ID), Scopes: []string{"app:abn_lookup:lookup_v1"}}
		w.gateway.Call(t.Context(), who, gateway.Request{App: app, Operation: "lookup_v1", Arguments: []byte(arguments), Key: fmt.Sprint("k", keys.Add(1)), RequestID: "r-1"})
	}
	call(first, `{"abn":"51824753556"}`)
	call(first, `{"abn":"51824753557"}`)
	call(second, `{"abn":"51824753556"}`)
	call(second, `{"abn":"88000014675"}`)

	list := func(query string) (verdicts []string) {
		for cursor := ""; ; {
			var page operators.CallPage
			w.must("GET", operators.TenantPath("acme", "calls")+"?limit=1&cursor="+cursor+query, nil, &page)
			for _, c := range page.Calls {
				verdicts = append(verdicts, c.Verdict)
				if c.App != app || c.Operation != "lookup_v1" || c.RequestID != "r-1" || c.IdempotencyKey == "" || c.OpenedAt.IsZero() || c.Charged != (c.Verdict == "ok") {
					t.Errorf("got the call %+v", c)
				}
			}
			if cursor = page.NextCursor; cursor == "" {
				return verdicts
			}
		}
	}
	for query, want := range map[string]string{
		"":                                   "[quota_exceeded ok invalid_arguments ok]",
		"&site_id=" + first.ID:               "[invalid_arguments ok]",
		"&verdict=ok":                        "[ok ok]",
		"&app=other":                         "[]",
		"&verdict=ok&site_id=" + second.ID:   "[ok]",
		"&site_id=' OR '1'='1":               "[]",
		"&verdict=%25&app=" + app + "%00":    "[]",
		"&site_id=site_0123456789abcdef":     "[]",
		"&verdict=quota_exceeded&app=" + app: "[quota_exceeded]",
	} {
		if got := fmt.Sprint(list(strings.ReplaceAll(query, " ", "%20"))); got != want {
			t.Errorf("%q: got %s, want %s", query, got, want)
		}
	}
	var s operators.TenantStanding
	w.must("GET", operators.TenantPath("acme", ""), nil, &s)
	if s.Apps[0].Used != 2 || s.Apps[0].Remaining != 0 {
		t.Errorf("got the meter %+v, want both units used", s.Apps[0])
	}
	var other operators.CallPage
	w.must("GET", operators.TenantPath("default", "calls"), nil, &other)
	if len(other.Calls) != 0 {
		t.Errorf("another tenant has the calls %+v", other.Calls)
	}
}

// R-BRIDGE-1
func TestWhatInstructionsBecameIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant("acme")
	who := site.Caller{Tenant: "acme", Site: site.ID(w.site("acme").ID), Scopes: []string{resolve.Scope}}
	const hidden, kept = "Check whether ABN 51824753556 is registered.", "Is there anything to know?"
	try(w.resolver.Resolve(t.Context(), who, "r-1", hidden))(t)
	w.must("PATCH", operators.TenantPath("acme", ""), operators.TenantChange{KeepInstructions: ptr(true)}, nil)
	try(w.resolver.Resolve(t.Context(), who, "r-2", kept))(t)
	var page, rest operators.ResolutionPage
	w.must("GET", operators.TenantPath("acme", "resolutions")+"?limit=1&site_id="+string(who.Site), nil, &page)
	w.must("GET", operators.TenantPath("acme", "resolutions")+"?limit=1&cursor="+page.NextCursor, nil, &rest)
	if len(page.Resolutions) != 1 || len(rest.Resolutions) != 1 || page.NextCursor == "" || rest.NextCursor != "" {
		t.Fatalf("got the pages %+v and %+v, want one each", page, rest)
	}
	if r := page.Resolutions[0]; r.Instruction != kept || r.Reason != "no_match" || r.Capability != "" || r.RequestID != "r-2" {
		t.Errorf("got %+v, want the words and no match", r)
	}
	sum := sha256.Sum256([]byte(hidden))
	if r := rest.Resolutions[0]; r.Instruction != "" || r.InstructionSHA256 != hex.EncodeToString(sum[:]) || r.Selector != "deterministic_v1" ||
		r.Capability != "business.au.abn.lookup" || r.App != app || r.Operation != "lookup_v1" || r.Reason != "" || r.Effect != "allow" || r.PolicyRevision == "" {
		t.Errorf("got %+v, want the hash and the proposal", r)
	}
}
