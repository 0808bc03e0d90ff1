package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/bridge/gateway"
	"interlock/internal/fault"
)

// R-BRIDGE-10: 8,000 calls, 2,000 at any time, through two gateways over one
// store, on a quota of 1,000. What a store that is too busy refuses is tried
// again, as the refusal says, until there is a verdict.
func TestNoNumberOfCallersExceedsAQuota(t *testing.T) {
	t.Parallel()
	const callers, each, limit = 2000, 4, 1000
	w := newWorld(t)
	w.quota(limit)
	gateways := []*gateway.Service{w.Service, w.gateway(w.db)}
	var ok, exceeded atomic.Int64
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range each {
				switch m := insist(t.Context(), gateways[i%2]); m.code() {
				case gateway.OK:
					ok.Add(1)
				case gateway.Exceeded:
					exceeded.Add(1)
				default:
					t.Errorf("got %v", m.err)
				}
			}
		})
	}
	all.Wait()
	require(t, "calls made", ok.Load(), limit)
	require(t, "calls refused", exceeded.Load(), callers*each-limit)
	require(t, "used", w.used(), limit)
	require(t, "calls that reached the app", w.shelf.times(), limit)
}

// insist calls until the answer is none of a busy store.
func insist(ctx context.Context, s *gateway.Service) made {
	for {
		m := on(ctx, s, take(""))
		if m.code() != "log_unavailable" && m.code() != "upstream_unavailable" {
			return m
		}
	}
}

// R-BRIDGE-10
func TestAQuotaBeginsAnewWithItsWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.quota(2)
	w.expect(take(""), gateway.OK)
	require(t, "remaining", w.expect(take(""), gateway.OK).Meta.Meter.Remaining(), 0)
	w.clock.Advance(11*time.Hour + 59*time.Minute)
	refused := w.expect(take(""), gateway.Exceeded)
	require(t, "to be tried again after", fault.Of(refused.err).RetryAfter, time.Minute)
	require(t, "remaining", refused.Meta.Meter.Remaining(), 0)
	w.clock.Advance(time.Minute)
	require(t, "remaining", w.expect(take(""), gateway.OK).Meta.Meter.Remaining(), 1)
}

// R-BRIDGE-10
func TestALoweredQuotaCountsWhatIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.expect(take(""), gateway.OK)
	}
	w.quota(2)
	require(t, "remaining", w.expect(take(""), gateway.Exceeded).Meta.Meter.Remaining(), 0)
	w.quota(4)
	w.expect(take(""), gateway.OK)
	w.expect(take(""), gateway.Exceeded)
}

// R-BRIDGE-5, R-BRIDGE-10
func TestACallThatFailsGivesItsUnitBackAndIsNotRemembered(t *testing.T) {
	t.Parallel()
	trouble := func(err error) func(*world) {
		return func(w *world) { w.shelf.meet(func(context.Context) error { return err }) }
	}
	for name, c := range map[string]struct {
		before func(*world)
		code   string
	}{
		"no credential":                           {func(w *world) { w.must(nil, w.creds.Delete(t.Context(), acme, operator, "shelf")) }, "credential_missing"},
		"a rejected credential":                   {trouble(fault.New(fault.Unavailable, "credential_rejected", "that password is not the shelf's")), "credential_rejected"},
		"a service that fails":                    {trouble(fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed")), "upstream_unavailable"},
		"a failure that the app does not publish": {trouble(errors.New(canary)), "internal"},
		"a fault that is none of the app's":       {trouble(fault.New(fault.Forbidden, "tenant_suspended", canary)), "internal"},
		"a panic":                                 {func(w *world) { w.shelf.meet(func(context.Context) error { panic(canary) }) }, "internal"},
		"a panic with an error":                   {func(w *world) { w.shelf.meet(func(context.Context) error { panic(errors.New(canary)) }) }, "internal"},
		"an answer that the app does not publish": {func(w *world) { w.shelf.stock["tea"] = -1 }, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.expect(take(""), gateway.OK)
			c.before(w)
			m := w.expect(take("k"), c.code)
			require(t, "used", w.used(), 1)
			if m.Meta.Meter == nil || m.Meta.Meter.Used != 1 {
				t.Errorf("the meter is told as %+v", m.Meta.Meter)
			}
			if r := w.newest(); r.Verdict != c.code || r.Charged {
				t.Errorf("recorded as %+v", r)
			}
			w.quiet(m.err)

			w.shelf.meet(nil)
			w.shelf.stock["tea"] = 100
			w.unlock()
			if again := w.expect(take("k"), gateway.OK); again.Meta.Replayed {
				t.Error("a failure is remembered")
			}
			require(t, "used", w.used(), 2)
		})
	}
}

// quiet requires that neither the log nor the error holds the canary.
func (w *world) quiet(err error) {
	w.t.Helper()
	if text := w.log.String() + err.Error(); strings.Contains(text, canary) {
		w.t.Errorf("what an app said of itself is told: %s", text)
	}
}

// R-BRIDGE-10: a unit goes back to the window that it was taken from.
func TestAUnitGoesBackToItsOwnWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.meet(func(context.Context) error {
		w.clock.Advance(12 * time.Hour) // midnight passes meanwhile
		return fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed")
	})
	w.expect(take(""), "upstream_unavailable")
	require(t, "used of the new day", w.used(), 0)
	w.shelf.meet(nil)
	w.expect(take(""), gateway.OK)
	require(t, "used of the new day", w.used(), 1)
	w.clock.Advance(-12 * time.Hour)
	require(t, "used of the old day", w.used(), 0)
}
