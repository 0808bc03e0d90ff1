package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/clocktest"
	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/runner"
)

// R-RUN-1, R-RUN-5: how a device ends a task.
func TestTheDeviceEndsATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  sim.Fault
		state  runner.State
		reason string
		acted  bool
		last   runner.Outcome // of the last event; "" for no event
	}{
		"lost before anything":              {sim.Fault{At: sim.AtObserve, Do: sim.Lose}, runner.DeviceLost, "device_lost", false, ""},
		"not allowed":                       {sim.Fault{At: sim.AtObserve, Do: sim.Unauthorized}, runner.DeviceLost, "device_unauthorized", false, ""},
		"lost while it was decided":         {sim.Fault{At: sim.AtObserve, Skip: 1, Do: sim.Lose}, runner.DeviceLost, "device_lost", false, runner.Stopped},
		"lost before the action was sent":   {sim.Fault{At: sim.AtDo, Do: sim.Lose}, runner.DeviceLost, "device_lost", false, runner.DeviceFailed},
		"lost with the action on its way":   {sim.Fault{At: sim.AtDo, Do: sim.LoseDuring}, runner.Indeterminate, "device_lost", true, runner.Unclear},
		"lost after the action was done":    {sim.Fault{At: sim.AtObserve, Skip: 2, Do: sim.Lose}, runner.DeviceLost, "device_lost", true, runner.Done},
		"lost before the second action":     {sim.Fault{At: sim.AtDo, Skip: 1, Do: sim.Lose}, runner.DeviceLost, "device_lost", true, runner.DeviceFailed},
		"lost while success is looked at":   {sim.Fault{At: sim.AtObserve, Skip: 5, Do: sim.Lose}, runner.DeviceLost, "device_lost", true, runner.Stopped},
		"unclear in the middle of the task": {sim.Fault{At: sim.AtDo, Skip: 1, Do: sim.LoseDuring}, runner.Indeterminate, "device_lost", true, runner.Unclear},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.phone.Inject(c.fault)
			got := w.play(open(sim.Settings), open(sim.Contacts), finish("New contact"))
			w.ends(got, c.state, c.reason)
			last := runner.Outcome("")
			if n := len(w.host.events); n > 0 {
				last = w.host.events[n-1].Outcome
			}
			if got.Acted != c.acted || last != c.last {
				t.Errorf("acted %v, last event %q", got.Acted, last)
			}
		})
	}
}

// vague is a phone whose driver fails in a way that says nothing.
type vague struct{ device.Driver }

func (vague) Do(context.Context, device.Action) error { return errors.New("broken pipe") }

// R-RUN-5
func TestAnErrorThatSaysNothingIsIndeterminate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Driver = vague{w.phone}
	got := w.play(open(sim.Settings), open(sim.Settings))
	if got.State != runner.Indeterminate || got.Reason != "device_failed" || !got.Acted || len(w.seen) != 1 {
		t.Errorf("got %+v after %d decisions", got, len(w.seen))
	}
}

// R-HOST-3: what the host says at each action is believed.
func TestTheHostEndsATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		state  runner.State
		reason string // after Permit; Record differs in one
	}{
		"the lease is lost":       {fmt.Errorf("renew: %w", runner.ErrLeaseLost), runner.LeaseLost, ""},
		"the task is cancelled":   {fmt.Errorf("signal: %w", runner.ErrCancelled), runner.Cancelled, ""},
		"something else is wrong": {errors.New("disk full"), runner.Failed, "not_permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.host.permit = func(p runner.Permission) error {
				if p.Step == 2 {
					return c.err
				}
				return nil
			}
			w.ends(w.play(open(sim.Settings), open(sim.Contacts), open(sim.Settings)), c.state, c.reason)
			if want := []runner.Outcome{runner.Done, runner.Stopped}; len(w.phone.Done()) != 1 || !slices.Equal(w.outcomes(), want) {
				t.Errorf("done %v, outcomes %v", w.phone.Done(), w.outcomes())
			}

			w = newWorld(t)
			w.host.record = func(runner.StepEvent) error { return c.err }
			got := w.play(open(sim.Settings), open(sim.Contacts))
			if got.State != c.state || (got.Reason != "" && got.Reason != "not_recorded") || len(w.phone.Done()) != 1 || !got.Acted {
				t.Errorf("record: %+v, done %v", got, w.phone.Done())
			}
		})
	}
}

// R-HOST-4: a cancelled context stops before the next touch, and the event is
// kept all the same.
func TestTheContextEndsATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		state runner.State
	}{
		"with the lease lost": {fmt.Errorf("fenced: %w", runner.ErrLeaseLost), runner.LeaseLost},
		"by an operator":      {runner.ErrCancelled, runner.Cancelled},
		"for no known reason": {errors.New("shutdown"), runner.Cancelled},
	} {
		for when, at := range map[string]int{"while deciding": 0, "while permitting": 1} {
			w := newWorld(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			w.host.permit = func(runner.Permission) error {
				if at == 1 {
					cancel(c.cause)
				}
				return nil
			}
			w.opts.Planner = proposer(func(ctx context.Context, in planner.Input) (planner.Proposal, error) {
				if at == 0 {
					cancel(c.cause)
					return planner.Proposal{}, llm.AsUnavailable(ctx.Err())
				}
				return open(sim.Settings)(in)
			})
			w.ends(runner.New(w.opts).Run(ctx, w.task), c.state, "")
			if len(w.phone.Done()) != 0 || at == 1 && !slices.Equal(w.outcomes(), []runner.Outcome{runner.Stopped}) {
				t.Errorf("%s, %s: done %v, outcomes %v", name, when, w.phone.Done(), w.outcomes())
			}
		}
	}
}

// R-HOST-4: an action or a wait that is under way ends with the context.
func TestAHangingStepEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at    move
		hang  sim.Moment
		cause error // nil: the wall time runs out
		state runner.State
		why   string
		acted bool
	}{
		"an action, cancelled":   {open(sim.Settings), sim.AtDo, runner.ErrCancelled, runner.Cancelled, "", true},
		"an action, lease lost":  {open(sim.Settings), sim.AtDo, runner.ErrLeaseLost, runner.LeaseLost, "", true},
		"an action, out of time": {open(sim.Settings), sim.AtDo, nil, runner.Indeterminate, "device_failed", true},
		"a look, cancelled":      {open(sim.Settings), sim.AtObserve, runner.ErrCancelled, runner.Cancelled, "", false},
		"a look, out of time":    {open(sim.Settings), sim.AtObserve, nil, runner.BudgetExhausted, "wall_time", false},
		"a wait, cancelled":      {propose("wait", `{"ms":10000}`), "", runner.ErrCancelled, runner.Cancelled, "", false},
		"a wait, out of time":    {propose("wait", `{"ms":10000}`), "", nil, runner.BudgetExhausted, "wall_time", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task.Budgets.WallTime = 5 * time.Second
				if c.hang != "" {
					w.phone.Inject(sim.Fault{At: c.hang, Do: sim.Hang})
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				began := time.Now()
				if c.cause != nil {
					time.AfterFunc(time.Second, func() { cancel(c.cause) })
				}
				w.opts.Planner = proposer(func(_ context.Context, in planner.Input) (planner.Proposal, error) { return c.at(in) })
				got := runner.New(w.opts).Run(ctx, w.task)
				if got.State != c.state || got.Reason != c.why || got.Acted != c.acted {
					t.Errorf("got %+v", got)
				}
				want := 5 * time.Second
				if c.cause != nil {
					want = time.Second
				}
				if d := time.Since(began); d != want {
					t.Errorf("ended after %v", d)
				}
			})
		})
	}
}

// R-RUN-1
func TestBudgets(t *testing.T) {
	t.Parallel()
	flip := func(in planner.Input) (planner.Proposal, error) {
		if in.Scene.App == sim.Settings {
			return propose("swipe", `{"direction":"up"}`)(in)
		}
		return open(sim.Settings)(in)
	}
	t.Run("steps are counted, the finish among them", func(t *testing.T) {
		w := newWorld(t)
		w.task.Budgets.Steps = 2
		w.ends(w.play(open(sim.Settings), finish("Wi-Fi")), runner.Succeeded, "")
		w = w.fresh()
		got := w.play(open(sim.Settings), open(sim.Contacts), finish("New contact"))
		w.ends(got, runner.BudgetExhausted, "steps")
		if got.Steps != 2 || len(w.seen) != 2 {
			t.Errorf("%+v after %d decisions", got, len(w.seen))
		}
	})
	t.Run("time is the injected clock's", func(t *testing.T) {
		w, c := newWorld(t), clocktest.New()
		w.opts.Clock = c.Now
		w.task.Budgets.WallTime = time.Minute
		got := w.playFunc(func(in planner.Input) (planner.Proposal, error) {
			c.Advance(25 * time.Second)
			return flip(in)
		})
		w.ends(got, runner.BudgetExhausted, "wall_time")
		if len(w.seen) != 3 || w.seen[2].Timeout != 10*time.Second {
			t.Errorf("%d decisions, the last with %v", len(w.seen), w.seen[len(w.seen)-1].Timeout)
		}
		e := w.host.events[0]
		if e.Duration != 25*time.Second || !e.At.Equal(clocktest.New().Now().Add(25*time.Second)) || e.At.Location() != time.UTC {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("a decision that takes all that was left is the wall time's end, not the planner's", func(t *testing.T) {
		w, c := newWorld(t), clocktest.New()
		w.opts.Clock = c.Now
		w.task.Budgets.WallTime = time.Minute
		got := w.playFunc(func(in planner.Input) (planner.Proposal, error) {
			c.Advance(in.Timeout)
			return planner.Proposal{}, &llm.Unavailable{Reason: llm.Timeout}
		})
		w.ends(got, runner.BudgetExhausted, "wall_time")
	})
	t.Run("tokens end the task before the decision after", func(t *testing.T) {
		w := newWorld(t)
		w.task.Budgets.Tokens = 220 // two decisions of 110
		got := w.play(open(sim.Settings), open(sim.Contacts), finish("New contact"))
		w.ends(got, runner.BudgetExhausted, "tokens")
		if len(w.seen) != 2 || got.Usage.Input != llm.Known(200) || got.Usage.CachedInput.IsKnown() {
			t.Errorf("%d decisions, %+v", len(w.seen), got)
		}
	})
	t.Run("what is not reported is charged, not free", func(t *testing.T) {
		w := newWorld(t)
		w.task.Budgets.Tokens = runner.UnknownTokens
		got := w.playFunc(func(in planner.Input) (planner.Proposal, error) {
			p, err := flip(in)
			p.Usage = llm.Usage{}
			return p, err
		})
		w.ends(got, runner.BudgetExhausted, "tokens")
		if len(w.seen) != 1 || got.Usage != (llm.Usage{}) || got.Unmetered != 1 {
			t.Errorf("%d decisions, %+v", len(w.seen), got)
		}
	})
}

// R-RUN-5: circles of any length end, after a warning.
func TestGoingRoundInCirclesEnds(t *testing.T) {
	t.Parallel()
	edge := propose("tap", `{"x":5,"y":2330}`) // nothing is there
	points := 0
	for name, c := range map[string]struct {
		m      move
		reason string
		asked  int // decisions until the end
		acted  int
	}{
		"the same call on the same screen": {edge, "repeats", 5, 4},
		"there and back again": {func(in planner.Input) (planner.Proposal, error) {
			if in.Scene.App == sim.Home {
				return open(sim.Settings)(in)
			}
			return propose("key", `{"key":"home"}`)(in)
		}, "repeats", 9, 8},
		"other calls that change nothing": {func(in planner.Input) (planner.Proposal, error) {
			points++
			return propose("tap", fmt.Sprintf(`{"x":%d,"y":2330}`, points))(in)
		}, "no_progress", 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ends(w.playFunc(c.m), runner.Stuck, c.reason)
			if len(w.seen) != c.asked || len(w.phone.Done()) != c.acted {
				t.Errorf("%d decisions, %d actions", len(w.seen), len(w.phone.Done()))
			}
			if w.seen[1].Warning != "" || !strings.HasPrefix(w.seen[c.asked-1].Warning, "Warning:") {
				t.Errorf("warned %q then %q", w.seen[1].Warning, w.seen[c.asked-1].Warning)
			}
		})
	}
}

func TestAWarningGoesWhenTheCircleIsLeft(t *testing.T) {
	t.Parallel()
	edge := propose("tap", `{"x":5,"y":2330}`)
	w := newWorld(t)
	w.ends(w.play(edge, edge, edge, open(sim.Settings), finish("Wi-Fi")), runner.Succeeded, "")
	if w.seen[3].Warning == "" || w.seen[4].Warning != "" {
		t.Errorf("warned %q then %q", w.seen[3].Warning, w.seen[4].Warning)
	}
}

func TestAWaitIsPermittedButDoesNotAct(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		got := w.play(propose("wait", `{"ms":3000}`), finish("Contacts"))
		w.ends(got, runner.Succeeded, "")
		if got.Acted || len(w.host.permits) != 1 || w.host.permits[0].Mutating || time.Since(began) != 3*time.Second {
			t.Errorf("%+v, permits %+v after %v", got, w.host.permits, time.Since(began))
		}
	})
}
