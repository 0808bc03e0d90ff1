package storetest

import (
	"errors"
	"sync"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

var resultCases = []testcase{
	{"the first result of an attempt stands, and the same again is a replay", func(w *world) { // R-HOST-4, replayed result
		k, f := w.running("h", "p")
		got := w.finish(f, task.Succeeded, "succeeded")
		want := k
		r := result(f, task.Succeeded, "succeeded").Result
		want.State, want.Reason, want.Result, want.LeaseExpires, want.TerminalAt = task.Succeeded, "succeeded", &r, time.Time{}, w.Now()
		w.equal(got, want)
		w.Advance(time.Hour)
		again, replayed, err := w.Finish(w.ctx, result(f, task.Succeeded, "succeeded"))
		w.ok(err)
		w.is("replayed", replayed, true)
		w.equal(again, got)
		_, _, err = w.Finish(w.ctx, result(f, task.Failed, "failed"))
		w.fails(err, task.ErrTerminalDifferent)
		w.equal(w.read(k.ID), got)
	}},
	{"the device of a result is free at once", func(w *world) {
		_, f := w.running("h", "p")
		w.submit()
		w.finish(f, task.Succeeded, "succeeded")
		_, ok := w.claim("h", "p")
		w.is("claimed", ok, true)
	}},
	{"a result of an attempt that expired and was not claimed again is taken", func(w *world) { // late result
		k, f := w.running("h", "p")
		w.Advance(timing.Lease + time.Second)
		w.reap()
		w.is("state", w.read(k.ID).State, task.Queued)
		got := w.finish(f, task.Succeeded, "succeeded")
		w.is("state", got.State, task.Succeeded)
		w.is("tries", got.Tries, 1)
		w.is("host", got.Host, f.Host)
		w.is("device", got.Device, "p")
		w.submit()
		_, ok := w.claim("h", "p")
		w.is("its device is free, grace or not", ok, true)
	}},
	{"a result of an attempt that was claimed again is stale", func(w *world) { // stale attempt
		k, f := w.running("h", "p")
		w.Advance(timing.Lease + time.Minute)
		w.reap()
		w.Advance(time.Minute)
		got, ok := w.claim("h2", "p")
		w.is("claimed", ok && got.ID == k.ID, true)
		_, _, err := w.Finish(w.ctx, result(f, task.Succeeded, "succeeded"))
		w.fails(err, task.ErrStaleAttempt)
		w.is("state", w.read(k.ID).State, task.Leased)
	}},
	{"a result for a task that the reaper ended is stale", func(w *world) {
		k, f := w.running("h", "p")
		w.acts(f, 0)
		w.Advance(timing.Lease + time.Second)
		w.reap()
		_, _, err := w.Finish(w.ctx, result(f, task.Succeeded, "succeeded"))
		w.fails(err, task.ErrStaleAttempt)
		w.is("reason", w.read(k.ID).Reason, "indeterminate")
	}},
	{"an unknown task, a foreign host and an attempt that never was are told apart", func(w *world) {
		_, f := w.running("h", "p")
		unknown, foreign, future := f, f, f
		unknown.Task, foreign.Host, future.Attempt = newID(), "other", 7
		for _, c := range []struct {
			f    task.Fence
			want error
		}{{unknown, task.ErrNotFound}, {foreign, task.ErrLeaseLost}, {future, task.ErrLeaseLost}} {
			_, _, err := w.Finish(w.ctx, result(c.f, task.Succeeded, "succeeded"))
			w.fails(err, c.want)
		}
	}},
	{"a result that asks for another try queues the task until none is left", func(w *world) {
		k := w.submit()
		for try := 1; try <= 3; try++ {
			got, ok := w.claim("h", "p")
			w.is("claimed", ok, true)
			_, err := w.Ack(w.ctx, timing, fence(got))
			w.ok(err)
			fin := result(fence(got), task.Queued, "device_lost")
			fin.NextRun = 7 * time.Second
			got, replayed, err := w.Finish(w.ctx, fin)
			w.ok(err)
			w.is("replayed", replayed, false)
			if try < 3 {
				w.is("state", got.State, task.Queued)
				w.is("result of a task that goes on", got.Result == nil, true)
				w.equal(got.NextRun, w.Now().Add(7*time.Second))
				w.Advance(7 * time.Second)
			} else {
				w.is("state", got.State, task.Dead)
				w.is("reason", got.Reason, "device_lost")
				w.is("result", got.Result.State, "device_lost")
			}
			_, replayed, err = w.Finish(w.ctx, fin)
			w.ok(err)
			w.is("replayed", replayed, true)
		}
		attempts, err := w.Attempts(w.ctx, tenant.Default, k.ID)
		w.ok(err)
		for i, a := range attempts {
			w.is("number", a.Number, i+1)
			w.is("end", a.End, "failed")
			w.is("reason", a.Reason, "device_lost")
			w.is("ended", a.EndedAt.IsZero(), false)
		}
	}},
	{"a cancelling task never gets another try", func(w *world) {
		k, f := w.running("h", "p")
		_, err := w.Cancel(w.ctx, timing, tenant.Default, k.ID, "stop", w.fact("task.cancel"))
		w.ok(err)
		got := w.finish(f, task.Queued, "device_lost")
		w.is("state", got.State, task.Cancelled)
		w.is("reason", got.Reason, "stop")
	}},
	{"a released attempt is queued again, by the reaper's rule if it acted", func(w *world) {
		unacked, f := w.leased("h", "p")
		for range 2 {
			got, err := w.Release(w.ctx, f, false, "draining")
			w.ok(err)
			w.is("state", got.State, task.Queued)
			w.is("tries", got.Tries, 0)
			w.is("misses", got.LeaseMisses, 0)
		}
		_, _, err := w.Finish(w.ctx, result(f, task.Succeeded, "succeeded"))
		w.fails(err, task.ErrStaleAttempt)
		got, ok := w.claim("h", "p") // the device is free at once
		w.is("claimed again", ok && got.ID == unacked.ID, true)
		_, err = w.Release(w.ctx, f, false, "draining") // an earlier attempt, released: still a no-op
		w.ok(err)
		w.is("attempt", w.read(unacked.ID).Attempt, 2)

		acted, f := w.running("h", "q")
		got, err = w.Release(w.ctx, f, true, "draining")
		w.ok(err)
		w.is("state", got.State, task.Failed)
		w.is("reason", got.Reason, "indeterminate")
		w.is("task", got.ID, acted.ID)

		_, f = w.running("h", "r", repeatable)
		w.acts(f, 0)
		got, err = w.Release(w.ctx, f, false, "draining")
		w.ok(err)
		w.is("state", got.State, task.Queued)
		w.is("tries", got.Tries, 1)
	}},
	{"a result that races the reaper leaves one terminal state for ever", func(w *world) { // terminal is absorbing
		const tasks = 200
		ids := map[task.ID]task.Fence{}
		for range tasks {
			k, f := w.running("h", string(newID()), func(s *task.Spec) { s.MaxAttempts = 1 })
			ids[k.ID] = f
		}
		w.Advance(timing.Lease + time.Second)
		var mu sync.Mutex
		first := map[task.ID]task.State{}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for n := 1; n > 0; {
					reaped, err := w.Reap(w.ctx, timing, 3)
					if n = len(reaped); err != nil {
						w.Errorf("reap: %v", err)
					}
					mu.Lock()
					for _, r := range reaped {
						first[r.Task] = r.State
					}
					mu.Unlock()
				}
			})
		}
		for id, f := range ids {
			wg.Go(func() {
				got, _, err := w.Finish(w.ctx, result(f, task.Succeeded, "succeeded"))
				if err == nil {
					mu.Lock()
					first[id] = got.State
					mu.Unlock()
				} else if !errors.Is(err, task.ErrStaleAttempt) {
					w.Errorf("finish: %v", err)
				}
			})
		}
		wg.Wait()
		w.is("tasks that ended", len(first), tasks)
		for id, state := range first {
			w.is("state", w.read(id).State, state)
			_, err := w.Cancel(w.ctx, timing, tenant.Default, id, "", w.unkept("task.cancel"))
			w.fails(err, task.ErrTerminal)
		}
	}},
}

var eventCases = []testcase{
	{"events follow one another, repeats are taken once and a gap is refused", func(w *world) {
		k, f := w.running("h", "p")
		e := func(seq int) task.Event {
			return task.Event{Seq: seq, Kind: task.EventStep, Step: seq, Tool: "tap", Effect: "allow", Rule: "default", Revision: "r", Outcome: "done",
				Duration: 40 * time.Millisecond, SceneHash: "abc", StepIndex: seq, At: w.Now()}
		}
		next, _, err := w.AppendEvents(w.ctx, f, []task.Event{e(0), e(1)})
		w.ok(err)
		w.is("next", next, 2)
		next, _, err = w.AppendEvents(w.ctx, f, []task.Event{e(1), e(2)})
		w.ok(err)
		w.is("next", next, 3)
		_, _, err = w.AppendEvents(w.ctx, f, []task.Event{e(3), e(5)})
		w.is("a gap is refused", err != nil, true)
		got, err := w.Events(w.ctx, tenant.Default, k.ID, 1, -1, 10)
		w.ok(err)
		w.equal(got, []task.Event{e(0), e(1), e(2)})
		got, err = w.Events(w.ctx, tenant.Default, k.ID, 1, 0, 1)
		w.ok(err)
		w.equal(got, []task.Event{e(1)})
		_, err = w.Events(w.ctx, "another", k.ID, 1, -1, 10)
		w.fails(err, task.ErrNotFound)
	}},
	{"the acting mark is noted once, with the attempt and the task", func(w *world) {
		k, f := w.running("h", "p")
		w.acts(f, 0)
		at := w.Now()
		w.Advance(time.Second)
		w.acts(f, 0)
		w.acts(f, 1)
		attempts, err := w.Attempts(w.ctx, tenant.Default, k.ID)
		w.ok(err)
		w.equal(attempts[0].ActingAt, at)
		w.is("acted", w.read(k.ID).Acted, true)
	}},
	{"events of an attempt that is over are refused", func(w *world) {
		_, f := w.running("h", "p")
		w.finish(f, task.Succeeded, "succeeded")
		_, _, err := w.AppendEvents(w.ctx, f, []task.Event{{At: w.Now()}})
		w.fails(err, task.ErrStaleAttempt)
	}},
}
