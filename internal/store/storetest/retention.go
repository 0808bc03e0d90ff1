package storetest

import (
	"fmt"
	"strings"
	"time"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

// decided is a task that ended now, after n decisions.
func (w *world) decided(n int) task.ID {
	w.Helper()
	k, f := w.running("h", string(newID()))
	for i := range n {
		w.decide(f, fmt.Sprint(i))
	}
	w.finish(f, task.Succeeded, "succeeded")
	return k.ID
}

func (w *world) size() decision.Size {
	w.Helper()
	z, err := w.Size(w.ctx)
	w.ok(err)
	return z
}

// pruneAll prunes until there is no more, and sums up.
func (w *world) pruneAll(before time.Time, limit int) (sum decision.Pruned) {
	w.Helper()
	for {
		p, err := w.Prune(w.ctx, before, limit)
		w.ok(err)
		w.is("tasks in a step", p.Tasks <= limit, true)
		sum.Tasks, sum.Decisions, sum.Blobs = sum.Tasks+p.Tasks, sum.Decisions+p.Decisions, sum.Blobs+p.Blobs
		if !p.More {
			return sum
		}
	}
}

var retentionCases = []testcase{
	{"exactly the decisions of tasks that ended before the cutoff go", func(w *world) { // R-CLOUD-6, I7
		_, active := w.running("h", "active")
		w.decide(active, "k")
		old := w.decided(2)
		w.Advance(time.Second)
		edge := w.Now()
		atEdge := w.decided(3)
		empty := w.decided(0)
		w.Advance(time.Second)
		recent := w.decided(4)
		next, err := w.NextPrune(w.ctx)
		w.ok(err)
		w.equal(next, w.read(old).TerminalAt)

		w.equal(w.pruneAll(edge, 10), decision.Pruned{Tasks: 1, Decisions: 2})
		w.is("old", len(w.log(old)), 0)
		w.is("at the edge", len(w.log(atEdge)), 3)
		w.equal(w.read(old).PrunedAt, w.Now())
		w.is("nothing twice", w.pruneAll(edge, 10), decision.Pruned{})

		w.equal(w.pruneAll(edge.Add(time.Microsecond), 1), decision.Pruned{Tasks: 2, Decisions: 3})
		w.is("pruned without decisions", w.read(empty).PrunedAt.IsZero(), false)
		w.is("recent", len(w.log(recent)), 4)
		w.is("active", len(w.log(active.Task)), 1)
		next, err = w.NextPrune(w.ctx)
		w.ok(err)
		w.equal(next, w.read(recent).TerminalAt)
		w.is("rows counted", w.size().Rows, int64(5))
	}},
	{"prompts that tasks share go with the last of them, and the size is what is left", func(w *world) {
		w.is("size", w.size(), decision.Size{})
		first := w.decided(2)
		one := w.size()
		w.Advance(time.Second)
		middle := w.Now()
		second := w.decided(2)
		two := w.size()
		w.is("rows", two.Rows, int64(4))
		w.is("shared text is stored once", two.Bytes-one.Bytes < one.Bytes, true)
		w.is("blobs gone with the first", w.pruneAll(middle, 10).Blobs, 0)
		w.is("prompt of the other", w.log(second)[1].SystemPrompt, "You drive a phone.")
		w.equal(w.log(second)[1].Tools, tools)
		w.is("first", len(w.log(first)), 0)
		w.Advance(time.Second)
		w.is("blobs gone with the last", w.pruneAll(w.Now(), 10).Blobs, 2)
		w.is("size", w.size(), decision.Size{})
		third := w.decided(1)
		w.is("a prompt that was pruned is stored anew", w.log(third)[0].SystemPrompt, "You drive a phone.")
		w.ok(w.Reclaim(w.ctx))
		w.is("rows after giving space back", len(w.log(third)), 1)
	}},
	{"a tenant's prompts are not another's", func(w *world) {
		w.decided(1)
		k := task.Task{ID: newID(), Tenant: "another", Spec: spec(), State: task.Queued}
		_, _, err := w.Submit(w.ctx, k, "", [32]byte{}, w.unkeptFor("another"))
		w.ok(err)
		req := wants("h", 1, "theirs")
		req.Tenant = "another"
		got := w.claims(req)[0][0]
		before := w.size().Bytes
		r := w.row(fence(got), "k")
		_, err = w.Record(w.ctx, r, entry(r))
		w.ok(err)
		w.is("stored again", w.size().Bytes-before > int64(len(r.SystemPrompt)), true)
		w.Advance(time.Second)
		w.is("blobs gone with the default tenant's task", w.pruneAll(w.Now(), 10).Blobs, 2)
		rows, err := w.Decisions(w.ctx, decision.Query{Tenant: "another", Task: k.ID, AfterStep: -1, Limit: 10, Bodies: true})
		w.ok(err)
		w.is("prompt", rows[0].SystemPrompt, r.SystemPrompt)
	}},
	{"an operator purges one ended task, with the fact", func(w *world) { // R-GOV-0
		gone, kept := w.decided(3), w.decided(1)
		_, f := w.running("h", "p")
		w.decide(f, "k")
		p, err := w.Purge(w.ctx, tenant.Default, gone, w.fact("decision.purge"))
		w.ok(err)
		w.equal(p, decision.Pruned{Tasks: 1, Decisions: 3})
		w.is("rows", len(w.log(gone)), 0)
		w.is("rows of another", len(w.log(kept)), 1)
		_, err = w.Purge(w.ctx, tenant.Default, f.Task, w.unkept("decision.purge"))
		w.fails(err, task.ErrNotTerminal)
		_, err = w.Purge(w.ctx, "another", kept, w.unkept("decision.purge"))
		w.fails(err, task.ErrNotFound)
		w.is("facts", len(w.chain()), w.facts)
		w.is("size", w.size().Rows, int64(2))
	}},
	{"a large log is pruned in steps that say when there is more", func(w *world) {
		for range 12 {
			_, f := w.running("h", string(newID()))
			for i := range 120 {
				r := w.row(f, fmt.Sprint(i))
				r.UserPrompt = strings.Repeat(r.Key, 50)
				_, err := w.Record(w.ctx, r, entry(r))
				w.ok(err)
			}
			w.finish(f, task.Succeeded, "succeeded")
		}
		w.Advance(time.Second)
		p, err := w.Prune(w.ctx, w.Now(), 1000)
		w.ok(err)
		w.is("more", p.More, true)
		sum := w.pruneAll(w.Now(), 1000)
		w.is("decisions", p.Decisions+sum.Decisions, 12*120)
		w.is("size", w.size(), decision.Size{})
	}},
}
