package usage_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

const operator = "token:0011223344556677"

func newService(t *testing.T) (*usage.Service, *sqlite.Store) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "usage.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	now := func() time.Time { return time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC) }
	return usage.New(store, now, slog.New(slog.DiscardHandler)), store
}

// R-CLOUD-9, R-GOV-0
func TestThePriceTableStartsEmptyAndIsEdited(t *testing.T) {
	t.Parallel()
	s, store := newService(t)
	if prices, err := s.Prices(t.Context(), tenant.Default); err != nil || len(prices) != 0 {
		t.Errorf("a new table has %+v, %v; want no invented price", prices, err)
	}
	p := usage.Price{Provider: "openai", Model: "gpt-*", Currency: "USD", Input: 2_500_000, Output: 10_000_000}
	for _, output := range []int64{9, 10} {
		p.Output = output
		if err := s.SetPrice(t.Context(), tenant.Default, operator, p); err != nil {
			t.Fatal(err)
		}
	}
	prices, err := s.Prices(t.Context(), tenant.Default)
	if err != nil || cmp.Diff([]usage.Price{p}, prices) != "" {
		t.Errorf("got %+v, %v; want the last word on one price", prices, err)
	}
	if err := s.SetPrice(t.Context(), tenant.Default, operator, usage.Price{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an empty price: %v", err)
	}
	if err := s.DeletePrice(t.Context(), tenant.Default, operator, "openai", "gpt-*"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeletePrice(t.Context(), tenant.Default, operator, "openai", "gpt-*"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleting it again: %v", err)
	}
	entries, err := store.Facts(t.Context(), tenant.Default, 0, 10)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Fact.Action)
	}
	if err != nil || cmp.Diff([]string{"price.set", "price.set", "price.delete"}, actions) != "" {
		t.Errorf("facts %v, %v", actions, err)
	}
}

// R-CLOUD-9
func TestTheSwitchStopsAndResumes(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	if stop, err := s.Stopped(t.Context(), tenant.Default); err != nil || stop.On {
		t.Errorf("at first: %+v, %v", stop, err)
	}
	set, err := s.SetStop(t.Context(), tenant.Default, operator, true, "costs")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Stopped(t.Context(), tenant.Default); err != nil || got != set || !got.On || got.By != operator {
		t.Errorf("got %+v, %v; want %+v", got, err, set)
	}
	if got, err := s.Stopped(t.Context(), "other"); err != nil || got.On {
		t.Errorf("another tenant is stopped too: %+v, %v", got, err)
	}
	if _, err := s.SetStop(t.Context(), tenant.Default, operator, false, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Stopped(t.Context(), tenant.Default); err != nil || got.On {
		t.Errorf("after the resume: %+v, %v", got, err)
	}
	if _, err := s.SetStop(t.Context(), tenant.Default, operator, true, strings.Repeat("x", 501)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a reason beyond its limit: %v", err)
	}
}

// R-CLOUD-9, R-PLAN-7
func TestUsageAddsUpByItsGroups(t *testing.T) {
	t.Parallel()
	s, store := newService(t)
	day := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, e := range []usage.Entry{
		{Host: "h1", Task: "t1", Model: "m1", At: day, Usage: llm.Usage{Input: llm.Known(10), Output: llm.Known(1)}},
		{Host: "h1", Task: "t1", Model: "m1", At: day, Usage: llm.Usage{Input: llm.Known(5)}, Reason: llm.Truncated},
		{Host: "h2", Task: "t2", Model: "m2", At: day.AddDate(0, 0, 1), Reason: llm.Timeout},
	} {
		e.Tenant, e.Attempt, e.Provider = tenant.Default, 1, "mock"
		if err := store.MeterFailure(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.Usage(t.Context(), usage.Query{Tenant: tenant.Default, Groups: []usage.Group{usage.ByModel}})
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %+v, %v; want two models", rows, err)
	}
	for _, r := range rows {
		switch {
		case r.Model == "m1" && r.Calls == 2 && r.Input == usage.Sum{Total: 15} && r.Output == usage.Sum{Total: 1, Unknown: 1}:
		case r.Model == "m2" && r.Calls == 1 && r.Failed == 1 && r.Input == usage.Sum{Unknown: 1}:
		default:
			t.Errorf("row %+v", r)
		}
	}
	rows, err = s.Usage(t.Context(), usage.Query{Tenant: tenant.Default, From: day.Truncate(24 * time.Hour), To: day.Truncate(24*time.Hour).AddDate(0, 0, 1)})
	if err != nil || len(rows) != 1 || rows[0].Calls != 2 {
		t.Errorf("one day: %+v, %v; want its two calls in one row", rows, err)
	}
	for name, q := range map[string]usage.Query{
		"an unknown group":        {Groups: []usage.Group{"planet"}},
		"a group twice":           {Groups: []usage.Group{usage.ByDay, usage.ByDay}},
		"a period that is turned": {From: day, To: day},
	} {
		if _, err := s.Usage(t.Context(), q); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}
