package storetest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/llm"
	"interlock/internal/policy"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

func (w *world) reserves(of tenant.ID, most int64) bool {
	w.Helper()
	ok, err := w.ReserveSelection(w.ctx, of, w.Now(), most)
	w.ok(err)
	return ok
}

var selectionCases = []testcase{
	{"a tenant's calls of the model in a day are never more than the cap", func(w *world) { // R-BRIDGE-7
		var given atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 25 {
					ok, err := w.ReserveSelection(w.ctx, tenant.Default, w.Now(), 60)
					if err != nil {
						w.Errorf("reserve: %v", err)
					}
					if ok {
						given.Add(1)
					}
				}
			})
		}
		all.Wait()
		w.is("given", given.Load(), int64(60))
		w.is("with a lower cap", w.reserves(tenant.Default, 10), false)
		w.is("with a higher cap", w.reserves(tenant.Default, 61), true)
		w.is("to another tenant", w.reserves("another", 1), true)
		w.is("to another tenant again", w.reserves("another", 1), false)
	}},
	{"a cap of none gives none", func(w *world) {
		w.is("given", w.reserves(tenant.Default, 0), false)
		w.is("given with a cap of one", w.reserves(tenant.Default, 1), true)
		w.is("given", w.reserves(tenant.Default, 0), false)
	}},
	{"each day (UTC) has its own calls, and a clock that is behind gets no more of yesterday", func(w *world) {
		yesterday := w.Now()
		w.is("yesterday", w.reserves(tenant.Default, 1), true)
		w.Advance(24 * time.Hour)
		w.is("today", w.reserves(tenant.Default, 1), true)
		ok, err := w.ReserveSelection(w.ctx, tenant.Default, yesterday, 1)
		w.ok(err)
		w.is("yesterday again", ok, false)
		berlin := time.FixedZone("", 14*60*60)
		ok, err = w.ReserveSelection(w.ctx, tenant.Default, w.Now().In(berlin), 1) // tomorrow there, today in UTC
		w.ok(err)
		w.is("today elsewhere", ok, false)
	}},
	{"a call of the selector's model is metered beside all others", func(w *world) { // R-BRIDGE-7
		e := usage.Entry{Tenant: tenant.Default, Provider: "openai", Model: "m", At: w.Now(), Usage: llm.Usage{Input: llm.Known(10)}}
		w.ok(w.MeterSelection(w.ctx, e))
		e.Reason = "timeout"
		w.ok(w.MeterSelection(w.ctx, e))
		got, err := w.Usage(w.ctx, usage.Query{Tenant: tenant.Default, Groups: []usage.Group{usage.ByModel}})
		w.ok(err)
		w.is("groups", len(got), 1)
		w.is("calls", got[0].Calls, int64(2))
		w.is("failed", got[0].Failed, int64(1))
		w.is("input", got[0].Input, usage.Sum{Total: 20})
	}},
}

// resolved records a resolution of the default tenant.
func (w *world) resolved(change ...func(*resolve.Record)) resolve.Record {
	w.Helper()
	r := resolve.Record{ID: string(newID()), Tenant: tenant.Default, Site: "site_1", RequestID: "req", At: w.Now(), Duration: 3 * time.Millisecond,
		Hash: sha256.Sum256([]byte("words")), Instruction: "look up 51 824 753 556\n", Selector: "deterministic_v1", Capability: "business.au.abn.lookup",
		App: "abn_lookup", Operation: "lookup_v1", Effect: policy.Allow, Rule: "default", Revision: "r1"}
	for _, c := range change {
		c(&r)
	}
	w.ok(w.RecordResolution(w.ctx, r))
	return r
}

func (w *world) resolutions(q resolve.Query) []resolve.Record {
	w.Helper()
	q.Tenant = tenant.Default
	got, err := w.Resolutions(w.ctx, q)
	w.ok(err)
	return got
}

var resolutionCases = []testcase{
	{"a resolution comes back as it was recorded, also after a restart", func(w *world) {
		full := w.resolved()
		bare := w.resolved(func(r *resolve.Record) {
			*r = resolve.Record{ID: r.ID, Tenant: r.Tenant, Site: r.Site, At: r.At, Hash: r.Hash, Reason: selector.NoMatch}
		})
		w.equal(w.resolutions(resolve.Query{Limit: 10}), []resolve.Record{bare, full})
		w.Store = w.Reopen()
		w.equal(w.resolutions(resolve.Query{Limit: 10}), []resolve.Record{bare, full})
	}},
	{"resolutions are listed newest first, of one tenant and as narrowed, page by page", func(w *world) {
		w.resolved(func(r *resolve.Record) { r.Tenant = "another" })
		var want, second []resolve.Record
		for i := range 7 {
			r := w.resolved(func(r *resolve.Record) { r.Site = site.ID(fmt.Sprint("site_", i%2)) })
			want = append([]resolve.Record{r}, want...)
			if i%2 == 1 {
				second = append([]resolve.Record{r}, second...)
			}
		}
		var got []resolve.Record
		for before := ""; ; before = got[len(got)-1].ID {
			page := w.resolutions(resolve.Query{Before: before, Limit: 3})
			got = append(got, page...)
			if len(page) < 3 {
				break
			}
		}
		w.equal(got, want)
		w.equal(w.resolutions(resolve.Query{Site: "site_1", Limit: 2}), second[:2])
		w.equal(w.resolutions(resolve.Query{Site: "site_1", Before: second[1].ID, Limit: 9}), second[2:])
	}},
	{"exactly the resolutions from before the cutoff go, a page at a time", func(w *world) {
		for range 5 {
			w.resolved()
		}
		w.Advance(time.Second)
		edge := w.Now()
		atEdge := w.resolved()
		for _, want := range []int{3, 2, 0} {
			n, err := w.PruneResolutions(w.ctx, edge, 3)
			w.ok(err)
			w.is("pruned", n, want)
		}
		w.equal(w.resolutions(resolve.Query{Limit: 10}), []resolve.Record{atEdge})
	}},
}
