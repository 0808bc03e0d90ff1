package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// R-HOST-2
func TestAHeldPollGetsATaskWhenItIsSubmitted(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		p := w.poll(t.Context(), h, 1)
		time.Sleep(7 * time.Second)
		submitted := w.submit()
		p.soon()
		if p.err != nil || len(p.Assignments) != 1 || p.Assignments[0].ID != submitted.ID {
			t.Fatalf("got %+v, %v", p.Answer, p.err)
		}
		if got := p.Assignments[0]; got.State != task.Leased || got.Attempt != 1 || got.Host != h.ID || got.Device != "phone" {
			t.Errorf("assignment %+v", got)
		}
	})
}

// R-HOST-2
func TestAPollFindsTheTaskThatWasThereBefore(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		submitted := w.submit()
		h := w.host("h", "phone")
		if p := w.poll(t.Context(), h, 1).soon(); len(p.Assignments) != 1 || p.Assignments[0].ID != submitted.ID {
			t.Fatalf("got %+v, %v", p.Answer, p.err)
		}
	})
}

// R-HOST-2
func TestAnUneventfulPollIsHeldForAboutItsHold(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		seen := map[time.Duration]bool{}
		for range 20 {
			p := w.poll(t.Context(), h, 1).wait()
			if p.err != nil || len(p.Assignments)+len(p.Signals) != 0 || p.after < 20*time.Second || p.after > 30*time.Second {
				t.Fatalf("got %+v, %v after %v; want empty after 20 to 30 s", p.Answer, p.err, p.after)
			}
			seen[p.after] = true
		}
		if len(seen) < 2 {
			t.Error("the hold has no jitter")
		}
		short := make(chan time.Duration)
		began := time.Now()
		go func() {
			if _, err := w.Poll(t.Context(), h, task.Poll{Key: "short", Wait: 3 * time.Second}); err != nil {
				t.Error(err)
			}
			short <- time.Since(began)
		}()
		if after := <-short; after != 3*time.Second {
			t.Errorf("a poll that waits 3 s at most was held %v", after)
		}
	})
}

// A submitted task must not wake every host that waits.
func TestAsManyHostsWakeAsThereAreTasks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		var polls []*held
		for i := range 12 {
			polls = append(polls, w.poll(t.Context(), w.host(fmt.Sprint("h", i), "phone"), 1))
		}
		before := w.Stats()
		for range 3 {
			w.submit()
		}
		time.Sleep(time.Second)
		woken, given := 0, map[task.ID]bool{}
		for _, p := range polls {
			if p.answered() {
				woken++
				for _, a := range p.Assignments {
					given[a.ID] = true
				}
			}
		}
		if woken != 3 || len(given) != 3 {
			t.Errorf("3 tasks woke %d hosts, which got %d tasks", woken, len(given))
		}
		if after := w.Stats(); after.HeldPolls != 9 || after.Claims-before.Claims > 3 || after.Claimed-before.Claimed != 3 {
			t.Errorf("stats before %+v, after %+v", before, after)
		}
	})
}

func TestATaskGoesToAHostThatItsSelectorMatches(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		plain, wanted := w.host("plain", "a"), w.host("wanted", "b")
		p, q := w.poll(t.Context(), plain, 1), w.poll(t.Context(), wanted, 1)
		submitted := w.submit(func(s *task.Spec) { s.Selector.Device = "b" })
		q.soon()
		if len(q.Assignments) != 1 || q.Assignments[0].ID != submitted.ID || p.answered() {
			t.Errorf("the wanted host got %+v, the other's poll ended: %v", q.Answer, p.answered())
		}
	})
}

// One host's second device serves a second task of the same moment.
func TestOnePollTakesAsManyTasksAsItsHostAsksFor(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "a", "b", "c")
		for range 3 {
			w.submit()
		}
		p := w.poll(t.Context(), h, 2).soon()
		if len(p.Assignments) != 2 || p.Assignments[0].Device == p.Assignments[1].Device {
			t.Errorf("got %+v, want two tasks on two devices", p.Assignments)
		}
	})
}

// R-HOST-2: a session that came back must not fight its own ghost.
func TestASecondPollTakesOverTheFirst(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		first := w.poll(t.Context(), h, 1)
		second := w.poll(t.Context(), h, 1)
		first.soon()
		if first.err != nil || len(first.Assignments) != 0 || len(first.Signals) != 0 {
			t.Errorf("the first got %+v, %v; want an empty answer", first.Answer, first.err)
		}
		w.submit()
		if second.soon(); len(second.Assignments) != 1 {
			t.Errorf("the second got %+v, %v", second.Answer, second.err)
		}
	})
}

// R-HOST-2: the answer to a poll got lost.
func TestALostAnswerIsGivenAgainByItsKey(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		lost := w.pollKey(t.Context(), h, 1, "k").soon()
		again := w.pollKey(t.Context(), h, 1, "k").soon()
		if len(again.Assignments) != 1 || again.Assignments[0].ID != lost.Assignments[0].ID || again.Assignments[0].Attempt != 1 {
			t.Errorf("got %+v, want attempt 1 again", again.Answer)
		}
		if _, err := w.Ack(t.Context(), fence(again.Assignments[0])); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Cancel(t.Context(), tenant.Default, operator, lost.Assignments[0].ID, ""); err != nil {
			t.Fatal(err)
		}
		w.pollKey(t.Context(), h, 0, "s").soon() // this answer is lost, too
		if signal := w.pollKey(t.Context(), h, 0, "s").soon(); len(signal.Signals) != 1 || signal.Signals[0].Kind != task.SignalCancel {
			t.Errorf("got %+v, want the cancel again", signal.Answer)
		}
		if next := w.poll(t.Context(), h, 0); next.answered() {
			t.Errorf("a poll with a new key got %+v, %v", next.Answer, next.err)
		}
	})
}

// The host's connection is cut, the claim given back, and the host asks again
// for the answer that it never got.
func TestARepeatedPollWhoseTasksAreGoneIsServedAnew(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		lost := w.pollKey(t.Context(), h, 1, "k").soon()
		if _, err := w.Release(t.Context(), fence(lost.Assignments[0]), false, "taken_back"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // this answer is lost, too
			again := w.pollKey(t.Context(), h, 1, "k").soon()
			if len(again.Assignments) != 1 || again.Assignments[0].Attempt != 2 {
				t.Errorf("got %+v, want attempt 2", again.Answer)
			}
		}
	})
}

// R-HOST-4
func TestACancelReachesTheHeldPollAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		p := w.poll(t.Context(), h, 0)
		time.Sleep(3 * time.Second)
		if _, err := w.Cancel(t.Context(), tenant.Default, operator, f.Task, "changed my mind"); err != nil {
			t.Fatal(err)
		}
		p.soon()
		if want := (task.Signal{Kind: task.SignalCancel, Task: f.Task, Attempt: 1}); len(p.Signals) != 1 || p.Signals[0] != want {
			t.Errorf("got %+v, %v; want %+v", p.Answer, p.err, want)
		}
		r, err := w.Heartbeat(t.Context(), h, []task.Held{{Task: f.Task, Attempt: f.Attempt}})
		if err != nil || !r[0].Cancel || r[0].Lost {
			t.Errorf("the heartbeat says %+v, %v; want cancel", r, err)
		}
		w.finish(f, task.Result{State: "cancelled"})
		w.want(f.Task, task.Cancelled, "cancelled")
	})
}

// R-HOST-1
func TestARevokedHostsPollIsCutAndItsLeasesEnd(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h, other := w.host("h", "phone"), w.host("other", "phone")
		w.submit()
		f := w.run(h)
		p := w.poll(t.Context(), h, 0)
		if err := w.fleet.Revoke(t.Context(), tenant.Default, operator, h.ID); err != nil {
			t.Fatal(err)
		}
		p.soon()
		if len(p.Signals) != 1 || p.Signals[0].Kind != task.SignalRevoked {
			t.Errorf("got %+v, %v; want revoked", p.Answer, p.err)
		}
		if late := w.poll(t.Context(), h, 1).soon(); len(late.Signals) != 1 || late.Signals[0].Kind != task.SignalRevoked {
			t.Errorf("a poll that was let in just before got %+v", late.Answer)
		}
		_, err := w.Renew(t.Context(), f)
		if !errors.Is(err, task.ErrLeaseLost) {
			t.Errorf("the revoked host renewed: %v", err)
		}
		if again := w.claim(other); again.ID != f.Task || again.Attempt != 2 {
			t.Errorf("the other host got %+v", again)
		}
	})
}

// An operator's drain stops new work and nothing else.
func TestADrainedHostGetsSignalsOnly(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		p := w.poll(t.Context(), h, 1)
		if err := w.fleet.SetDrain(t.Context(), tenant.Default, operator, h.ID, true); err != nil {
			t.Fatal(err)
		}
		if p.soon(); len(p.Signals) != 1 || p.Signals[0].Kind != task.SignalDrain {
			t.Errorf("got %+v, want drain", p.Answer)
		}
		h.Drain = true
		p = w.poll(t.Context(), h, 1)
		w.submit()
		time.Sleep(6 * time.Second)
		if p.answered() {
			t.Errorf("a drained host got %+v, %v", p.Answer, p.err)
		}
		if err := w.fleet.SetDrain(t.Context(), tenant.Default, operator, h.ID, false); err != nil {
			t.Fatal(err)
		}
		if p.soon(); len(p.Assignments)+len(p.Signals) != 0 {
			t.Errorf("got %+v, want an empty answer, to poll again", p.Answer)
		}
		h.Drain = false
		w.claim(h)
	})
}

// R-HOST-2
func TestAServerThatGoesDownAnswersEveryPoll(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h, other := w.host("h", "phone"), w.host("other", "phone")
		p, q := w.poll(t.Context(), h, 1), w.poll(t.Context(), other, 0)
		w.StopPolls()
		for _, x := range []*held{p.soon(), q.soon()} {
			if x.err != nil || len(x.Assignments)+len(x.Signals) != 0 {
				t.Errorf("got %+v, %v; want an empty answer", x.Answer, x.err)
			}
		}
		late := w.poll(t.Context(), h, 1).soon()
		if f := fault.Of(late.err); f == nil || f.Code != "server_draining" || !f.Retryable {
			t.Errorf("a later poll: %v, want server_draining, retryable", late.err)
		}
		w.submit()
		w.stop()
	})
}

// meanwhile runs a hook after each claim that got anything, before its answer is
// handed out.
type meanwhile struct {
	task.Store
	claimed func()
}

func (s *meanwhile) Claim(ctx context.Context, tm task.Timing, reqs []task.ClaimRequest) ([][]task.Task, error) {
	out, err := s.Store.Claim(ctx, tm, reqs)
	if slices.ContainsFunc(out, func(given []task.Task) bool { return len(given) > 0 }) {
		s.claimed()
	}
	return out, err
}

// R-HOST-2: the host went away while its claim was committed.
func TestAClaimForAVanishedHostIsGivenBackAtOnce(t *testing.T) {
	hook := &meanwhile{claimed: func() {}}
	inBubble(t, func(s task.Store) task.Store { hook.Store = s; return hook }, func(t *testing.T, w *world) {
		h, other := w.host("h", "phone"), w.host("other", "phone")
		submitted := w.submit()
		ctx, vanish := context.WithCancel(t.Context())
		var p *held
		hook.claimed = func() {
			hook.claimed = func() {}
			vanish()
			<-p.done
		}
		p = &held{w: w, done: make(chan struct{})}
		go func() {
			defer close(p.done)
			p.Answer, p.err = w.Poll(ctx, h, task.Poll{Key: "gone", Max: 1, Idle: idle(h)})
		}()
		<-p.done
		if !errors.Is(p.err, context.Canceled) {
			t.Errorf("the vanished host's poll: %v", p.err)
		}
		got := w.poll(t.Context(), other, 1).soon()
		if len(got.Assignments) != 1 || got.Assignments[0].ID != submitted.ID || got.Assignments[0].Attempt != 2 || got.Assignments[0].Tries != 0 {
			t.Errorf("the other host got %+v, want attempt 2 with no try spent", got.Answer)
		}
		if s := w.Stats(); s.Vanished != 1 {
			t.Errorf("stats %+v, want one vanished", s)
		}
	})
}

// A host that asks and goes at each claim must not make attempts without end,
// and a network that flickers for some seconds must not end the task.
func TestAHostThatVanishesAtEachClaimUsesUpTheMisses(t *testing.T) {
	hook := &meanwhile{claimed: func() {}}
	inBubble(t, func(s task.Store) task.Store { hook.Store = s; return hook }, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		submitted := w.submit()
		began := time.Now()
		for next := submitted.NextRun; time.Since(began) < time.Hour; {
			time.Sleep(time.Until(next))
			ctx, vanish := context.WithCancel(t.Context())
			p := &held{w: w, done: make(chan struct{})}
			hook.claimed = func() { vanish(); <-p.done }
			go func() {
				defer close(p.done)
				p.Answer, p.err = w.Poll(ctx, h, task.Poll{Key: fmt.Sprint("gone at ", next), Max: 1, Idle: idle(h)})
			}()
			<-p.done
			synctest.Wait()
			now, err := w.Task(t.Context(), tenant.Default, submitted.ID)
			if err != nil {
				t.Fatal(err)
			}
			if now.State.Terminal() {
				break
			}
			next = now.NextRun
		}
		got := w.want(submitted.ID, task.Dead, "never_acknowledged")
		if got.Attempt != 5 || got.Tries != 0 || time.Since(began) < 20*time.Second {
			t.Errorf("dead after %d attempts, %d tries and %v; want 5, 0 and more than 20 s", got.Attempt, got.Tries, time.Since(began))
		}
	})
}

// A task that this process never heard of, as another replica would submit it.
func TestASweepFindsWhatNobodyAnnounced(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		p := w.poll(t.Context(), h, 1)
		other, err := task.New(w.store, task.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.Submit(t.Context(), task.Submission{Tenant: tenant.Default, By: operator, Spec: task.Spec{Goal: "g"}}); err != nil {
			t.Fatal(err)
		}
		if p.wait(); len(p.Assignments) != 1 || p.after > 5*time.Second+time.Millisecond {
			t.Errorf("got %+v after %v, want the task within a sweep", p.Answer, p.after)
		}
	})
}

// R-CLOUD-10
func TestADelayedTaskStartsWhenItsTimeComes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		at := time.Now().Add(47 * time.Minute)
		w.submit(func(s *task.Spec) { s.NotBefore = at })
		for {
			p := w.poll(t.Context(), h, 1).wait()
			if p.err != nil {
				t.Fatal(p.err)
			}
			if len(p.Assignments) == 0 {
				continue
			}
			if late := time.Since(at); late < 0 || late > 50*time.Millisecond {
				t.Errorf("started %v after its time", late)
			}
			return
		}
	})
}

func TestAPollThatCannotBeIsRefused(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		for name, p := range map[string]task.Poll{"no key": {}, "negative max": {Key: "k", Max: -1}, "negative wait": {Key: "k", Wait: -1}, "too many devices": {Key: "k", Idle: make([]string, fleet.MaxDevices+1)}} {
			if _, err := w.Poll(t.Context(), h, p); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: got %v, want Invalid", name, err)
			}
		}
	})
}
