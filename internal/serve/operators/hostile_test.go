package operators_test

import (
	"strings"
	"testing"

	"interlock/internal/serve/operators"
)

// names are what a stranger might send where a name stands in a path.
var names = map[string]string{
	"a way up":               "..%2f..%2fdefault",
	"two dots":               "%2e%2e",
	"one dot":                "%2e",
	"a slash":                "%2f",
	"a zero byte":            "default%00",
	"a byte that is no text": "%ff%fe",
	"a line break":           "default%0aX-Injected:%201",
	"another case":           "Default",
	"a blank":                "%20default",
	"a quote":                "default'%20OR%20'1'='1",
	"a wildcard":             "%25",
	"an endless name":        strings.Repeat("a", 3000),
	"a name of wide letters": "%EF%BD%84efault",
}

// R-BRIDGE-5
func TestANameInAPathIsOnlyEverAName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.site("default")
	w.must("PUT", operators.TenantAppPath("default", app), thousand, nil)
	good := map[string]string{"{tenant}": "default", "{app}": app, "{site}": s.ID, "{kid}": "k"}
	bodies := map[string]string{
		"change-tenant": `{"name":"x"}`, "set-subscription": `{"plan":"x"}`, "enable-app": `{"quota":{"limit":1,"window":"day"}}`, "create-site": `{"name":"x"}`,
		"change-site": `{"name":"x"}`, "add-site-key": `{"pem":"x"}`, "set-credential": `{"value":"x"}`,
	}
	before := len(w.facts("default"))
	tried := 0
	for _, o := range described(t) {
		for place := range good {
			if !strings.Contains(o.path, "{tenant}") || !strings.Contains(o.path, place) {
				continue
			}
			for what, name := range names {
				path := strings.ReplaceAll(o.path, place, name)
				for other, value := range good {
					path = strings.ReplaceAll(path, other, value)
				}
				var body []byte
				if b := bodies[o.id]; b != "" {
					body = []byte(b)
				}
				tried++
				res, out := w.send(o.method, path, body, nil)
				if res.StatusCode < 400 || res.StatusCode >= 500 {
					t.Errorf("%s %s with %s as %s: got %d %s, want a refusal", o.method, o.path, what, place, res.StatusCode, out)
					continue
				}
				if p := problemOf(t, res, out); len(out) > 1000 {
					t.Errorf("%s %s with %s: the refusal %s is long", o.method, o.path, what, p.Code)
				}
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d requests were made", tried)
	}
	if after := w.facts("default"); len(after) != before {
		t.Errorf("something was changed: %q", after[before:])
	}
}

// R-BRIDGE-5
func TestABodyOfTheBridgeThatCannotBeRightIsRefusedWithOneSentence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.site("default")
	own := operators.TenantPath("default", "")
	enable := operators.TenantAppPath("default", app)
	sites, at := operators.TenantPath("default", "sites"), operators.SitePath("default", s.ID, "")
	keyPath, credential := operators.SitePath("default", s.ID, "keys"), operators.CredentialPath("default", app)
	private := "-----BEGIN PRIVATE KEY-----\\n4711\\n-----END PRIVATE KEY-----"
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code, says               string
	}{
		{"a tenant without an id", "POST", operators.PathTenants, `{"name":"x"}`, 400, "invalid_request", "id"},
		{"a tenant whose id is a path", "POST", operators.PathTenants, `{"id":"../x","name":"x"}`, 400, "invalid_tenant", "id"},
		{"a tenant whose id is a number", "POST", operators.PathTenants, `{"id":4711,"name":"x"}`, 400, "invalid_request", "body.id must be a string"},
		{"a tenant with capitals", "POST", operators.PathTenants, `{"id":"Acme4711","name":"x"}`, 400, "invalid_tenant", "id"},
		{"a tenant with an endless id", "POST", operators.PathTenants, `{"id":"` + strings.Repeat("a", 65) + `","name":"x"}`, 400, "invalid_request", "body.id"},
		{"a tenant with an endless name", "POST", operators.PathTenants, `{"id":"x","name":"` + strings.Repeat("a", 101) + `"}`, 400, "invalid_request", "body.name"},
		{"a tenant whose name steers a terminal", "POST", operators.PathTenants, `{"id":"x","name":"\u001b[2J"}`, 400, "invalid_tenant", "name"},
		{"a tenant that is there", "POST", operators.PathTenants, `{"id":"default","name":"x"}`, 409, "tenant_exists", "choose another"},
		{"a subscription without a plan", "POST", operators.PathTenants, `{"id":"x","name":"x","subscription":{}}`, 400, "invalid_request", "plan"},
		{"a risk that is none", "PATCH", own, `{"policy":{"max_risk":"4711"}}`, 400, "invalid_request", "body.policy.max_risk must be one of"},
		{"a list of tools that is text", "PATCH", own, `{"policy":{"allowed_tools":"x"}}`, 400, "invalid_request", "body.policy.allowed_tools must be an array"},
		{"too many tools", "PATCH", own, `{"policy":{"allowed_tools":[` + strings.Repeat(`"a",`, 1000) + `"a"]}}`, 400, "invalid_request", "at most 1000"},
		{"a tool with an endless name", "PATCH", own, `{"policy":{"allowed_tools":["` + strings.Repeat("a", 5000) + `"]}}`, 400, "invalid_policy", ""},
		{"a change of nothing", "PATCH", own, `{}`, 400, "invalid_request", "changes nothing"},
		{"a change of an id", "PATCH", own, `{"id":"x"}`, 400, "invalid_request", "body.id is not known here"},
		{"a suspension that is a word", "PATCH", own, `{"suspended":"yes"}`, 400, "invalid_request", "body.suspended must be true or false"},
		{"no such tenant", "GET", operators.TenantPath("nowhere", ""), "", 404, "tenant_not_found", "interlock tenant list"},
		{"a subscription that ends before it starts", "PUT", own + "/subscription", `{"plan":"x","starts_at":"2027-01-01T00:00:00Z","ends_at":"2026-01-01T00:00:00Z"}`, 400, "invalid_subscription", "ends before"},
		{"a subscription from the year 0", "PUT", own + "/subscription", `{"plan":"x","starts_at":"0000-01-01T00:00:00Z"}`, 400, "invalid_subscription", "years"},
		{"a plan of two words", "PUT", own + "/subscription", `{"plan":"4711 x"}`, 400, "invalid_subscription", "plan"},
		{"an app that is none", "PUT", operators.TenantAppPath("default", "nowhere"), `{"quota":{"limit":1,"window":"day"}}`, 404, "app_not_found", "interlock app list"},
		{"an app that is not enabled", "DELETE", enable, "", 404, "app_not_enabled_here", "not enabled"},
		{"a quota below none", "PUT", enable, `{"quota":{"limit":-1,"window":"day"}}`, 400, "invalid_request", "body.quota.limit must be at least 0"},
		{"a quota beyond all numbers", "PUT", enable, `{"quota":{"limit":9223372036854775808,"window":"day"}}`, 400, "invalid_request", "body.quota.limit"},
		{"a quota of a fraction", "PUT", enable, `{"quota":{"limit":0.5,"window":"day"}}`, 400, "invalid_request", "body.quota.limit"},
		{"a window that is none", "PUT", enable, `{"quota":{"limit":1,"window":"year"}}`, 400, "invalid_request", "body.quota.window must be one of: hour, day, month"},
		{"a quota without a window", "PUT", enable, `{"quota":{"limit":1}}`, 400, "invalid_request", "window"},
		{"a site without a name", "POST", sites, `{"name":""}`, 400, "invalid_request", "body.name"},
		{"a site that calls backwards", "POST", sites, `{"name":"x","per_minute":-1}`, 400, "invalid_request", "body.per_minute"},
		{"a site that calls endlessly", "POST", sites, `{"name":"x","per_minute":1000001}`, 400, "invalid_request", "body.per_minute"},
		{"a site that never calls", "PATCH", at, `{"per_minute":0}`, 400, "invalid_request", "body.per_minute"},
		{"a change of no part of a site", "PATCH", at, `{}`, 400, "invalid_request", "changes nothing"},
		{"no such site", "GET", sites + "/site_0123456789abcdef", "", 404, "site_not_found", "interlock site list"},
		{"a key that is missing", "POST", keyPath, `{}`, 400, "invalid_request", "pem or as jwk"},
		{"a key in two forms", "POST", keyPath, `{"pem":"x","jwk":{}}`, 400, "invalid_request", "pem or as jwk"},
		{"a key that is none", "POST", keyPath, `{"pem":"4711"}`, 400, "invalid_site_key", "PEM"},
		{"a private key", "POST", keyPath, `{"pem":"` + private + `"}`, 400, "private_key", "never leave the site"},
		{"a private key as a JWK", "POST", keyPath, `{"jwk":{"kty":"RSA","n":"AQAB","e":"AQAB","d":"4711"}}`, 400, "private_key", "never leave the site"},
		{"a symmetric key", "POST", keyPath, `{"jwk":{"kty":"oct","k":"4711"}}`, 400, "private_key", "never leave the site"},
		{"a key with an endless kid", "POST", keyPath, `{"pem":"x","kid":"` + strings.Repeat("k", 129) + `"}`, 400, "invalid_request", "body.kid"},
		{"a JWK that is text", "POST", keyPath, `{"jwk":"4711"}`, 400, "invalid_site_key", ""},
		{"no such key", "DELETE", keyPath + "/nowhere", "", 404, "site_key_not_found", "interlock site show"},
		{"a credential of nothing", "PUT", credential, `{"value":""}`, 400, "invalid_request", "body.value"},
		{"a credential that is null", "PUT", credential, `{"value":null}`, 400, "invalid_request", "body.value"},
		{"a credential of two lines", "PUT", credential, `{"value":"a\nb"}`, 400, "invalid_credential", "one line"},
		{"a credential that is not there", "DELETE", credential, "", 404, "credential_not_found", "no credential"},
		{"a verdict that is endless", "GET", own + "/calls?verdict=" + strings.Repeat("v", 65), "", 400, "invalid_request", "query.verdict"},
		{"a filter that is not known", "GET", own + "/calls?site=x", "", 400, "invalid_request", "query.site"},
		{"a page without things", "GET", own + "/resolutions?limit=0", "", 400, "invalid_request", "query.limit"},
		{"a purge of a name", "POST", operators.PathABNPurge, `{"abn":"ACME 4711"}`, 400, "abn_malformed", "eleven digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var body []byte
			if c.body != "" {
				body = []byte(c.body)
			}
			res, out := w.send(c.method, c.path, body, nil)
			p := problemOf(t, res, out)
			if p.Status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
				t.Errorf("got %d %s %q, want %d %s with %q", p.Status, p.Code, p.Detail, c.status, c.code, c.says)
			}
			if strings.Contains(string(out), "4711") || len(out) > 2000 {
				t.Errorf("the refusal repeats what was sent: %s", out)
			}
		})
	}
}
