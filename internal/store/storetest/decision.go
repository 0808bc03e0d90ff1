package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

var decisionCases = []testcase{
	{"a decision comes back as it was recorded", func(w *world) { // R-CLOUD-3, R-CLOUD-5, R-CLOUD-8
		k, f := w.running("h", "p")
		var want []decision.Row
		for i, change := range []func(*decision.Row){
			func(r *decision.Row) {
				r.Screenshot = &llm.Evidence{SHA256: [32]byte{1, 2}, Width: 1080, Height: 2400, Bytes: 512}
			},
			func(r *decision.Row) {
				r.Usage = llm.Usage{Input: llm.Known(0), CachedInput: llm.Known(3), CacheWrite: llm.Known(2), Reasoning: llm.Known(1)}
			},
			func(r *decision.Row) {
				r.SystemPrompt, r.UserPrompt, r.Usage, r.ProviderRequestID = "", "", llm.Usage{}, ""
			},
			func(r *decision.Row) {
				r.UserPrompt = strings.Repeat("a line that repeats \u2713\x00\xff\n", 4000)
				r.Tools = []tool.Spec{{Name: "tap", Parameters: []byte("{ \"type\":\n\"object\"}")}}
			},
			func(r *decision.Row) {
				r.UserPrompt = strings.Repeat("a line that repeats \u2713\x00\xff\n", 3999) + "and one that doesn't"
			},
		} {
			r := w.row(f, fmt.Sprint("key", i))
			change(&r)
			step, err := w.Record(w.ctx, r, entry(r))
			w.ok(err)
			w.is("step", step, i)
			r.StepIndex = step
			want = append(want, r)
		}
		w.equal(w.log(k.ID), want)
		for _, r := range want {
			one, err := w.Decision(w.ctx, tenant.Default, k.ID, r.Attempt, r.StepIndex)
			w.ok(err)
			w.equal(one, r)
		}
		page, err := w.Decisions(w.ctx, decision.Query{Tenant: tenant.Default, Task: k.ID, Attempt: 1, AfterAttempt: 1, AfterStep: 0, Limit: 2})
		w.ok(err)
		w.is("rows of a page", len(page), 2)
		w.is("its first", page[0].StepIndex, 1)
		w.is("prompt in a page without bodies", page[0].UserPrompt+page[0].SystemPrompt, "")
		w.is("tools in it", len(page[0].Tools), 0)
		_, err = w.Decision(w.ctx, tenant.Default, k.ID, 1, 99)
		w.fails(err, decision.ErrNotFound)
		_, err = w.Decision(w.ctx, "another", k.ID, 1, 0)
		w.fails(err, decision.ErrNotFound)
	}},
	{"a repeated key gets the first step, is metered once, and another body is refused", func(w *world) { // R-CLOUD-3
		k, f := w.running("h", "p")
		for range 10 {
			w.is("step", w.decide(f, "key"), 0)
		}
		other := w.row(f, "key")
		other.BodyHash[0] ^= 1
		_, err := w.Record(w.ctx, other, usage.Entry{Tenant: tenant.Default, At: w.Now(), Task: "elsewhere"})
		w.fails(err, decision.ErrKeyReused)
		w.is("rows", len(w.log(k.ID)), 1)
		w.is("calls", w.usageOf(k.ID).Calls, int64(1))
	}},
	{"steps are gapless whoever records at the same time, with keys that repeat", func(w *world) { // step order, I4, I5
		const callers, tasks, keys = 24, 3, 20
		var fences []task.Fence
		for i := range tasks {
			_, f := w.running("h", fmt.Sprint("p", i))
			fences = append(fences, f)
		}
		var steps sync.Map
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for _, i := range rand.Perm(tasks * keys) {
					f := fences[i%tasks]
					r := w.row(f, fmt.Sprint("key", i/tasks))
					step, err := w.Record(w.ctx, r, entry(r))
					if err != nil {
						w.Errorf("record: %v", err)
						return
					}
					if had, _ := steps.LoadOrStore(string(f.Task)+r.Key, step); had != step {
						w.Errorf("key %s answered %d and %d", r.Key, had, step)
					}
				}
			})
		}
		wg.Wait()
		for _, f := range fences {
			rows := w.log(f.Task)
			w.is("rows", len(rows), keys)
			w.gapless(rows)
			w.is("calls", w.usageOf(f.Task).Calls, int64(keys))
			for _, r := range rows {
				want := w.row(f, r.Key)
				w.is("prompt", r.UserPrompt, want.UserPrompt)
			}
		}
	}},
	{"a decide stands on its attempt, its key, the task's tokens and the switch", func(w *world) { // R-CLOUD-9
		k, f := w.running("h", "p")
		w.decide(f, "a")
		r := w.row(f, "b")
		r.Usage = llm.Usage{Output: llm.Known(5)}
		_, err := w.Record(w.ctx, r, entry(r))
		w.ok(err)
		failed := entry(w.row(f, "c"))
		failed.Reason, failed.Usage = llm.Truncated, llm.Usage{Input: llm.Known(1000)}
		w.ok(w.MeterFailure(w.ctx, failed))
		w.ok(w.MeterFailure(w.ctx, usage.Entry{Tenant: tenant.Default, Task: string(newID()), At: w.Now()}))
		stop := usage.Stop{On: true, Reason: "too dear", By: "token:1", At: w.Now()}
		w.ok(w.SetStop(w.ctx, tenant.Default, stop, w.fact("usage.stop")))
		got, err := w.Standing(w.ctx, f, "new", [32]byte{})
		w.ok(err)
		w.equal(got, decision.Standing{Decisions: 2, Tokens: 107 + 5 + 1000, Stop: stop})

		got, err = w.Standing(w.ctx, f, "b", r.BodyHash)
		w.ok(err)
		r.StepIndex, r.SystemPrompt, r.UserPrompt, r.Tools = 1, "", "", nil
		w.equal(got.Replay, &r)
		_, err = w.Standing(w.ctx, f, "b", [32]byte{})
		w.fails(err, decision.ErrKeyReused)

		w.finish(f, task.Queued, "device_lost")
		w.Advance(time.Minute)
		again, ok := w.claim("h", "p")
		w.is("claimed", ok && again.ID == k.ID, true)
		got, err = w.Standing(w.ctx, fence(again), "b", r.BodyHash)
		w.ok(err)
		w.equal(got, decision.Standing{Tokens: 107 + 5 + 1000, Stop: stop}) // keys are an attempt's own, tokens the task's
		w.is("step of the next attempt", w.decide(fence(again), "b"), 0)
		w.gapless(w.log(k.ID))
	}},
	{"a decision of an attempt that was lost meanwhile is refused, and metered all the same", func(w *world) { // record after lease lost, I6
		for name, lose := range map[string]struct {
			how  func(task.Fence)
			want error
		}{
			"ended": {func(f task.Fence) { w.finish(f, task.Succeeded, "succeeded") }, task.ErrStaleAttempt},
			"cancelled": {func(f task.Fence) {
				_, err := w.Cancel(w.ctx, timing, f.Tenant, f.Task, "", w.fact("task.cancel"))
				w.ok(err)
			}, task.ErrCancelled},
			"reaped": {func(task.Fence) { w.Advance(timing.Lease + time.Second); w.reap() }, task.ErrLeaseLost},
		} {
			k, f := w.running("h", name)
			w.decide(f, "before")
			lose.how(f)
			_, err := w.Standing(w.ctx, f, "after", [32]byte{})
			w.fails(err, lose.want)
			r := w.row(f, "after")
			_, err = w.Record(w.ctx, r, entry(r))
			w.fails(err, lose.want)
			w.is("rows", len(w.log(k.ID)), 1)
			w.is("calls", w.usageOf(k.ID).Calls, int64(2))
		}
	}},
	{"a failed call leaves no row", func(w *world) { // R-CLOUD-4
		k, f := w.running("h", "p")
		e := entry(w.row(f, "k"))
		e.Reason, e.Usage = llm.ManyCalls, llm.Usage{Input: llm.Known(9)}
		w.ok(w.MeterFailure(w.ctx, e))
		w.is("rows", len(w.log(k.ID)), 0)
		got := w.usageOf(k.ID)
		w.is("failed", got.Failed, int64(1))
		w.is("input", got.Input, usage.Sum{Total: 9})
		w.is("output", got.Output, usage.Sum{Unknown: 1})
		w.is("step", w.decide(f, "next"), 0)
	}},
}

// usageOf is the usage of one task.
func (w *world) usageOf(id task.ID) usage.Rollup {
	w.Helper()
	got, err := w.Usage(w.ctx, usage.Query{Tenant: tenant.Default, Task: string(id)})
	w.ok(err)
	if len(got) == 0 {
		return usage.Rollup{}
	}
	return got[0]
}
