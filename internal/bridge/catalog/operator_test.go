package catalog_test

import (
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const operator = "token:0011223344556677"

var daily = catalog.Quota{Limit: 10, Window: catalog.Day}

type world struct {
	*catalog.Service
	t     *testing.T
	clock *clocktest.Clock
	store *sqlite.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New()}
	var err error
	if w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "catalog.db"), Now: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	if w.Service, err = catalog.New(w.store, []catalog.App{weather(), tides()}, catalog.Config{Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return w
}

// tenant makes one with a subscription from now on.
func (w *world) tenant(id tenant.ID) catalog.Standing {
	w.t.Helper()
	st, err := w.CreateTenant(w.t.Context(), operator, catalog.NewTenant{ID: id, Name: "Example Pty Ltd", Subscription: &catalog.Subscription{Plan: "basic"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func (w *world) standing(id tenant.ID) catalog.Standing {
	w.t.Helper()
	st, err := w.Standing(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// facts returns the tenant's chain, which must hold.
func (w *world) facts(id tenant.ID) []audit.Fact {
	w.t.Helper()
	chain, err := w.store.Facts(w.t.Context(), id, 0, 100)
	if err == nil {
		err = audit.Verify(0, [32]byte{}, chain)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var out []audit.Fact
	for _, e := range chain {
		out = append(out, e.Fact)
	}
	return out
}

// R-GOV-0
func TestEachChangeOfATenantIsAFactInItsOwnChain(t *testing.T) {
	t.Parallel()
	const id = tenant.ID("example")
	name, keep := "Example Ltd", true
	doc := policy.Document{MaxRisk: policy.Low}
	now := clocktest.New().Now()
	for what, c := range map[string]struct {
		change  func(*world) error
		action  string
		subject string
		detail  map[string]string
	}{
		"its name": {func(w *world) error {
			_, err := w.ChangeTenant(t.Context(), id, operator, catalog.TenantChange{Name: &name})
			return err
		}, "tenant.change", "example", map[string]string{"name": name}},
		"its policy and what is kept": {func(w *world) error {
			_, err := w.ChangeTenant(t.Context(), id, operator, catalog.TenantChange{Policy: &doc, KeepInstructions: &keep})
			return err
		}, "tenant.change", "example", map[string]string{"policy": "5f513e096987", "keep_instructions": "true"}},
		"its name, and suspended": {func(w *world) error {
			_, err := w.ChangeTenant(t.Context(), id, operator, catalog.TenantChange{Name: &name, SuspendedAt: &now})
			return err
		}, "tenant.change", "example", map[string]string{"name": name, "suspended": "true"}},
		"suspended": {func(w *world) error {
			_, err := w.Suspend(t.Context(), id, operator)
			return err
		}, "tenant.suspend", "example", nil},
		"resumed": {func(w *world) error {
			_, err := w.Resume(t.Context(), id, operator)
			return err
		}, "tenant.resume", "example", nil},
		"subscribed": {func(w *world) error {
			_, err := w.Subscribe(t.Context(), id, operator, catalog.Subscription{Plan: "Pro-2", EndsAt: now.Add(24 * time.Hour)})
			return err
		}, "subscription.set", "example", map[string]string{"plan": "Pro-2", "starts_at": "2026-11-30T12:00:00Z", "ends_at": "2026-12-01T12:00:00Z"}},
		"its subscription ended": {func(w *world) error {
			return w.EndSubscription(t.Context(), id, operator)
		}, "subscription.end", "example", nil},
		"an app enabled": {func(w *world) error {
			return w.Enable(t.Context(), id, operator, "tides", daily)
		}, "app.enable", "tides", map[string]string{"limit": "10", "window": "day"}},
		"the quota of an app that it has": {func(w *world) error {
			return w.Enable(t.Context(), id, operator, "weather", catalog.Quota{Limit: 7, Window: catalog.Hour})
		}, "quota.set", "weather", map[string]string{"limit": "7", "window": "hour"}},
		"an app disabled": {func(w *world) error {
			return w.Disable(t.Context(), id, operator, "weather")
		}, "app.disable", "weather", nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.tenant(id)
			if err := w.Enable(t.Context(), id, operator, "weather", daily); err != nil {
				t.Fatal(err)
			}
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			facts := w.facts(id)
			if len(facts) != 3 || facts[0].Action != "tenant.create" || facts[1].Action != "app.enable" {
				t.Fatalf("the chain is %+v", facts)
			}
			f := facts[2]
			if f.Tenant != id || f.Actor != operator || f.Action != c.action || f.Subject != c.subject || !f.At.Equal(now) || !maps.Equal(f.Detail, c.detail) {
				t.Errorf("got %+v", f)
			}
			if others := w.facts(tenant.Default); len(others) != 0 {
				t.Errorf("the default tenant's chain has %+v", others)
			}
		})
	}
}

func TestAChangeHoldsFromTheNextReadOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const id = tenant.ID("example")
	made := w.tenant(id)
	if made.Admits(w.clock.Now()) != nil || len(made.Enabled) != 0 || !made.Tenant.CreatedAt.Equal(w.clock.Now()) {
		t.Fatalf("made as %+v", made)
	}
	if err := w.Enable(t.Context(), id, operator, "weather", daily); err != nil {
		t.Fatal(err)
	}
	enabledAt := w.clock.Now()
	w.clock.Advance(time.Hour)
	hourly := catalog.Quota{Limit: 3, Window: catalog.Hour}
	if err := w.Enable(t.Context(), id, operator, "weather", hourly); err != nil {
		t.Fatal(err)
	}
	if e, ok := w.standing(id).Enablement("weather"); !ok || e.Quota != hourly || !e.EnabledAt.Equal(enabledAt) {
		t.Errorf("enabled as %+v", e)
	}
	if _, err := w.Suspend(t.Context(), id, operator); err != nil {
		t.Fatal(err)
	}
	if st := w.standing(id); !st.Tenant.SuspendedAt.Equal(w.clock.Now()) || st.Admits(w.clock.Now()) != catalog.ErrSuspended {
		t.Errorf("a suspended tenant stands as %+v", st)
	}
	if after, err := w.Resume(t.Context(), id, operator); err != nil || !after.SuspendedAt.IsZero() {
		t.Errorf("got %+v, %v", after, err)
	}
	if err := w.Disable(t.Context(), id, operator, "weather"); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.standing(id).Enablement("weather"); ok {
		t.Error("a disabled app is enabled")
	}
	if err := w.EndSubscription(t.Context(), id, operator); err != nil {
		t.Fatal(err)
	}
	if st := w.standing(id); st.Admits(w.clock.Now()) != catalog.ErrInactive || st.Subscription != (catalog.Subscription{}) {
		t.Errorf("without a subscription it stands as %+v", st)
	}
	sub, err := w.Subscribe(t.Context(), id, operator, catalog.Subscription{Plan: "pro"})
	if err != nil || w.standing(id).Subscription != sub || !sub.StartsAt.Equal(w.clock.Now()) {
		t.Errorf("subscribed to %+v, %v", sub, err)
	}
}

func TestAChangeWithAMistakeChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const id = tenant.ID("example")
	w.tenant(id)
	ctx, start := t.Context(), w.clock.Now()
	long := strings.Repeat("x", 101)
	create := func(n catalog.NewTenant) func() error {
		return func() error { _, err := w.CreateTenant(ctx, operator, n); return err }
	}
	change := func(id tenant.ID, c catalog.TenantChange) func() error {
		return func() error { _, err := w.ChangeTenant(ctx, id, operator, c); return err }
	}
	subscribe := func(s catalog.Subscription) func() error {
		return func() error { _, err := w.Subscribe(ctx, id, operator, s); return err }
	}
	enable := func(id tenant.ID, app catalog.AppID, q catalog.Quota) func() error {
		return func() error { return w.Enable(ctx, id, operator, app, q) }
	}
	bad, empty, good := policy.Document{MaxRisk: "none"}, "", "Good"
	for what, c := range map[string]struct {
		try  func() error
		code string
	}{
		"a tenant without id":                {create(catalog.NewTenant{Name: good}), "invalid_tenant"},
		"an id with a capital":               {create(catalog.NewTenant{ID: "Acme", Name: good}), "invalid_tenant"},
		"an id with an underscore":           {create(catalog.NewTenant{ID: "a_b", Name: good}), "invalid_tenant"},
		"an id that begins with a hyphen":    {create(catalog.NewTenant{ID: "-a", Name: good}), "invalid_tenant"},
		"an id of 65 characters":             {create(catalog.NewTenant{ID: tenant.ID(long[:65]), Name: good}), "invalid_tenant"},
		"an id that is there":                {create(catalog.NewTenant{ID: id, Name: good}), "tenant_exists"},
		"a new tenant without name":          {create(catalog.NewTenant{ID: "acme"}), "invalid_tenant"},
		"a new tenant with a bad policy":     {create(catalog.NewTenant{ID: "acme", Name: good, Policy: bad}), "invalid_policy"},
		"a new tenant with a bad plan":       {create(catalog.NewTenant{ID: "acme", Name: good, Subscription: &catalog.Subscription{}}), "invalid_subscription"},
		"a change of nothing":                {change(id, catalog.TenantChange{}), "invalid_tenant"},
		"a change to no name":                {change(id, catalog.TenantChange{Name: &empty}), "invalid_tenant"},
		"a change to too long a name":        {change(id, catalog.TenantChange{Name: &long}), "invalid_tenant"},
		"a change to a bad policy":           {change(id, catalog.TenantChange{Policy: &bad}), "invalid_policy"},
		"a change of nobody":                 {change("nobody", catalog.TenantChange{Name: &good}), "tenant_not_found"},
		"a plan of two words":                {subscribe(catalog.Subscription{Plan: "very good"}), "invalid_subscription"},
		"a plan in letters from elsewhere":   {subscribe(catalog.Subscription{Plan: "plan\u212a"}), "invalid_subscription"},
		"a plan without end of its name":     {subscribe(catalog.Subscription{Plan: long[:65]}), "invalid_subscription"},
		"an end before the start":            {subscribe(catalog.Subscription{Plan: "p", StartsAt: start, EndsAt: start.Add(-time.Second)}), "invalid_subscription"},
		"an end at the start":                {subscribe(catalog.Subscription{Plan: "p", StartsAt: start, EndsAt: start}), "invalid_subscription"},
		"a start in another age":             {subscribe(catalog.Subscription{Plan: "p", StartsAt: time.Unix(0, 0)}), "invalid_subscription"},
		"an end in a far age":                {subscribe(catalog.Subscription{Plan: "p", EndsAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}), "invalid_subscription"},
		"an app that there is not":           {enable(id, "moon", daily), "app_not_found"},
		"a quota below zero":                 {enable(id, "weather", catalog.Quota{Limit: -1, Window: catalog.Day}), "invalid_quota"},
		"a quota beyond its bound":           {enable(id, "weather", catalog.Quota{Limit: catalog.MaxQuota + 1, Window: catalog.Day}), "invalid_quota"},
		"a quota of another window":          {enable(id, "weather", catalog.Quota{Limit: 1, Window: "week"}), "invalid_quota"},
		"a quota without window":             {enable(id, "weather", catalog.Quota{Limit: 1}), "invalid_quota"},
		"an app for nobody":                  {enable("nobody", "weather", daily), "tenant_not_found"},
		"to disable what is not enabled":     {func() error { return w.Disable(ctx, id, operator, "weather") }, "app_not_enabled_here"},
		"to disable an app of nobody":        {func() error { return w.Disable(ctx, "nobody", operator, "weather") }, "tenant_not_found"},
		"to end the subscription of nobody":  {func() error { return w.EndSubscription(ctx, "nobody", operator) }, "tenant_not_found"},
		"to read how nobody stands":          {func() error { _, err := w.Standing(ctx, "nobody"); return err }, "tenant_not_found"},
		"to suspend nobody":                  {func() error { _, err := w.Suspend(ctx, "nobody", operator); return err }, "tenant_not_found"},
		"a quota of an app called by a path": {enable(id, "../weather", daily), "app_not_found"},
	} {
		if err := c.try(); fault.Of(err) == nil || fault.Of(err).Code != c.code {
			t.Errorf("%s: got %v, want %s", what, err, c.code)
		}
	}
	if facts := w.facts(id); len(facts) != 1 {
		t.Errorf("the chain has %+v", facts)
	}
	if _, err := w.Tenant(ctx, "acme"); !errors.Is(err, catalog.ErrTenantNotFound) {
		t.Errorf("a tenant with a mistake is there: %v", err)
	}
}

func TestTenantsAreListedByIDInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []tenant.ID{"zeta", "alpha", "1st"} {
		w.tenant(id)
	}
	var got []tenant.ID
	for after := tenant.ID(""); ; after = got[len(got)-1] {
		page, err := w.Tenants(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			got = append(got, one.ID)
			if len(one.Policy.Revision) != 12 {
				t.Errorf("the policy of %s has the revision %q", one.ID, one.Policy.Revision)
			}
		}
		if len(page) < 3 {
			break
		}
	}
	if !slices.Equal(got, []tenant.ID{"1st", "alpha", tenant.Default, "zeta"}) {
		t.Errorf("listed %v", got)
	}
	if all, err := w.Tenants(t.Context(), "", 0); err != nil || len(all) != 4 {
		t.Errorf("without a limit: %d, %v", len(all), err)
	}
}

// R-GOV-2
func TestAPolicysRevisionFollowsFromWhatItSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tenant("example")
	revision := func(t *rapid.T, doc policy.Document) string {
		after, err := w.ChangeTenant(w.t.Context(), "example", operator, catalog.TenantChange{Policy: &doc})
		if err != nil {
			t.Fatal(err)
		}
		if stored := w.standing("example").Tenant.Policy.Revision; stored != after.Policy.Revision || len(stored) != 12 {
			t.Fatalf("stored %q, told %q", stored, after.Policy.Revision)
		}
		return after.Policy.Revision
	}
	documents := rapid.Custom(func(t *rapid.T) policy.Document {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4)
		return policy.Document{AllowedTools: names.Draw(t, "tools"), AllowedPackages: names.Draw(t, "packages"),
			MaxRisk: rapid.SampledFrom([]policy.Risk{"", policy.Low, policy.High}).Draw(t, "risk"), Revision: rapid.SampledFrom([]string{"", "mine"}).Draw(t, "revision")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents.Draw(t, "a"), documents.Draw(t, "b")
		same := ceiling(a) == ceiling(b) && sameSet(a.AllowedTools, b.AllowedTools) && sameSet(a.AllowedPackages, b.AllowedPackages)
		if ra, rb := revision(t, a), revision(t, b); (ra == rb) != same {
			t.Fatalf("%+v is %s, %+v is %s", a, ra, b, rb)
		}
	})
}

// ceiling is the risk that a document allows: low unless it names another.
func ceiling(doc policy.Document) policy.Risk {
	if doc.MaxRisk == "" {
		return policy.Low
	}
	return doc.MaxRisk
}

// sameSet reports whether two lists have the same entries, told without sorting.
func sameSet(a, b []string) bool {
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
	}
	return within(a, b) && within(b, a)
}
