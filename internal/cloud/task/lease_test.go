package task_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// R-HOST-3, R-RUN-5: a host dies. The lease lasts 60 s, the reaper comes
// within 5 s of its end.
func TestALeaseThatRunsOutIsTriedAgainUnlessItActed(t *testing.T) {
	for name, c := range map[string]struct {
		acted, repeatable bool
		state             task.State
		reason            string
	}{
		"nothing acted":                       {false, false, task.Queued, ""},
		"it acted":                            {true, false, task.Failed, "indeterminate"},
		"it acted and the task is repeatable": {true, true, task.Queued, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				h := w.host("h", "phone")
				w.submit(func(s *task.Spec) { s.Repeatable = c.repeatable })
				f := w.run(h)
				if c.acted {
					w.act(f)
				}
				time.Sleep(59 * time.Second)
				w.want(f.Task, task.Running, "")
				time.Sleep(6*time.Second + time.Millisecond)
				got, err := w.Task(t.Context(), tenant.Default, f.Task)
				if err != nil || got.State != c.state || (c.reason != "" && got.Reason != c.reason) {
					t.Errorf("65 s after the last word: %s %q, %v; want %s %q", got.State, got.Reason, err, c.state, c.reason)
				}
				_, err = w.Renew(t.Context(), f)
				w.wantError("a renewal after the reaper", err, task.ErrLeaseLost)
				if s := w.Stats(); s.Reaped != 1 {
					t.Errorf("stats %+v, want one reaped", s)
				}
			})
		})
	}
}

// R-HOST-3: two attempts never drive one phone.
func TestADeviceStaysTakenForItsGraceAfterALeaseRanOut(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		granted := time.Now()
		again := w.poll(t.Context(), h, 1)
		for {
			if again.wait(); again.err != nil {
				t.Fatal(again.err)
			}
			if len(again.Assignments) > 0 {
				break
			}
			again = w.poll(t.Context(), h, 1)
		}
		after := time.Since(granted)
		if after < 70*time.Second || after > 80*time.Second {
			t.Errorf("the phone was given out again %v after its lease began, want 70 s (lease and grace) to 80 s", after)
		}
		if got := again.Assignments[0]; got.ID != f.Task || got.Attempt != 2 {
			t.Errorf("got %+v", got)
		}
	})
}

// R-HOST-2
func TestAHeartbeatKeepsEverythingThatAHostHolds(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "a", "b")
		w.submit()
		w.submit()
		var fs []task.Held
		for _, a := range w.poll(t.Context(), h, 2).soon().Assignments {
			if _, err := w.Ack(t.Context(), fence(a)); err != nil {
				t.Fatal(err)
			}
			fs = append(fs, task.Held{Task: a.ID, Attempt: a.Attempt})
		}
		fs = append(fs, task.Held{Task: fs[0].Task, Attempt: 7}, task.Held{Task: "unknown", Attempt: 1})
		for range 40 {
			time.Sleep(15 * time.Second)
			r, err := w.Heartbeat(t.Context(), h, fs)
			if err != nil || len(r) != 4 || r[0].Lost || r[1].Lost || !r[2].Lost || !r[3].Lost {
				t.Fatalf("got %+v, %v; want two renewed and two lost", r, err)
			}
		}
		w.want(fs[0].Task, task.Running, "")
		if _, err := w.Heartbeat(t.Context(), h, make([]task.Held, task.MaxHeld+1)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("too many held: %v", err)
		}
	})
}

// R-CLOUD-1: hosts are held apart.
func TestAHostActsOnlyOnWhatItHolds(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h, other := w.host("h", "phone"), w.host("other", "phone")
		w.submit()
		mine := w.run(h)
		theirs := mine
		theirs.Host = other.ID
		_, err := w.Ack(t.Context(), theirs)
		w.wantError("ack", err, task.ErrLeaseLost)
		_, err = w.Renew(t.Context(), theirs)
		w.wantError("renew", err, task.ErrLeaseLost)
		_, _, err = w.AppendEvents(t.Context(), theirs, []task.Event{{Kind: task.EventActing, StepIndex: -1}})
		w.wantError("events", err, task.ErrLeaseLost)
		if _, _, err = w.Finish(t.Context(), theirs, task.Result{State: "succeeded"}); err == nil {
			t.Error("a stranger's result was taken")
		}
		if _, err = w.Release(t.Context(), theirs, false, "drain"); err == nil {
			t.Error("a stranger's release was taken")
		}
		foreign := mine
		foreign.Tenant = "other"
		if _, _, err = w.Finish(t.Context(), foreign, task.Result{State: "succeeded"}); err == nil {
			t.Error("another tenant's result was taken")
		}
		w.want(mine.Task, task.Running, "")
	})
}

// A claim that is never acknowledged costs no try, and 10 s.
func TestAClaimWithoutAnAckGoesBackToTheQueue(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		got := w.claim(h)
		time.Sleep(16 * time.Second)
		back, err := w.Task(t.Context(), tenant.Default, got.ID)
		if err != nil || back.State != task.Queued || back.Tries != 0 || back.LeaseMisses != 1 {
			t.Errorf("after 16 s: %s, %d tries, %d misses, %v; want queued, 0, 1", back.State, back.Tries, back.LeaseMisses, err)
		}
	})
}

// R-HOST-4
func TestAResultIsTakenExactlyOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		r := task.Result{State: "succeeded", Summary: "done", Steps: 3, Acted: true}
		if done := w.finish(f, r); done.State != task.Succeeded || done.Result == nil || done.Result.Summary != "done" || done.TerminalAt.IsZero() {
			t.Errorf("got %+v", done)
		}
		again, replayed, err := w.Finish(t.Context(), f, r)
		if err != nil || !replayed || again.State != task.Succeeded {
			t.Errorf("the same again: %s, replayed %v, %v", again.State, replayed, err)
		}
		r.Steps = 4
		_, _, err = w.Finish(t.Context(), f, r)
		w.wantError("another result", err, task.ErrTerminalDifferent)
		_, err = w.Cancel(t.Context(), tenant.Default, operator, f.Task, "")
		w.wantError("a cancel", err, task.ErrTerminal)
		_, _, err = w.Finish(t.Context(), task.Fence{Tenant: tenant.Default, Host: h.ID, Task: "no-such-task", Attempt: 1}, r)
		w.wantError("an unknown task", err, task.ErrNotFound)
	})
}

// R-HOST-4: work that was done is not thrown away.
func TestALateResultIsTakenUnlessTheTaskRunsAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h, other := w.host("h", "phone"), w.host("other", "phone")
		w.submit()
		f := w.run(h)
		time.Sleep(70 * time.Second)
		w.finish(f, task.Result{State: "succeeded"})
		w.want(f.Task, task.Succeeded, "")

		w.submit()
		stale := w.run(h)
		time.Sleep(80 * time.Second)
		w.run(other)
		_, _, err := w.Finish(t.Context(), stale, task.Result{State: "succeeded"})
		w.wantError("a result after the next claim", err, task.ErrStaleAttempt)
		w.want(stale.Task, task.Running, "")
	})
}

// R-PLAN-11: what a provider asks for comes from outside. A result is never
// refused for it, because its host would drop the result.
func TestAWaitOfWeeksIsTakenAsADay(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		ended := time.Now()
		done := w.finish(f, task.Result{State: "failed", Reason: "planner_rate_limited", RetryAfter: 30 * 24 * time.Hour})
		if wait := done.NextRun.Sub(ended); done.State != task.Queued || wait < 24*time.Hour || wait > 25*time.Hour {
			t.Errorf("got %s, next run in %v, want queued for a day", done.State, wait)
		}
	})
}

// R-PLAN-5, R-PLAN-11: a provider that asks for patience gets it.
func TestATransientPlannerFailureIsTriedAgainAfterItsWait(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		ended := time.Now()
		done := w.finish(f, task.Result{State: "failed", Reason: "planner_rate_limited", RetryAfter: 3 * time.Minute})
		if done.State != task.Queued || done.NextRun.Sub(ended) < 3*time.Minute {
			t.Errorf("got %s, next run in %v", done.State, done.NextRun.Sub(ended))
		}
		for p := w.poll(t.Context(), h, 1).wait(); ; p = w.poll(t.Context(), h, 1).wait() {
			if len(p.Assignments) == 1 {
				break
			}
		}
		if waited := time.Since(ended); waited < 3*time.Minute || waited > 3*time.Minute+time.Second {
			t.Errorf("tried again after %v, want 3 m", waited)
		}
	})
}

func TestTriesThatAreUsedUpMakeATaskDead(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		submitted := w.submit(func(s *task.Spec) { s.MaxAttempts = 2 })
		for attempt := 1; attempt <= 2; attempt++ {
			var p *held
			for p = w.poll(t.Context(), h, 1).wait(); len(p.Assignments) == 0; p = w.poll(t.Context(), h, 1).wait() {
			}
			f := fence(p.Assignments[0])
			if _, err := w.Ack(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			w.finish(f, task.Result{State: "failed", Reason: "planner_overloaded"})
		}
		w.want(submitted.ID, task.Dead, "planner_overloaded")
		again, _, err := w.Retry(t.Context(), tenant.Default, operator, submitted.ID, "retry-1")
		if err != nil || again.RetryOf != submitted.ID || again.State != task.Queued || again.Spec.Goal != submitted.Spec.Goal {
			t.Fatalf("retry: %+v, %v", again, err)
		}
		same, replayed, err := w.Retry(t.Context(), tenant.Default, operator, submitted.ID, "retry-1")
		if err != nil || !replayed || same.ID != again.ID {
			t.Errorf("the retry again: %s, replayed %v, %v", same.ID, replayed, err)
		}
		_, _, err = w.Retry(t.Context(), tenant.Default, operator, again.ID, "retry-2")
		w.wantError("retrying what has not ended", err, task.ErrNotTerminal)
	})
}

// R-HOST-4: a cancelled task is not tried again by whatever its host reports.
func TestACancellingTaskIsNeverQueuedAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		for i, end := range []func(f task.Fence) error{
			func(f task.Fence) error {
				_, _, err := w.Finish(t.Context(), f, task.Result{State: "device_lost"})
				return err
			},
			func(f task.Fence) error { _, err := w.Release(t.Context(), f, false, "drain"); return err },
			func(f task.Fence) error { time.Sleep(66 * time.Second); return nil },
		} {
			h := w.host(fmt.Sprint("h", i), "phone")
			w.submit()
			f := w.run(h)
			if _, err := w.Cancel(t.Context(), tenant.Default, operator, f.Task, "stop"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Cancel(t.Context(), tenant.Default, operator, f.Task, "stop"); err != nil {
				t.Errorf("cancelling again: %v", err)
			}
			if err := end(f); err != nil {
				t.Fatal(err)
			}
			if got, err := w.Task(t.Context(), tenant.Default, f.Task); err != nil || got.State != task.Cancelled {
				t.Errorf("end %d: %s %q, %v; want cancelled", i, got.State, got.Reason, err)
			}
		}
	})
}

// R-HOST-4: a host that keeps its lease alive and never ends what was cancelled.
func TestACancelTakesOneLeaseAtMost(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		if _, err := w.Cancel(t.Context(), tenant.Default, operator, f.Task, "stop"); err != nil {
			t.Fatal(err)
		}
		heartbeat := func() task.Renewal {
			time.Sleep(15 * time.Second)
			r, err := w.Heartbeat(t.Context(), h, []task.Held{{Task: f.Task, Attempt: f.Attempt}})
			if err != nil {
				t.Fatal(err)
			}
			return r[0]
		}
		for range 4 {
			if r := heartbeat(); !r.Cancel || r.Lost {
				t.Fatalf("within a lease of the cancel the host is told %+v, want cancel", r)
			}
		}
		if r := heartbeat(); !r.Lost {
			t.Errorf("later it is told %+v, want lost", r)
		}
		w.want(f.Task, task.Cancelled, "stop")
	})
}

// R-CLOUD-10
func TestASubmitWithTheSameKeyIsTheSameTask(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		sub := task.Submission{Tenant: tenant.Default, By: operator, Key: "k", Spec: task.Spec{Goal: "g"}}
		first, _, err := w.Submit(t.Context(), sub)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		again, replayed, err := w.Submit(t.Context(), sub)
		if err != nil || !replayed || again.ID != first.ID {
			t.Errorf("got %s, replayed %v, %v; want %s", again.ID, replayed, err, first.ID)
		}
		sub.Spec.Goal = "another"
		_, _, err = w.Submit(t.Context(), sub)
		w.wantError("another task under the key", err, task.ErrKeyReused)
		entries, err := w.store.Facts(t.Context(), tenant.Default, 0, 100)
		if err != nil || len(entries) != 1 || entries[0].Fact.Action != "task.submit" || entries[0].Fact.Actor != operator {
			t.Errorf("facts %+v, %v; want one of the submit", entries, err)
		}
		if first.Spec.ExpiresAt.Sub(first.CreatedAt) != 7*24*time.Hour || first.Spec.MaxAttempts != 3 {
			t.Errorf("defaults of %+v", first.Spec)
		}
	})
}

// R-CLOUD-10: the repeat may come when the times that it names have passed.
func TestARepeatedSubmitIsServedAfterItsTimes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		sub := task.Submission{Tenant: tenant.Default, By: operator, Key: "k",
			Spec: task.Spec{Goal: "g", NotBefore: time.Now().Add(time.Minute), ExpiresAt: time.Now().Add(time.Hour)}}
		first, _, err := w.Submit(t.Context(), sub)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		again, replayed, err := w.Submit(t.Context(), sub)
		if err != nil || !replayed || again.ID != first.ID || again.State != task.Dead {
			t.Errorf("got %s %s, replayed %v, %v; want %s, dead", again.ID, again.State, replayed, err, first.ID)
		}
		other := sub
		other.Spec.Goal = "another"
		_, _, err = w.Submit(t.Context(), other)
		w.wantError("another task under the key", err, task.ErrKeyReused)
		for _, key := range []string{"", "another key"} {
			other.Key = key
			if _, _, err = w.Submit(t.Context(), other); fault.KindOf(err) != fault.Invalid {
				t.Errorf("a task that is late under the key %q: %v, want Invalid", key, err)
			}
		}
		other.Key, other.Spec.Goal = "k", ""
		if _, _, err = w.Submit(t.Context(), other); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "goal") || !strings.Contains(err.Error(), "expires_at") {
			t.Errorf("a task with mistakes under a key that was used: %v, want all of them", err)
		}
	})
}

func TestATaskThatWaitsTooLongIsDead(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		submitted := w.submit(func(s *task.Spec) { s.ExpiresAt = time.Now().Add(time.Minute) })
		time.Sleep(59 * time.Second)
		w.want(submitted.ID, task.Queued, "")
		time.Sleep(7 * time.Second)
		if got, err := w.Task(t.Context(), tenant.Default, submitted.ID); err != nil || got.State != task.Dead {
			t.Errorf("got %s, %v; want dead", got.State, err)
		}
	})
}

// unreliable fails the reaper's first rounds.
type unreliable struct {
	task.Store
	failures atomic.Int32
}

func (s *unreliable) Reap(ctx context.Context, tm task.Timing, limit int) ([]task.Reaped, error) {
	if s.failures.Add(-1) >= 0 {
		return nil, errors.New("disk I/O error")
	}
	return s.Store.Reap(ctx, tm, limit)
}

func TestNoFailureStopsTheReaper(t *testing.T) {
	var flaky unreliable
	flaky.failures.Store(20)
	inBubble(t, func(s task.Store) task.Store { flaky.Store = s; return &flaky }, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		time.Sleep(99 * time.Second)
		w.want(f.Task, task.Running, "")
		time.Sleep(7 * time.Second)
		if got, err := w.Task(t.Context(), tenant.Default, f.Task); err != nil || got.State != task.Queued {
			t.Errorf("got %s, %v; want queued", got.State, err)
		}
		if s := w.Stats(); s.ReapFailed != 20 {
			t.Errorf("stats %+v, want 20 failed rounds", s)
		}
	})
}

func TestHostileEventsAreRefused(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		step := task.Event{Kind: task.EventStep, Tool: "tap", StepIndex: 0}
		long := step
		long.Outcome = string(make([]byte, 1000))
		odd := step
		odd.Kind = "prompt"
		for name, events := range map[string][]task.Event{"none": nil, "too many": make([]task.Event, task.MaxEvents+1), "an unknown kind": {odd}, "text beyond its limit": {long}, "a seq that does not follow": {step, step}} {
			if _, _, err := w.AppendEvents(t.Context(), f, events); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: got %v, want Invalid", name, err)
			}
		}
		if next, _, err := w.AppendEvents(t.Context(), f, []task.Event{step}); err != nil || next != 1 {
			t.Errorf("next %d, %v", next, err)
		}
		if next, _, err := w.AppendEvents(t.Context(), f, []task.Event{step}); err != nil || next != 1 {
			t.Errorf("a repeat: next %d, %v", next, err)
		}
		if got, err := w.Events(t.Context(), tenant.Default, f.Task, 1, -1, 0); err != nil || len(got) != 1 || got[0].Tool != "tap" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// A policy that may be submitted must not end every attempt that it governs.
func TestTheLongestRevisionOfAPolicyFitsAnEvent(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		doc := policy.Document{Revision: strings.Repeat("r", policy.MaxNameBytes)}
		if err := doc.Validate(); err != nil {
			t.Fatal(err)
		}
		w.submit(func(s *task.Spec) { s.Policy = doc })
		f := w.run(h)
		if _, _, err := w.AppendEvents(t.Context(), f, []task.Event{{Kind: task.EventStep, Revision: doc.Revision, StepIndex: -1}}); err != nil {
			t.Error(err)
		}
	})
}

// A host can't fill the disk with the events of one attempt.
func TestAnAttemptHasSoManyEventsAndNoMore(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		for seq := 0; seq < task.MaxAttemptEvents; {
			batch := make([]task.Event, min(task.MaxEvents, task.MaxAttemptEvents-seq))
			for i := range batch {
				batch[i] = task.Event{Kind: task.EventStep, Seq: seq, StepIndex: -1}
				seq++
			}
			if next, _, err := w.AppendEvents(t.Context(), f, batch); err != nil || next != seq {
				t.Fatalf("event %d: next %d, %v", seq, next, err)
			}
		}
		_, _, err := w.AppendEvents(t.Context(), f, []task.Event{{Kind: task.EventStep, Seq: task.MaxAttemptEvents, StepIndex: -1}})
		w.wantError("one more", err, task.ErrEventsFull)
		if fault.Of(err).Retryable {
			t.Error("the refusal asks for a repeat")
		}
		w.finish(f, task.Result{State: "succeeded"})
	})
}
