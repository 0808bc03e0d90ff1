package storetest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// call is one that may be opened now.
func (w *world) call(change ...func(*gateway.Record)) gateway.Record {
	r := gateway.Record{ID: string(newID()), Tenant: tenant.Default, Site: "site_1", App: "abn_lookup", Operation: "lookup_v1", RequestID: "req",
		BodyHash: sha256.Sum256([]byte("body")), Arguments: []byte(`{"abn":"51824753556"}`), Revision: "r1", OpenedAt: w.Now()}
	for _, c := range change {
		c(&r)
	}
	return r
}

func withKey(key string) func(*gateway.Record) { return func(r *gateway.Record) { r.Key = key } }

// daily is a quota of so many calls a day.
func daily(limit int64) catalog.Quota { return catalog.Quota{Limit: limit, Window: catalog.Day} }

// opened opens a call that must get its unit.
func (w *world) opened(q catalog.Quota, change ...func(*gateway.Record)) gateway.Record {
	w.Helper()
	r := w.call(change...)
	o, err := w.OpenCall(w.ctx, r, q)
	w.ok(err)
	if o.Exceeded || o.Before != nil {
		w.Fatalf("not opened: %+v", o)
	}
	r.Verdict, r.Charged = gateway.Open, true
	return r
}

// exceeds wants the quota to have no unit left.
func (w *world) exceeds(q catalog.Quota, used int64) {
	w.Helper()
	o, err := w.OpenCall(w.ctx, w.call(), q)
	w.ok(err)
	w.equal(o, gateway.Opened{Exceeded: true, Used: used})
}

// closed closes a call and returns what is left in the log.
func (w *world) closed(r gateway.Record, verdict string, refund bool) gateway.Record {
	w.Helper()
	w.ok(w.CloseCall(w.ctx, gateway.Closing{Tenant: r.Tenant, ID: r.ID, Verdict: verdict, Duration: 9 * time.Millisecond, Reply: []byte(`{"found":true}`), Refund: refund}))
	r.Verdict, r.Duration = verdict, 9*time.Millisecond
	r.Charged = r.Charged && !refund
	return r
}

func (w *world) used(q catalog.Quota) int64 {
	w.Helper()
	m, err := w.Meter(w.ctx, tenant.Default, "abn_lookup", q, w.Now())
	w.ok(err)
	return m.Used
}

func (w *world) calls(q gateway.Query) []gateway.Record {
	w.Helper()
	if q.Tenant == "" {
		q.Tenant = tenant.Default
	}
	if q.Limit == 0 {
		q.Limit = 10_000
	}
	got, err := w.Calls(w.ctx, q)
	w.ok(err)
	return got
}

var callCases = []testcase{
	{"a call is logged open with its unit, then closed with its verdict and time", func(w *world) { // R-BRIDGE-5
		full := w.opened(daily(3), withKey("k"))
		bare := w.opened(daily(3), func(r *gateway.Record) { r.Arguments = nil })
		w.equal(w.calls(gateway.Query{}), []gateway.Record{bare, full})
		full, bare = w.closed(full, gateway.OK, false), w.closed(bare, "upstream_unavailable", true)
		w.equal(w.calls(gateway.Query{}), []gateway.Record{bare, full})
		w.Store = w.Reopen()
		w.equal(w.calls(gateway.Query{}), []gateway.Record{bare, full})
		w.is("used", w.used(daily(3)), int64(1))
	}},
	{"a call that finds the quota used up is logged so and costs nothing", func(w *world) { // R-BRIDGE-10
		w.opened(daily(1))
		r := w.call(withKey("k"))
		o, err := w.OpenCall(w.ctx, r, daily(1))
		w.ok(err)
		w.equal(o, gateway.Opened{Exceeded: true, Used: 1})
		r.Verdict = gateway.Exceeded
		w.equal(w.calls(gateway.Query{Limit: 1}), []gateway.Record{r})
		w.is("used", w.used(daily(1)), int64(1))
		o, err = w.OpenCall(w.ctx, w.call(withKey("k")), daily(2)) // its key is free
		w.ok(err)
		w.equal(o, gateway.Opened{Used: 2})
	}},
	{"of calls that race for the last unit one gets it", func(w *world) { // R-BRIDGE-10
		w.opened(daily(3))
		w.opened(daily(3))
		var got atomic.Int64
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				o, err := w.OpenCall(w.ctx, w.call(), daily(3))
				if err != nil || o.Used != 3 {
					w.Errorf("open: %+v, %v", o, err)
				}
				if !o.Exceeded {
					got.Add(1)
				}
			})
		}
		all.Wait()
		w.is("got it", got.Load(), int64(1))
		w.is("used", w.used(daily(3)), int64(3))
	}},
	{"eight thousand calls on a limit of a thousand are a thousand", func(w *world) { // R-BRIDGE-10
		const callers, each, limit = 64, 125, 1000
		var got atomic.Int64
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range each {
					o, err := w.OpenCall(w.ctx, w.call(), daily(limit))
					if err != nil || o.Used > limit {
						w.Errorf("open: %+v, %v", o, err)
					}
					if !o.Exceeded {
						got.Add(1)
					}
				}
			})
		}
		all.Wait()
		w.is("got one", got.Load(), int64(limit))
		w.is("used", w.used(daily(limit)), int64(limit))
		w.is("logged as refused", len(w.calls(gateway.Query{Verdict: gateway.Exceeded})), callers*each-limit)
	}},
	{"a limit of zero, or lowered below what is used, gives nothing and takes nothing away", func(w *world) { // R-BRIDGE-10
		w.exceeds(daily(0), 0)
		w.opened(daily(2))
		w.opened(daily(2))
		w.exceeds(daily(1), 2)
		w.exceeds(daily(0), 2)
		w.opened(daily(3))
		w.is("used", w.used(daily(3)), int64(3))
	}},
	{"a call that can't be logged costs nothing", func(w *world) { // R-BRIDGE-5, R-BRIDGE-10
		r := w.opened(daily(9))
		if o, err := w.OpenCall(w.ctx, r, daily(9)); err == nil {
			w.Fatalf("another record has that id, and the answer is %+v", o)
		}
		w.is("used", w.used(daily(9)), int64(1))
	}},
	{"a unit is given back once, and a closed call stays as it is", func(w *world) { // R-BRIDGE-10
		kept := w.closed(w.opened(daily(2)), gateway.OK, false)
		back := w.closed(w.opened(daily(2)), "upstream_unavailable", true)
		w.is("used", w.used(daily(2)), int64(1))
		for _, r := range []gateway.Record{kept, back} {
			w.closed(r, "credential_missing", true)
		}
		w.is("used after they were closed again", w.used(daily(2)), int64(1))
		w.equal(w.calls(gateway.Query{}), []gateway.Record{back, kept})
		w.ok(w.CloseCall(w.ctx, gateway.Closing{Tenant: tenant.Default, ID: "none", Verdict: gateway.OK, Refund: true}))
		w.ok(w.CloseCall(w.ctx, gateway.Closing{Tenant: "another", ID: w.opened(daily(2)).ID, Verdict: gateway.OK, Refund: true}))
		w.is("used after strangers closed", w.used(daily(2)), int64(2))
		w.is("open", len(w.calls(gateway.Query{Verdict: gateway.Open})), 1)
	}},
	{"a unit goes back to the window that it was taken from", func(w *world) { // R-BRIDGE-10
		q := catalog.Quota{Limit: 1, Window: catalog.Hour}
		r := w.opened(q)
		before := w.Now()
		w.Advance(time.Hour)
		w.opened(q)
		w.closed(r, "upstream_unavailable", true)
		w.is("used in this window", w.used(q), int64(1))
		m, err := w.Meter(w.ctx, tenant.Default, "abn_lookup", q, before)
		w.ok(err)
		w.is("used in the one before", m.Used, int64(0))
		w.closed(w.opened(q, func(r *gateway.Record) { r.OpenedAt = before }), "upstream_unavailable", true)
	}},
	{"each tenant, app and window is counted apart", func(w *world) { // R-BRIDGE-10
		for _, window := range []catalog.Window{catalog.Hour, catalog.Day, catalog.Month} {
			q := catalog.Quota{Limit: 1, Window: window}
			_, end := window.Bounds(w.Now())
			m, err := w.Meter(w.ctx, tenant.Default, "abn_lookup", q, w.Now())
			w.ok(err)
			w.equal(m, gateway.Meter{Quota: q, ResetsAt: end})
			w.opened(q)
			w.opened(q, func(r *gateway.Record) { r.App = "other" })
			w.opened(q, func(r *gateway.Record) { r.Tenant = "another" })
			m, err = w.Meter(w.ctx, tenant.Default, "abn_lookup", q, end.Add(-time.Microsecond))
			w.ok(err)
			w.equal(m, gateway.Meter{Quota: q, Used: 1, ResetsAt: end})
			w.opened(q, func(r *gateway.Record) { r.OpenedAt = end })
		}
	}},
	{"a refused call is logged closed, costs nothing and holds no key", func(w *world) { // R-BRIDGE-5
		r := w.call(withKey("k"))
		r.Verdict, r.Duration, r.Charged = "policy_denied", time.Millisecond, true
		w.ok(w.RefuseCall(w.ctx, r))
		r.Charged = false
		w.equal(w.calls(gateway.Query{}), []gateway.Record{r})
		w.is("used", w.used(daily(1)), int64(0))
		w.opened(daily(1), withKey("k"))
	}},
	{"calls are listed newest first, of one tenant and as narrowed, page by page", func(w *world) {
		var want []gateway.Record
		for i := range 12 {
			r := w.opened(daily(100), func(r *gateway.Record) {
				r.Site, r.App, r.Key = site.ID(fmt.Sprint("site_", i%2)), catalog.AppID(fmt.Sprint("app", i%3)), fmt.Sprint(i)
			})
			w.opened(daily(100), func(r *gateway.Record) { r.Tenant = "another" })
			if i%4 == 0 {
				r = w.closed(r, gateway.OK, false)
			}
			want = append([]gateway.Record{r}, want...)
		}
		var got []gateway.Record
		for before := ""; ; before = got[len(got)-1].ID {
			page := w.calls(gateway.Query{Before: before, Limit: 5})
			got = append(got, page...)
			if len(page) < 5 {
				break
			}
		}
		w.equal(got, want)
		for _, q := range []gateway.Query{{Site: "site_1"}, {App: "app2"}, {Verdict: gateway.OK}, {Site: "site_0", App: "app0", Verdict: gateway.Open, Before: want[0].ID}} {
			var narrowed []gateway.Record
			for _, r := range want {
				if (q.Site == "" || q.Site == r.Site) && (q.App == "" || q.App == r.App) && (q.Verdict == "" || q.Verdict == r.Verdict) && (q.Before == "" || r.ID < q.Before) {
					narrowed = append(narrowed, r)
				}
			}
			w.equal(w.calls(q), narrowed)
		}
	}},
}
