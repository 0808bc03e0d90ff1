package credential_test

import (
	"path/filepath"
	"testing"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/clocktest"
	"interlock/internal/logtest"
	"interlock/internal/secret"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const (
	operator = "token:0011223344556677"
	canary   = "canary-credential-5c1e0f"
	acme     = tenant.ID("acme")
	abn      = catalog.AppID("abn_lookup")
)

// world is a service over a real store with two tenants, and a keyset file.
type world struct {
	*credential.Service
	t      testing.TB
	clock  *clocktest.Clock
	store  *sqlite.Store
	db     string // the store's file
	keyset string // the keyset's file
	log    logtest.Log
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, clock: clocktest.New(), db: filepath.Join(dir, "credential.db"), keyset: filepath.Join(dir, "keyset.json")}
	var err error
	if w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: w.db, Now: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	f := audit.Fact{Tenant: acme, At: w.clock.Now(), Actor: operator, Action: "tenant.create", Subject: string(acme)}
	if err := w.store.CreateTenant(t.Context(), catalog.Tenant{ID: acme, Name: "Acme", CreatedAt: w.clock.Now()}, catalog.Subscription{}, f); err != nil {
		t.Fatal(err)
	}
	if _, err := credential.CreateKeyset(w.keyset, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	w.Service = w.over(w.store)
	return w
}

// over is a service with the keyset as it is in the file now.
func (w *world) over(s credential.Store) *credential.Service {
	w.t.Helper()
	k, err := credential.OpenKeyset(w.keyset)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.with(s, k)
}

func (w *world) with(s credential.Store, k *credential.Keyset) *credential.Service {
	w.t.Helper()
	service, err := credential.New(s, k, credential.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	if err != nil {
		w.t.Fatal(err)
	}
	return service
}

// addKey gives the file a new primary key. Services that are there go on with
// what they read.
func (w *world) addKey() (id string) {
	w.t.Helper()
	id, err := credential.AddKey(w.keyset, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) set(s *credential.Service, t tenant.ID, app catalog.AppID, value string) {
	w.t.Helper()
	if err := s.Set(w.t.Context(), t, operator, app, secret.New(value)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wantValue(s *credential.Service, t tenant.ID, app catalog.AppID, want string) {
	w.t.Helper()
	if got, err := s.Reveal(w.t.Context(), t, app); err != nil || got.Reveal() != want {
		w.t.Errorf("the credential of %s for %s: got %q, %v; want %q", t, app, got.Reveal(), err, want)
	}
}

func (w *world) facts(t tenant.ID, action string) (out []audit.Fact) {
	w.t.Helper()
	entries, err := w.store.Facts(w.t.Context(), t, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Fact.Action == action {
			out = append(out, e.Fact)
		}
	}
	return out
}
