package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// holder is the record that holds the key at the site; nil: none does.
func (w *world) holder(from site.ID, key string) *gateway.Record {
	w.Helper()
	r, found, err := w.Keyed(w.ctx, tenant.Default, from, key)
	w.ok(err)
	if !found {
		w.equal(r, gateway.Record{})
		return nil
	}
	return &r
}

// interrupts closes what was opened before now and is still open.
func (w *world) interrupts(want int) {
	w.Helper()
	n, err := w.InterruptCalls(w.ctx, w.Now(), 100)
	w.ok(err)
	w.is("interrupted", n, want)
}

var callKeyCases = []testcase{
	{"a repeat of a key finds the call and its reply, writes nothing and costs nothing", func(w *world) { // R-BRIDGE-5, R-BRIDGE-10
		r := w.opened(daily(5), withKey("k"))
		o, err := w.OpenCall(w.ctx, w.call(withKey("k")), daily(5))
		w.ok(err)
		w.equal(o, gateway.Opened{Before: &r})
		r = w.closed(r, gateway.OK, false)
		r.Reply = []byte(`{"found":true}`)
		o, err = w.OpenCall(w.ctx, w.call(withKey("k")), daily(0)) // also when the quota is used up
		w.ok(err)
		w.equal(o, gateway.Opened{Before: &r})
		w.equal(w.holder("site_1", "k"), &r)
		w.Store = w.Reopen()
		w.equal(w.holder("site_1", "k"), &r)
		w.is("records", len(w.calls(gateway.Query{})), 1)
		w.is("used", w.used(daily(5)), int64(1))
	}},
	{"however many repeat a key at once, one call is made", func(w *world) { // R-BRIDGE-10
		var made atomic.Int64
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				o, err := w.OpenCall(w.ctx, w.call(withKey("k")), daily(5))
				if err != nil || o.Exceeded {
					w.Errorf("open: %+v, %v", o, err)
				}
				if o.Before == nil {
					made.Add(1)
				}
			})
		}
		all.Wait()
		w.is("made", made.Load(), int64(1))
		w.is("used", w.used(daily(5)), int64(1))
	}},
	{"a key is of one site of one tenant, and no key is no key", func(w *world) {
		w.opened(daily(9), withKey("k"))
		w.opened(daily(9), withKey("k"), func(r *gateway.Record) { r.Site = "site_2" })
		w.opened(daily(9), withKey("k"), func(r *gateway.Record) { r.Tenant = "another" })
		w.opened(daily(9))
		w.opened(daily(9))
		w.equal(w.holder("site_3", "k"), (*gateway.Record)(nil))
		w.equal(w.holder("site_1", ""), (*gateway.Record)(nil))
		w.is("used", w.used(daily(9)), int64(4))
	}},
	{"a failure frees its key and is not remembered", func(w *world) {
		failed := w.closed(w.opened(daily(5), withKey("k")), "upstream_unavailable", true)
		w.equal(w.holder("site_1", "k"), (*gateway.Record)(nil))
		again := w.closed(w.opened(daily(5), withKey("k")), gateway.OK, false)
		w.is("holder", w.holder("site_1", "k").ID, again.ID)
		w.equal(w.calls(gateway.Query{}), []gateway.Record{again, failed}) // the log still says which key it was
	}},
	{"a reply without a key is not kept", func(w *world) {
		w.closed(w.opened(daily(5)), gateway.OK, false)
		n, err := w.ForgetReplies(w.ctx, w.Now().Add(time.Hour), 10)
		w.ok(err)
		w.is("forgotten", n, 0)
	}},
	{"calls left open are interrupted, a page at a time, and keep unit and key", func(w *world) {
		var left []gateway.Record
		for _, key := range []string{"a", "b", ""} {
			left = append(left, w.opened(daily(9), withKey(key)))
		}
		done := w.closed(w.opened(daily(9)), gateway.OK, false)
		w.Advance(time.Second)
		fresh := w.opened(daily(9), withKey("c")) // at the cutoff
		for _, want := range []int{2, 1, 0} {
			n, err := w.InterruptCalls(w.ctx, w.Now(), 2)
			w.ok(err)
			w.is("interrupted", n, want)
		}
		for i := range left {
			left[i].Verdict = gateway.Interrupted
		}
		w.equal(w.calls(gateway.Query{}), []gateway.Record{fresh, done, left[2], left[1], left[0]})
		w.equal(w.holder("site_1", "a"), &left[0])
		w.closed(left[0], gateway.OK, true) // its caller comes back too late
		w.equal(w.holder("site_1", "a"), &left[0])
		w.is("used", w.used(daily(9)), int64(5))
	}},
	{"an interrupted call is opened again by one repeat, with the unit that it has", func(w *world) { // R-BRIDGE-10
		r := w.opened(daily(5), withKey("k"))
		keyless := w.opened(daily(5))
		w.Advance(time.Second)
		w.interrupts(2)
		var opened atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				ok, err := w.ReopenCall(w.ctx, tenant.Default, r.ID, w.Now())
				if err != nil {
					w.Errorf("reopen: %v", err)
				}
				if ok {
					opened.Add(1)
				}
			})
		}
		all.Wait()
		w.is("opened again", opened.Load(), int64(1))
		r.Verdict, r.OpenedAt = gateway.Open, w.Now()
		w.equal(w.holder("site_1", "k"), &r)
		w.interrupts(0)
		w.is("used", w.used(daily(5)), int64(2))
		for _, not := range []struct {
			tenant tenant.ID
			id     string
		}{{"another", r.ID}, {tenant.Default, keyless.ID}, {tenant.Default, "none"}} {
			ok, err := w.ReopenCall(w.ctx, not.tenant, not.id, w.Now())
			w.ok(err)
			w.is("opened again: "+not.id, ok, false)
		}
		w.closed(r, "upstream_unavailable", true)
		w.is("used once it gave its unit back", w.used(daily(5)), int64(1))
	}},
}
