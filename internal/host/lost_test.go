package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
	"interlock/internal/llm"
	"interlock/internal/planner"
)

// deciding makes the decisions of a control plane: n taps, then finish. It
// counts how many it made for each task.
type deciding struct {
	n    int
	time time.Duration // that each takes
	mu   sync.Mutex
	made map[string]int
}

func (d *deciding) decide(_ context.Context, r hostapi.DecideRequest) (llm.Decision, error) {
	time.Sleep(d.time)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil {
		d.made = map[string]int{}
	}
	d.made[r.TaskID]++
	return llm.Decision{Call: nextTap(d.made[r.TaskID]-1, d.n), Provider: "openai", Model: "m", Usage: llm.Usage{Input: llm.Known(10), Output: llm.Known(2)}}, nil
}

// asking makes AI planners that decide at the control plane.
func asking(cloud llm.ToolCaller) planner.Planner {
	return planner.NewAI(cloud, planner.Options{})
}

// R-HOST-4, R-HOST-5: an answer that is lost after the call was carried out,
// a hundred times on each call, duplicates nothing.
func TestLostAnswersDuplicateNothing(t *testing.T) {
	for _, verb := range []string{"heartbeat", "poll", "ack", "renew", "events", "decide", "result"} {
		t.Run(verb, func(t *testing.T) {
			d := &deciding{n: 1, time: 10 * time.Millisecond}
			o := hostapitest.Options{Decide: d.decide, Timings: hostapitest.Timings}
			o.Timings.FreshMS = 1 // so that each action renews
			inWorld(t, o, func(t *testing.T, w *world) {
				h := w.run(t, asking)
				for range 100 {
					before := w.Calls(verb)
					w.Inject(verb, 1, hostapitest.CutAnswer)
					w.phone.during = func(context.Context) error { // lets a heartbeat happen, too
						if verb == "heartbeat" {
							time.Sleep(20 * time.Second)
						}
						return nil
					}
					got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count to one"}))
					if got.Result.State != "succeeded" || got.Attempt != 1 || got.Accepted != 1 || got.Decides != 2 || len(got.Events) != 3 {
						t.Fatalf("%+v\nwant one attempt with one result succeeded, two decisions and three events", got)
					}
					w.Wait(t, "the repeat of "+verb, func() bool { return w.Calls(verb) >= before+2 })
				}
				d.mu.Lock()
				for id, n := range d.made {
					if n != 2 {
						t.Errorf("%s: %d decisions were made, want 2", id, n)
					}
				}
				d.mu.Unlock()
				if touched, _ := w.phone.touches(); len(touched) != 100 {
					t.Errorf("the phone was touched %d times, want 100", len(touched))
				}
				h.end(t)
			})
		})
	}
}

func TestLostAnswersOfEnrolmentMakeOneHost(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		for range 100 {
			w.cfg.StateDir = t.TempDir()
			before := w.Hosts()
			w.Inject("enroll", 2, hostapitest.CutAnswer)
			if err := host.Enroll(t.Context(), w.cfg, w.EnrolToken()); err != nil {
				t.Fatal(err)
			}
			if made := w.Hosts() - before; made != 1 {
				t.Fatalf("%d hosts were made, want 1", made)
			}
		}
	})
}

// R-HOST-4: results that could not be sent wait on disk, and the next process
// sends them before it asks for work.
func TestResultsOutliveTheProcess(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.Inject("result", 1000, hostapitest.DropCall)
		id := w.Submit(hostapi.Assignment{Goal: "count"})
		h := w.run(t, tapping(1, 0))
		w.Wait(t, "a try to send the result", func() bool { return w.Calls("result") > 0 })
		stopped := time.Now()
		h.end(t)
		if took := time.Since(stopped); took > 11*time.Second {
			t.Errorf("stopping took %v, want at most 10s", took)
		}
		if left := w.outbox(t); len(left) != 1 {
			t.Fatalf("the outbox holds %v, want one result", left)
		}
		w.Mend("result")
		w.Inject("result", 1, hostapitest.CutAnswer)
		next := w.Submit(hostapi.Assignment{Goal: "count more"})
		asked := len(w.Arrived())
		h = w.run(t, tapping(1, 0))
		if got := w.await(t, id); got.Result.State != "succeeded" || got.Accepted != 1 || got.Attempt != 1 {
			t.Errorf("%+v, want one result of one attempt", got)
		}
		w.await(t, next)
		calls := w.Arrived()[asked:]
		if slices.Index(calls, "result") > slices.Index(calls, "poll") {
			t.Errorf("the host asked for work before it sent what it had: %v", calls)
		}
		h.end(t)
		if left := w.outbox(t); len(left) != 0 {
			t.Errorf("the outbox still holds %v", left)
		}
	})
}

func TestAResultIsDroppedOnlyOnAFinalAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer hostapitest.Fault
		kept   bool
	}{
		"another result stands":     {hostapitest.Refuse(fault.New(fault.Conflict, "already_terminal_different", "x")), false},
		"the attempt is stale":      {hostapitest.Refuse(fault.New(fault.Conflict, "stale_attempt", "x")), false},
		"there is no such task":     {hostapitest.Refuse(fault.New(fault.NotFound, "task_not_found", "x")), false},
		"the disk is full":          {hostapitest.Refuse(fault.New(fault.Unavailable, "storage_full", "x")), true},
		"a defect of the server":    {hostapitest.Refuse(errors.New("x")), true},
		"too many requests for now": {hostapitest.Refuse(fault.New(fault.Exhausted, "rate_limited", "x").Retry(time.Second)), true},
		"a proxy's 404":             {hostapitest.Page(404), true},
		"a proxy's 200":             {hostapitest.Page(200), true},
		"a redirect":                {hostapitest.Page(302), true},
		"half an answer":            {hostapitest.Answer(`{"task_state":`), true},
		"a name twice":              {hostapitest.Answer(`{"task_state":"a","task_state":"b"}`), true},
		"an answer without end":     {hostapitest.Answer(`{"task_state":"` + strings.Repeat("x", hostapi.MaxReply) + `"}`), true},
		"no answer at all":          {hostapitest.Swallow, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				w.Inject("result", 1000, c.answer)
				id := w.Submit(hostapi.Assignment{Goal: "count"})
				h := w.run(t, tapping(1, 0))
				w.Wait(t, "a try to send the result", func() bool { return w.Calls("result") > 0 })
				time.Sleep(30 * time.Second)
				if kept := len(w.outbox(t)) == 1; kept != c.kept {
					t.Errorf("kept: %v, want %v", kept, c.kept)
				}
				if c.kept {
					w.Mend("result")
					if got := w.await(t, id); got.Accepted != 1 || got.Attempt != 1 {
						t.Errorf("%d results, attempt %d; want one of the first", got.Accepted, got.Attempt)
					}
				} else if n := w.Calls("result"); n != 1 {
					t.Errorf("a final answer was asked for %d times", n)
				}
				h.end(t)
			})
		})
	}
}

func TestAResultIsGivenUpAfterAWeek(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.Inject("result", 1000, hostapitest.Refuse(fault.New(fault.Unavailable, "storage_full", "x")))
		w.Submit(hostapi.Assignment{Goal: "count"})
		restart := func() {
			before := w.Calls("result")
			h := w.run(t, tapping(1, 0))
			w.Wait(t, "a try to send the result", func() bool { return w.Calls("result") > before })
			h.end(t)
		}
		restart()
		time.Sleep(7*24*time.Hour - time.Minute)
		restart()
		if left := w.outbox(t); len(left) != 1 {
			t.Errorf("the result is gone before a week: %v", left)
		}
		time.Sleep(2 * time.Minute)
		restart()
		if left := w.outbox(t); len(left) != 0 {
			t.Errorf("the result is still tried after a week: %v", left)
		}
	})
}

func TestTheServersWordOnWhenToTryAgainIsKept(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.Inject("result", 1, hostapitest.Refuse(fault.New(fault.Unavailable, "busy", "x").Retry(90*time.Second)))
		id := w.Submit(hostapi.Assignment{Goal: "count"})
		h := w.run(t, tapping(1, 0))
		w.Wait(t, "a try to send the result", func() bool { return w.Calls("result") > 0 })
		asked := time.Now()
		for w.Task(id).State != hostapitest.Ended {
			time.Sleep(time.Second)
		}
		if took := time.Since(asked); took < 90*time.Second || took > 92*time.Second {
			t.Errorf("tried again after %v, want 90s", took)
		}
		h.end(t)
	})
}

// R-HOST-2: events come first, but a result never waits for them for ever.
func TestTheResultGoesWithoutEventsThatCannotBeDelivered(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		id := w.Submit(hostapi.Assignment{Goal: "count"})
		w.phone.during = func(context.Context) error {
			w.Inject("events", 1000, hostapitest.DropCall)
			return nil
		}
		h := w.run(t, tapping(1, 0))
		began := time.Now()
		got := w.await(t, id)
		if took := time.Since(began); got.Result.State != "succeeded" || took < 9*time.Second || took > 11*time.Second {
			t.Errorf("ended %s after %v, want succeeded after 10s", got.Result.State, took)
		}
		h.end(t)
	})
}

// R-PLAN-4: everything that the host dials is the control plane.
func TestNothingElseIsDialled(t *testing.T) {
	d := &deciding{n: 3}
	inWorld(t, hostapitest.Options{Decide: d.decide}, func(t *testing.T, w *world) {
		h := w.run(t, asking)
		if got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"})); got.Result.State != "succeeded" || got.Decides != 4 {
			t.Errorf("%+v, want succeeded by four decisions", got)
		}
		h.end(t)
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, address := range w.dialed {
			if "http://"+address != w.cfg.Server {
				t.Errorf("dialled %s", address)
			}
		}
	})
}

// The decision's place in the log is told with the step that came of it.
func TestStepsTellTheirPlaceInTheLog(t *testing.T) {
	d := &deciding{n: 2}
	inWorld(t, hostapitest.Options{Decide: d.decide}, func(t *testing.T, w *world) {
		h := w.run(t, asking)
		got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"}))
		next := 0
		for _, e := range got.Events {
			if e.Kind != hostapi.EventStep {
				continue
			}
			if e.StepIndex == nil || *e.StepIndex != next {
				t.Errorf("step %d has index %v, want %d", e.Step, e.StepIndex, next)
			}
			next++
		}
		if next != 3 || !strings.HasPrefix(got.Result.State, "succ") {
			t.Errorf("%d steps, ended %s", next, got.Result.State)
		}
		h.end(t)
	})
}
