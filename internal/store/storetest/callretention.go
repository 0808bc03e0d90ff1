package storetest

import (
	"time"

	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/tenant"
)

var callRetentionCases = []testcase{
	{"replies are forgotten with their keys, a page at a time, and not those of open calls", func(w *world) {
		cut := w.opened(daily(9), withKey("cut"))
		w.Advance(time.Second)
		w.interrupts(1)
		open := w.opened(daily(9), withKey("open"))
		for _, key := range []string{"a", "b", "c"} {
			w.closed(w.opened(daily(9), withKey(key)), gateway.OK, false)
		}
		w.Advance(time.Second)
		edge := w.Now()
		atEdge := w.closed(w.opened(daily(9), withKey("edge")), gateway.OK, false)
		for _, want := range []int{2, 2, 0} {
			n, err := w.ForgetReplies(w.ctx, edge, 2)
			w.ok(err)
			w.is("forgotten", n, want)
		}
		for _, key := range []string{"a", "b", "c", "cut"} {
			w.equal(w.holder("site_1", key), (*gateway.Record)(nil))
		}
		w.is("open call", w.holder("site_1", "open").ID, open.ID)
		w.is("at the edge", string(w.holder("site_1", "edge").Reply), `{"found":true}`)
		w.is("at the edge", w.holder("site_1", "edge").ID, atEdge.ID)
		again := w.opened(daily(9), withKey("cut")) // its key is free
		ok, err := w.ReopenCall(w.ctx, tenant.Default, cut.ID, w.Now())
		w.ok(err)
		w.is("the forgotten one is opened again", ok, false)
		w.is("holder", w.holder("site_1", "cut").ID, again.ID)
		w.is("records", len(w.calls(gateway.Query{})), 7)
	}},
	{"exactly the closed records and ended meters from before the cutoff go, a page at a time", func(w *world) {
		hourly := daily(9)
		hourly.Window = "hour"
		open := w.opened(hourly)
		w.closed(w.opened(hourly), gateway.OK, false)
		w.closed(w.opened(hourly, withKey("k")), gateway.OK, false)
		w.ok(w.RefuseCall(w.ctx, w.call(func(r *gateway.Record) { r.Verdict = "policy_denied" })))
		w.Advance(time.Hour)
		edge := w.Now()
		atEdge := w.closed(w.opened(hourly), gateway.OK, false)
		for _, want := range []int{2, 2, 0} { // three records and a meter
			n, err := w.PruneCalls(w.ctx, edge, 2)
			w.ok(err)
			w.is("pruned", n, want)
		}
		w.equal(w.calls(gateway.Query{}), []gateway.Record{atEdge, open})
		w.equal(w.holder("site_1", "k"), (*gateway.Record)(nil))
		w.is("used in this window", w.used(hourly), int64(1))
		m, err := w.Meter(w.ctx, tenant.Default, "abn_lookup", hourly, edge.Add(-time.Microsecond))
		w.ok(err)
		w.is("used in the one before", m.Used, int64(0))
		w.closed(open, "upstream_unavailable", true) // its meter is gone
		w.is("used in this window", w.used(hourly), int64(1))
	}},
	{"giving space back leaves what was not removed", func(w *world) {
		r := w.closed(w.opened(daily(9), withKey("k")), gateway.OK, false)
		words := w.resolved()
		w.ok(w.Reclaim(w.ctx))
		w.is("holder", w.holder("site_1", "k").ID, r.ID)
		w.equal(w.resolutions(resolve.Query{Limit: 1}), []resolve.Record{words})
	}},
}
