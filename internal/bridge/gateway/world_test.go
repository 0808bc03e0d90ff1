package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/logtest"
	"interlock/internal/policy"
	"interlock/internal/secret"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const (
	operator = "token:0011223344556677"
	acme     = tenant.ID("acme")
	password = "open sesame" // acme's at the shelf
	canary   = "canary-4f1d" // in what must not be recorded
)

// shelf is an app with items that can be counted and taken by who knows the
// password. Until it is told, it has no trouble.
type shelf struct {
	mu      sync.Mutex
	stock   map[string]int              // guarded by mu
	asked   int                         // guarded by mu: how many calls reached it
	trouble func(context.Context) error // guarded by mu: comes before each answer; nil: none
}

func newShelf() *shelf { return &shelf{stock: map[string]int{"tea": 100_000, "rice": 3}} }

func (s *shelf) Describe() catalog.App {
	of := func(name string, o catalog.Operation) catalog.Operation {
		o.Name, o.Capability, o.Description = name, "test.shelf."+name, "An operation of the shelf."
		o.Arguments = json.RawMessage(`{"type": "object", "properties": {"item": {"type": "string"}, "note": {"type": "string"}}, "required": ["item"], "additionalProperties": false}`)
		o.Result = json.RawMessage(`{"type": "object", "properties": {"item": {"type": "string"}, "left": {"type": "integer", "minimum": 0}}, "required": ["item", "left"], "additionalProperties": false}`)
		o.Recorded = []string{"item"}
		return o
	}
	return catalog.App{ID: "shelf", Title: "Shelf", Credential: true, Operations: []catalog.Operation{
		of("count_v1", catalog.Operation{Risk: policy.Low, ReadOnly: true}),
		of("take_v1", catalog.Operation{Risk: policy.Medium}),
		of("burn_v1", catalog.Operation{Risk: policy.High, Confirm: true}),
	}}
}

type slip struct {
	Item string `json:"item"`
	Note string `json:"note"`
}

func (s *shelf) Check(operation string, arguments json.RawMessage) error {
	var of slip
	if err := json.Unmarshal(arguments, &of); err != nil {
		return err
	}
	switch of.Item {
	case "unicorn":
		return fault.New(fault.Invalid, "no_such_item", "the shelf has never had one of those")
	case "ghost":
		panic(canary)
	case "riddle":
		return fmt.Errorf("no idea what %s is", canary)
	}
	return nil
}

func (s *shelf) Invoke(ctx context.Context, operation string, arguments json.RawMessage, password secret.String) (json.RawMessage, error) {
	s.mu.Lock()
	s.asked++
	trouble := s.trouble
	s.mu.Unlock()
	if trouble != nil {
		if err := trouble(ctx); err != nil {
			return nil, err
		}
	}
	if !password.Equal(secret.New("open sesame")) {
		return nil, fault.New(fault.Unavailable, "credential_rejected", "the shelf is locked with another password")
	}
	var of slip
	if err := json.Unmarshal(arguments, &of); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if operation == "take_v1" {
		s.stock[of.Item]--
	}
	return json.RawMessage(fmt.Sprintf(`{"item": %q, "left": %d}`, of.Item, s.stock[of.Item])), nil
}

// meet lets the shelf have that trouble from now on.
func (s *shelf) meet(trouble func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = trouble
}

func (s *shelf) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// world is a gateway on a real store, with acme, which may do everything.
type world struct {
	*gateway.Service
	t       testing.TB
	clock   *clocktest.Clock
	path    string
	db      *sqlite.Store
	catalog *catalog.Service
	keys    *credential.Keyset
	creds   *credential.Service
	shelf   *shelf
	log     logtest.Log
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New(), path: filepath.Join(t.TempDir(), "gateway.db"), shelf: newShelf()}
	w.keys = credential.NewKeyset(w.clock.Now())
	w.open()
	w.Service = w.gateway(w.db)
	w.must(w.catalog.CreateTenant(t.Context(), operator, catalog.NewTenant{ID: acme, Name: "Acme", Policy: policy.Document{MaxRisk: policy.High}, Subscription: &catalog.Subscription{Plan: "basic"}}))
	w.quota(1000)
	w.unlock()
	return w
}

// open opens the store and the rooms behind the gateway.
func (w *world) open() {
	w.t.Helper()
	db, err := sqlite.Open(w.t.Context(), sqlite.Config{Path: w.path, Now: w.clock.Now})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { db.Close() })
	w.db = db
	if w.catalog, err = catalog.New(db, []catalog.App{w.shelf.Describe()}, catalog.Config{Now: w.clock.Now, Logger: w.log.Logger()}); err != nil {
		w.t.Fatal(err)
	}
	if w.creds, err = credential.New(db, w.keys, credential.Config{Now: w.clock.Now, Logger: w.log.Logger()}); err != nil {
		w.t.Fatal(err)
	}
}

// gateway returns another process's gateway over the store.
func (w *world) gateway(store gateway.Store) *gateway.Service {
	w.t.Helper()
	s, err := gateway.New(store, w.catalog, w.creds, []gateway.App{w.shelf}, gateway.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) must(_ any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// quota lets acme use the shelf that many times a day.
func (w *world) quota(limit int64) {
	w.t.Helper()
	w.must(nil, w.catalog.Enable(w.t.Context(), acme, operator, "shelf", catalog.Quota{Limit: limit, Window: catalog.Day}))
}

// unlock gives acme the right password.
func (w *world) unlock() {
	w.t.Helper()
	w.must(nil, w.creds.Set(w.t.Context(), acme, operator, "shelf", secret.New(password)))
}

// caller may call everything of the shelf.
var caller = site.Caller{Tenant: acme, Site: "site_0011223344556677", KID: "k1",
	Scopes: []string{"app:shelf:count_v1", "app:shelf:take_v1", "app:shelf:burn_v1"}}

func count(key string) gateway.Request {
	return gateway.Request{App: "shelf", Operation: "count_v1", Arguments: []byte(`{"item": "tea"}`), Key: key, RequestID: "req-1"}
}

func take(key string) gateway.Request {
	r := count(key)
	r.Operation = "take_v1"
	return r
}

// made is what became of a call.
type made struct {
	gateway.Reply
	err error
}

func (m made) code() string {
	if m.err == nil {
		return gateway.OK
	}
	return fault.Of(m.err).Code
}

func (w *world) call(r gateway.Request) made { return on(w.t.Context(), w.Service, r) }

func on(ctx context.Context, s *gateway.Service, r gateway.Request) made {
	reply, err := s.Call(ctx, caller, r)
	return made{reply, err}
}

// expect calls and requires that code.
func (w *world) expect(r gateway.Request, code string) made {
	w.t.Helper()
	m := w.call(r)
	if m.code() != code {
		w.t.Fatalf("%s with key %q: got %s (%v), want %s", r.Operation, r.Key, m.code(), m.err, code)
	}
	return m
}

// used is what acme has used of today's quota.
func (w *world) used() int64 {
	w.t.Helper()
	m, err := w.db.Meter(w.t.Context(), acme, "shelf", catalog.Quota{Limit: 1, Window: catalog.Day}, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return m.Used
}

func (w *world) records(verdict string) []gateway.Record {
	w.t.Helper()
	all, err := w.Calls(w.t.Context(), gateway.Query{Tenant: acme, Verdict: verdict})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// newest is the record of the last call.
func (w *world) newest() gateway.Record {
	w.t.Helper()
	all := w.records("")
	if len(all) == 0 {
		w.t.Fatal("nothing is recorded")
	}
	return all[0]
}

// require fails the test unless got is want.
func require[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// faulty is a store of which single methods fail, or see the past, as long as
// a test says so.
type faulty struct {
	gateway.Store
	mu     sync.Mutex
	open   func(context.Context, gateway.Record, catalog.Quota) (gateway.Opened, error) // guarded by mu; nil: the store's own
	keyed  func() (gateway.Record, bool, error)                                         // guarded by mu; likewise
	close  error                                                                        // guarded by mu; nil: the store's own
	lose   bool                                                                         // guarded by mu: what is closed is lost, as with a process that is gone
	refuse error                                                                        // guarded by mu; nil: the store's own
}

func (f *faulty) set(change func(*faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faulty) OpenCall(ctx context.Context, r gateway.Record, q catalog.Quota) (gateway.Opened, error) {
	f.mu.Lock()
	open := f.open
	f.mu.Unlock()
	if open != nil {
		return open(ctx, r, q)
	}
	return f.Store.OpenCall(ctx, r, q)
}

func (f *faulty) Keyed(ctx context.Context, t tenant.ID, s site.ID, key string) (gateway.Record, bool, error) {
	f.mu.Lock()
	keyed := f.keyed
	f.mu.Unlock()
	if keyed != nil {
		return keyed()
	}
	return f.Store.Keyed(ctx, t, s, key)
}

func (f *faulty) CloseCall(ctx context.Context, c gateway.Closing) error {
	f.mu.Lock()
	err, lose := f.close, f.lose
	f.mu.Unlock()
	if err != nil || lose {
		return err
	}
	return f.Store.CloseCall(ctx, c)
}

func (f *faulty) RefuseCall(ctx context.Context, r gateway.Record) error {
	f.mu.Lock()
	err := f.refuse
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.RefuseCall(ctx, r)
}

// outlast moves the clock beyond what a call can take, so that one which is
// still open has lost its process.
func (w *world) outlast() { w.clock.Advance(46 * time.Second) }
