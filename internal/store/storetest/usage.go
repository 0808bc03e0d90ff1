package storetest

import (
	"fmt"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

var usageCases = []testcase{
	{"usage sums what was reported, and counts what was not apart from zero", func(w *world) { // R-PLAN-7, R-CLOUD-9
		e := usage.Entry{Tenant: tenant.Default, Host: "h", Task: "t", Provider: "openai", Model: "m", At: w.Now()}
		for _, u := range []llm.Usage{
			{Input: llm.Known(10), Output: llm.Known(0)},
			{Input: llm.Known(5), CachedInput: llm.Known(2)},
			{},
		} {
			e.Usage = u
			w.ok(w.MeterFailure(w.ctx, e))
		}
		got, err := w.Usage(w.ctx, usage.Query{Tenant: tenant.Default})
		w.ok(err)
		w.equal(got, []usage.Rollup{{Calls: 3, Input: usage.Sum{Total: 15, Unknown: 1}, CachedInput: usage.Sum{Total: 2, Unknown: 2},
			CacheWrite: usage.Sum{Unknown: 3}, Output: usage.Sum{Unknown: 2}, Reasoning: usage.Sum{Unknown: 3}}})
	}},
	{"usage is grouped and narrowed as asked", func(w *world) {
		day := w.Now().Truncate(24 * time.Hour)
		for i := range 4 {
			e := usage.Entry{Tenant: tenant.Default, Host: fmt.Sprint("h", i%2), Task: fmt.Sprint("t", i), Provider: "p", Model: fmt.Sprint("m", i%2),
				At: day.Add(time.Duration(i/2) * 24 * time.Hour), Usage: llm.Usage{Input: llm.Known(int64(1 + i))}}
			w.ok(w.MeterFailure(w.ctx, e))
		}
		w.ok(w.MeterFailure(w.ctx, usage.Entry{Tenant: "another", At: day}))
		first, second := day.Format(time.DateOnly), day.Add(24*time.Hour).Format(time.DateOnly)
		type line struct {
			usage.Rollup
			input int64
		}
		for _, c := range []struct {
			q    usage.Query
			want []line
		}{
			{usage.Query{}, []line{{usage.Rollup{}, 10}}},
			{usage.Query{Groups: []usage.Group{usage.ByDay}}, []line{{usage.Rollup{Day: second}, 7}, {usage.Rollup{Day: first}, 3}}},
			{usage.Query{Groups: []usage.Group{usage.ByDay}, Limit: 1}, []line{{usage.Rollup{Day: second}, 7}}},
			{usage.Query{Groups: []usage.Group{usage.ByHost}, From: day.Add(24 * time.Hour)}, []line{{usage.Rollup{Host: "h0"}, 3}, {usage.Rollup{Host: "h1"}, 4}}},
			{usage.Query{Groups: []usage.Group{usage.ByModel}, To: day.Add(24 * time.Hour)}, []line{{usage.Rollup{Provider: "p", Model: "m0"}, 1}, {usage.Rollup{Provider: "p", Model: "m1"}, 2}}},
			{usage.Query{Groups: []usage.Group{usage.ByTask}, Host: "h1"}, []line{{usage.Rollup{Task: "t1"}, 2}, {usage.Rollup{Task: "t3"}, 4}}},
			{usage.Query{Task: "t2"}, []line{{usage.Rollup{}, 3}}},
			{usage.Query{Task: "nothing"}, nil},
		} {
			c.q.Tenant = tenant.Default
			got, err := w.Usage(w.ctx, c.q)
			w.ok(err)
			var lines []line
			for _, r := range got {
				lines = append(lines, line{usage.Rollup{Day: r.Day, Host: r.Host, Task: r.Task, Provider: r.Provider, Model: r.Model}, r.Input.Total})
			}
			w.is(fmt.Sprintf("%+v", c.q), fmt.Sprint(lines), fmt.Sprint(c.want))
		}
	}},
	{"prices and the switch are kept with their facts", func(w *world) {
		p := usage.Price{Provider: "openai", Model: "m*", Currency: "EUR", Input: 1_000_000, CachedInput: 1, CacheWrite: 2, Output: 3}
		w.ok(w.SetPrice(w.ctx, tenant.Default, p, w.fact("price.set")))
		p.Output = 9
		w.ok(w.SetPrice(w.ctx, tenant.Default, p, w.fact("price.set")))
		got, err := w.Prices(w.ctx, tenant.Default)
		w.ok(err)
		w.equal(got, []usage.Price{p})
		w.is("kind", fault.KindOf(w.DeletePrice(w.ctx, tenant.Default, "openai", "other", w.unkept("price.delete"))), fault.NotFound)
		w.ok(w.DeletePrice(w.ctx, tenant.Default, p.Provider, p.Model, w.fact("price.delete")))
		got, err = w.Prices(w.ctx, tenant.Default)
		w.ok(err)
		w.is("prices", len(got), 0)

		st, err := w.Stopped(w.ctx, tenant.Default)
		w.ok(err)
		w.equal(st, usage.Stop{})
		for _, want := range []usage.Stop{{On: true, Reason: "r", By: "b", At: w.Now()}, {At: w.Now()}} {
			w.ok(w.SetStop(w.ctx, tenant.Default, want, w.fact("usage.stop")))
			st, err = w.Stopped(w.ctx, tenant.Default)
			w.ok(err)
			w.equal(st, want)
		}
		w.is("facts", len(w.chain()), w.facts)
	}},
}
