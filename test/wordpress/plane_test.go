package wordpress_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/bridge/credential"
	"interlock/internal/logtest"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
)

// guid is the credential at the register that nobody may ever see.
const guid = "c0ffee00-feed-4bad-9a5e-0123456789ab"

// tenantID is whose site it is.
const tenantID = "acme"

// plane is a control plane with one tenant, which has the app enabled and one
// site, still without a key.
type plane struct {
	t      testing.TB
	url    string // as sites reach it: over the wire
	direct string
	token  string // an operator's
	siteID string
	wire   *wire // between the site and the plane
	log    *logtest.Log
}

// newPlane starts a control plane over the source of ABNs.
func newPlane(t testing.TB, source app.ABN, quota int64) *plane {
	t.Helper()
	dir := t.TempDir()
	p := &plane{t: t, log: &logtest.Log{}}
	keyset := filepath.Join(dir, "keyset.json")
	if _, err := credential.CreateKeyset(keyset, time.Now()); err != nil {
		t.Fatal(err)
	}
	server, err := app.NewServer(t.Context(), app.ServerConfig{
		Version: "test", Listen: "127.0.0.1:0", Database: filepath.Join(dir, "interlock.db"),
		Bridge: app.Bridge{KeysetFile: keyset, ABN: source},
		Logger: slog.New(slog.NewJSONHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.direct, p.token = server.OperatorsURL(), server.FirstToken().Reveal()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the control plane ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("the control plane's log:\n%s", p.log.String())
		}
	})
	p.wire = newWire(t, p.direct)
	p.url = p.wire.URL
	p.admit(quota)
	return p
}

// admit makes the tenant and its site.
func (p *plane) admit(quota int64) {
	p.t.Helper()
	p.operate(http.MethodPost, operators.PathTenants, operators.NewTenant{ID: tenantID, Name: "Acme Pty Ltd", Subscription: &operators.Subscription{Plan: "basic"}}, nil)
	p.operate(http.MethodPut, operators.TenantAppPath(tenantID, "abn_lookup"), operators.EnableApp{Quota: operators.Quota{Limit: quota, Window: "day"}}, nil)
	p.operate(http.MethodPut, operators.CredentialPath(tenantID, "abn_lookup"), operators.SetCredential{Value: secret.Expose(secret.New(guid))}, nil)
	var s operators.Site
	p.operate(http.MethodPost, operators.TenantPath(tenantID, "sites"), operators.NewSite{Name: "acme.example"}, &s)
	p.siteID = s.ID
}

// trust registers a public key of the site.
func (p *plane) trust(jwk string) operators.SiteKey {
	p.t.Helper()
	var k operators.SiteKey
	p.operate(http.MethodPost, operators.SitePath(tenantID, p.siteID, "keys"), operators.NewSiteKey{JWK: json.RawMessage(jwk)}, &k)
	return k
}

// settings are what the site's settings page takes.
func (p *plane) settings() map[string]string {
	return map[string]string{"gateway_url": p.url, "site_id": p.siteID, "tenant_id": tenantID, "kid": "", "audience": "interlock"}
}

// calls are those in the log, newest first.
func (p *plane) calls() []operators.Call {
	p.t.Helper()
	var page operators.CallPage
	p.operate(http.MethodGet, operators.TenantPath(tenantID, "calls"), nil, &page)
	return page.Calls
}

// operate does one call of the operators' API, which must succeed; reply may be
// nil.
func (p *plane) operate(method, path string, body, reply any) {
	p.t.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			p.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.direct+path, bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set(operators.KeyHeader, rand.Text())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		p.t.Fatalf("%s %s: %d %s (%v)", method, path, resp.StatusCode, answer, err)
	}
	if reply != nil {
		if err := json.Unmarshal(answer, reply); err != nil {
			p.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// register is a stand-in of the Australian Business Register that knows the
// GUID and one well-known record.
func register(t testing.TB) *abrtest.Service {
	t.Helper()
	s := abrtest.New(t, guid)
	s.Enter(abrtest.Entity{ABN: "51824753556", Status: "Active", StatusFrom: "1999-11-01", Name: "AUSTRALIAN TAXATION OFFICE", TypeCode: "CGE", TypeName: "Commonwealth Government Entity",
		GSTFrom: "2000-07-01", State: "NSW", Postcode: "2640", BusinessNames: []string{"O'BRIEN & SONS", "CAFÉ <b>É</b>"}})
	return s
}
