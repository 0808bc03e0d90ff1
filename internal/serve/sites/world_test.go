package sites_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"database/sql"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"interlock/internal/audit"
	"interlock/internal/baresite"
	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/logtest"
	"interlock/internal/policy"
	"interlock/internal/secret"
	"interlock/internal/serve"
	"interlock/internal/serve/sites"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const acme tenant.ID = "acme"

// world is the door over the real rooms, a real database and real HTTP, with
// one tenant that may do everything and one site of it.
type world struct {
	t       *testing.T
	site    *baresite.Site
	store   *sqlite.Store
	sites   *site.Service
	vault   *credential.Service
	service *service
	clock   *clocktest.Clock
	log     *logtest.Log
	url     string
	file    string // of the database
}

// fact is any fact: tests of the rooms look at them.
func fact(action string) audit.Fact {
	return audit.Fact{Tenant: acme, Actor: audit.System, Action: action, Subject: "test"}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, log: &logtest.Log{}, clock: clocktest.New(), service: &service{}}
	logger := w.log.Logger()
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w.file = filepath.Join(t.TempDir(), "interlock.db")
	w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: w.file, Now: w.clock.Now, Logger: logger})
	must(err)
	apps := []gateway.App{abn.NewApp(abn.Sample()), w.service}
	published := []catalog.App{apps[0].Describe(), apps[1].Describe()}
	cat, err := catalog.New(w.store, published, catalog.Config{Now: w.clock.Now, Logger: logger})
	must(err)
	w.sites, err = site.New(w.store, site.Config{Audience: "interlock", Now: w.clock.Now, Logger: logger})
	must(err)
	keyset := filepath.Join(t.TempDir(), "keyset.json")
	_, err = credential.CreateKeyset(keyset, w.clock.Now())
	must(err)
	keys, err := credential.OpenKeyset(keyset)
	must(err)
	w.vault, err = credential.New(w.store, keys, credential.Config{Now: w.clock.Now, Logger: logger})
	must(err)
	resolver, err := resolve.New(w.store, cat, selector.NewDeterministic(), resolve.Config{Now: w.clock.Now, Logger: logger})
	must(err)
	gate, err := gateway.New(w.store, cat, w.vault, apps, gateway.Config{Now: w.clock.Now, Logger: logger})
	must(err)
	m := serve.NewMux(logger)
	must(sites.New(sites.Config{Catalog: cat, Sites: w.sites, Resolver: resolver, Gateway: gate, Now: w.clock.Now, Logger: logger}).Mount(m))
	server := httptest.NewServer(serve.Kit{Logger: logger}.Wrap(m))
	t.Cleanup(func() { server.Close(); w.store.Close() })
	w.url = server.URL
	w.site = w.tenantWithSite(acme, server)
	return w
}

// tenantWithSite makes a tenant with all rights, and a site with a key.
func (w *world) tenantWithSite(id tenant.ID, server *httptest.Server) *baresite.Site {
	w.t.Helper()
	ctx := w.t.Context()
	err := w.store.CreateTenant(ctx, catalog.Tenant{ID: id, Name: string(id), Policy: policy.Document{MaxRisk: policy.Medium}, CreatedAt: w.clock.Now()},
		catalog.Subscription{Plan: "basic", StartsAt: w.clock.Now().Add(-time.Hour)}, fact("tenant.create"))
	for _, app := range []catalog.AppID{"abn_lookup", "service"} {
		if err == nil {
			err = w.store.Enable(ctx, id, catalog.Enablement{App: app, Quota: catalog.Quota{Limit: 1000, Window: catalog.Day}, EnabledAt: w.clock.Now()}, fact("app.enable"))
		}
	}
	if err == nil {
		err = w.vault.Set(ctx, id, audit.System, "service", secret.New("service-canary-credential"))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := w.sites.Create(ctx, id, audit.System, site.NewSite{Name: "example"})
	if err != nil {
		w.t.Fatal(err)
	}
	signer := site.Signer{Key: key(), KID: "k1", Issuer: s.ID, Subject: id, Audience: "interlock"}
	pem, err := signer.PublicPEM()
	if err == nil {
		_, err = w.sites.AddKey(ctx, id, audit.System, s.ID, site.KeyInput{Text: pem, KID: "k1"})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return &baresite.Site{URL: server.URL, Client: server.Client(), Signer: signer, Now: w.clock.Now}
}

// refuseRows makes every insert into a table fail from now on, as a disk that
// is full would.
func (w *world) refuseRows(table string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(w.t.Context(), "CREATE TRIGGER refuse BEFORE INSERT ON "+table+" BEGIN SELECT RAISE(ABORT, 'no room'); END"); err != nil {
		w.t.Fatal(err)
	}
}

// key is one RSA key for all tests: making one takes long.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// service is an app with an operation for each way to be refused.
type service struct {
	calls atomic.Int64
	fail  atomic.Pointer[fault.Error]
	panic atomic.Bool
	held  atomic.Pointer[chan struct{}] // calls wait for its end; nil: they don't
}

// hold keeps calls waiting until the returned function is called.
func (s *service) hold() (release func()) {
	c := make(chan struct{})
	s.held.Store(&c)
	return func() { close(c) }
}

func (s *service) Describe() catalog.App {
	schema := json.RawMessage(`{"type":"object","properties":{"word":{"type":"string","maxLength":20}},"required":["word"],"additionalProperties":false}`)
	op := func(name string, risk policy.Risk, confirm bool) catalog.Operation {
		return catalog.Operation{Name: name, Capability: "test.service." + name, Description: "Says a word.", Arguments: schema,
			Result: json.RawMessage(`{"type":"object"}`), Risk: risk, Confirm: confirm, ReadOnly: true, AgentVisible: false}
	}
	return catalog.App{ID: "service", Title: "Service", Description: "A service for tests.", Credential: true,
		Operations: []catalog.Operation{op("say", policy.Low, false), op("shout", policy.High, false), op("swear", policy.Low, true)}}
}

func (s *service) Check(_ string, arguments json.RawMessage) error {
	if string(arguments) == `{"word":"silence"}` {
		return fault.New(fault.Invalid, "invalid_arguments", "silence can't be said")
	}
	return nil
}

func (s *service) Invoke(_ context.Context, _ string, arguments json.RawMessage, credential secret.String) (json.RawMessage, error) {
	s.calls.Add(1)
	if held := s.held.Load(); held != nil {
		<-*held
	}
	if s.panic.Load() {
		panic("canary of a panic")
	}
	if f := s.fail.Load(); f != nil {
		return nil, f
	}
	if credential.Reveal() != "service-canary-credential" {
		return nil, fault.New(fault.Unavailable, "credential_rejected", "the service refuses that credential")
	}
	return arguments, nil
}
