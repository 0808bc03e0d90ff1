package site_test

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// R-BRIDGE-5, R-GOV-0
func TestSitesAreCreatedAndChangedWithTheirFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	made, err := w.Create(ctx, tenant.Default, operator, site.NewSite{Name: "Bäckerei ☕", PerMinute: 30})
	if err != nil || !regexp.MustCompile(`^site_[0-9a-f]{16}$`).MatchString(string(made.ID)) || made.PerMinute != 30 || made.Burst == 0 || !made.CreatedAt.Equal(w.clock.Now()) {
		t.Fatalf("got %+v, %v", made, err)
	}
	name, perMinute, burst := "Bakery", 60, 7
	changed, err := w.Change(ctx, tenant.Default, operator, made.ID, site.Change{Name: &name, Burst: &burst})
	if err != nil || changed.Name != name || changed.Burst != burst || changed.PerMinute != 30 {
		t.Errorf("changed: got %+v, %v", changed, err)
	}
	off, err := w.DisableSite(ctx, tenant.Default, operator, made.ID)
	if err != nil || !off.DisabledAt.Equal(w.clock.Now()) {
		t.Errorf("disabled: got %+v, %v", off, err)
	}
	w.clock.Advance(1)
	if again, err := w.DisableSite(ctx, tenant.Default, operator, made.ID); err != nil || !again.DisabledAt.Equal(off.DisabledAt) {
		t.Errorf("disabled again: got %+v, %v", again, err)
	}
	if on, err := w.EnableSite(ctx, tenant.Default, operator, made.ID); err != nil || !on.DisabledAt.IsZero() {
		t.Errorf("enabled: got %+v, %v", on, err)
	}
	for action, want := range map[string]map[string]string{
		"site.create":  {"name": "Bäckerei ☕", "per_minute": "30", "burst": "60"},
		"site.change":  {"name": "Bakery", "burst": "7"},
		"site.disable": {"name": "Bakery"},
		"site.enable":  {"name": "Bakery"},
	} {
		facts := w.facts(action)
		if len(facts) == 0 {
			t.Errorf("no fact %s", action)
			continue
		}
		f := facts[len(facts)-1]
		if f.Actor != operator || f.Subject != string(made.ID) || !maps.Equal(f.Detail, want) {
			t.Errorf("%s: got %+v, want %v", action, f, want)
		}
	}
	if n := len(w.facts("site.disable")); n != 1 {
		t.Errorf("disabled twice makes %d facts", n)
	}

	disabledAt, zero, long := w.clock.Now(), 0, strings.Repeat("x", 101)
	for what, c := range map[string]site.Change{
		"nothing":              {},
		"an empty name":        {Name: new(string)},
		"a long name":          {Name: &long},
		"no calls at all":      {PerMinute: &zero},
		"no burst":             {Burst: &zero},
		"a switch in disguise": {Name: &name, DisabledAt: &disabledAt},
	} {
		if _, err := w.Change(ctx, tenant.Default, operator, made.ID, c); fault.Of(err).Code != "invalid_site" {
			t.Errorf("%s: got %v", what, err)
		}
	}
	for what, n := range map[string]site.NewSite{
		"no name":                    {},
		"a name with a line break":   {Name: "a\nb"},
		"a name that is not UTF-8":   {Name: "\xff"},
		"fewer calls than none":      {Name: "x", PerMinute: -1},
		"more calls than there are":  {Name: "x", PerMinute: site.MaxPerMinute + 1},
		"a burst larger than can be": {Name: "x", Burst: site.MaxBurst + 1},
	} {
		if _, err := w.Create(ctx, tenant.Default, operator, n); fault.Of(err).Code != "invalid_site" {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := w.Create(ctx, "nobody", operator, site.NewSite{Name: "x"}); !errors.Is(err, catalog.ErrTenantNotFound) {
		t.Errorf("a tenant that is not there: %v", err)
	}
	if _, err := w.Change(ctx, tenant.Default, operator, "site_0000000000000000", site.Change{PerMinute: &perMinute}); !errors.Is(err, site.ErrNotFound) {
		t.Errorf("a site that is not there: %v", err)
	}
}

// R-BRIDGE-5: to one tenant, another's sites are not there.
func TestATenantSeesItsOwnSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	second, _ := w.addSite("second", otherKey())
	f := w.facts("site.create")[0]
	f.Tenant = "acme"
	if err := w.store.CreateTenant(ctx, catalog.Tenant{ID: "acme", Name: "Acme", CreatedAt: w.clock.Now()}, catalog.Subscription{}, f); err != nil {
		t.Fatal(err)
	}
	theirs, err := w.Create(ctx, "acme", operator, site.NewSite{Name: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.Sites(ctx, tenant.Default, "", 0)
	if err != nil || len(all) != 2 || all[0].ID >= all[1].ID || len(all[0].Keys) != 1 || len(all[1].Keys) != 1 {
		t.Fatalf("the sites of one tenant: %+v, %v", all, err)
	}
	if rest, err := w.Sites(ctx, tenant.Default, all[0].ID, 1); err != nil || len(rest) != 1 || rest[0].ID != all[1].ID {
		t.Errorf("behind the first: %+v, %v", rest, err)
	}
	if got, err := w.Site(ctx, tenant.Default, second.ID); err != nil || got.Keys[0].KID != "second" || got.Keys[0].Public.N.Cmp(otherKey().N) != 0 {
		t.Errorf("one's own: %+v, %v", got, err)
	}
	for what, err := range map[string]error{
		"read":    failure(w.Site(ctx, tenant.Default, theirs.ID)),
		"disable": failure(w.DisableSite(ctx, tenant.Default, operator, theirs.ID)),
		"enable":  failure(w.EnableSite(ctx, tenant.Default, operator, theirs.ID)),
		"add key": failure(w.AddKey(ctx, tenant.Default, operator, theirs.ID, site.KeyInput{Text: publicPEM(t, siteKey())})),
	} {
		if !errors.Is(err, site.ErrNotFound) {
			t.Errorf("%s another tenant's site: %v", what, err)
		}
	}
}

func failure[T any](_ T, err error) error { return err }
