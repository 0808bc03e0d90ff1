package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
)

// R-HOST-1, R-HOST-2
func TestATaskRunsFromPollToResult(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		h := w.run(t, tapping(2, 0))
		task := w.await(t, w.Submit(hostapi.Assignment{Goal: "count to two"}))
		if task.Result.State != "succeeded" || task.Result.Steps != 3 || !task.Result.Acted || task.Attempt != 1 {
			t.Errorf("got result %+v of attempt %d, want succeeded after 3 steps", task.Result, task.Attempt)
		}
		var kinds []string
		for i, e := range task.Events {
			kinds = append(kinds, e.Kind)
			if e.Seq != i || e.StepIndex != nil {
				t.Errorf("event %d has seq %d, step index %v", i, e.Seq, e.StepIndex)
			}
		}
		if want := []string{"acting", "step", "step", "step"}; !slices.Equal(kinds, want) {
			t.Errorf("events %v, want %v", kinds, want)
		}
		h.end(t)
		if left := w.outbox(t); len(left) != 0 {
			t.Errorf("the outbox still holds %v", left)
		}
	})
}

// R-HOST-3: the mark is acknowledged before the phone is touched.
func TestTheFirstActionWaitsForTheActingMark(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.Inject("events", 3, hostapitest.DropCall)
		marked := make(chan bool, 2)
		var id string
		w.phone.during = func(context.Context) error {
			marked <- w.Task(id).Acting
			return nil
		}
		id = w.Submit(hostapi.Assignment{Goal: "count"})
		h := w.run(t, tapping(2, 0))
		w.await(t, id)
		if first, second := <-marked, <-marked; !first || !second {
			t.Errorf("acting was known at the first touch: %v, at the second: %v; want both", first, second)
		}
		h.end(t)
	})
}

// R-HOST-3: within 40 s of the last renewal the device is let go, nothing is
// reported, and the next attempt starts only later.
func TestAHostThatCannotRenewFencesItselfOff(t *testing.T) {
	for name, c := range map[string]struct {
		think  time.Duration
		during func(ctx context.Context) error
		breaks hostapitest.Fault
	}{
		"between actions, the network swallows":   {think: 3 * time.Second, breaks: hostapitest.Swallow},
		"between actions, connections break":      {think: 3 * time.Second, breaks: hostapitest.DropCall},
		"between actions, a proxy answers":        {think: 3 * time.Second, breaks: hostapitest.Page(502)},
		"while a decision takes for ever":         {think: time.Hour, breaks: hostapitest.Swallow},
		"in an action that hangs":                 {breaks: hostapitest.Swallow, during: hang},
		"between actions, the server has trouble": {think: 3 * time.Second, breaks: hostapitest.Refuse(errors.New("disk"))},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				w.phone.during = c.during
				id := w.Submit(hostapi.Assignment{Goal: "count for ever"})
				h := w.run(t, tapping(1000, c.think))
				w.Wait(t, "the attempt to run", func() bool { return w.Task(id).Acked })
				time.Sleep(20 * time.Second) // a heartbeat or two
				renewed := w.Task(id).Renewed
				w.Break(c.breaks)
				time.Sleep(time.Minute)
				touched, closed := w.phone.touches()
				if age := closed.Sub(renewed); age < 39*time.Second || age > 40*time.Second {
					t.Errorf("the device was let go %v after the last renewal, want 40s", age)
				}
				if n := len(touched); n > 0 && touched[n-1].Sub(renewed) > 20*time.Second {
					t.Errorf("the device was touched on a lease of %v, want at most 20s", touched[n-1].Sub(renewed))
				}
				if left := w.outbox(t); len(left) != 0 {
					t.Errorf("a result waits to be sent: %v", left)
				}
				h.stop()
				if err := <-h.ended; err != nil {
					t.Errorf("Run: %v", err)
				}
				if got := w.Task(id); got.Accepted != 0 {
					t.Errorf("%d results were reported", got.Accepted)
				}
			})
		})
	}
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return device.Fail(device.ErrFailed, device.Unknown)
}

// R-HOST-3
func TestAnAttemptThatWasTakenAwayStopsAndReportsNothing(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		id := w.Submit(hostapi.Assignment{Goal: "count for ever"})
		h := w.run(t, tapping(1000, 2*time.Second))
		w.Wait(t, "the first touch", func() bool { return w.Task(id).Acting })
		w.TakeAway(id)
		w.Wait(t, "the second attempt", func() bool { return w.Task(id).Attempt == 2 && w.Task(id).Acked })
		w.phone.mu.Lock()
		most := w.phone.most
		w.phone.mu.Unlock()
		if got := w.Task(id); got.Accepted != 0 || most != 1 {
			t.Errorf("%d results, %d sessions at once; want none and one", got.Accepted, most)
		}
		h.end(t)
	})
}

// R-HOST-4
func TestCancelReachesARunningStep(t *testing.T) {
	for name, c := range map[string]struct {
		think  time.Duration
		during func(context.Context) error
	}{
		"that decides":        {think: time.Hour},
		"that acts":           {during: hang},
		"that goes on and on": {think: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				w.phone.during = c.during
				id := w.Submit(hostapi.Assignment{Goal: "count for ever"})
				h := w.run(t, tapping(1000, c.think))
				w.Wait(t, "the attempt to run", func() bool { return w.Task(id).Acked })
				time.Sleep(7 * time.Second)
				asked := time.Now()
				w.Cancel(id)
				task := w.await(t, id)
				if took := time.Since(asked); took > 2*time.Second || task.Result.State != "cancelled" {
					t.Errorf("ended %s after %v, want cancelled within 2s", task.Result.State, took)
				}
				h.end(t)
			})
		})
	}
}

// R-HOST-4: without a poll the next heartbeat tells.
func TestCancelArrivesByHeartbeatToo(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		id := w.Submit(hostapi.Assignment{Goal: "count for ever"})
		h := w.run(t, tapping(1000, time.Hour))
		w.Wait(t, "the attempt to run", func() bool { return w.Task(id).Acked })
		w.Inject("poll", 1000, hostapitest.DropCall)
		w.Cancel(id)
		if task := w.await(t, id); task.Result.State != "cancelled" {
			t.Errorf("ended %s, want cancelled", task.Result.State)
		}
		h.end(t)
	})
}

// R-HOST-4
func TestDrainFinishesWhatRunsAndTakesNoMore(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		first := w.Submit(hostapi.Assignment{Goal: "count"})
		h := w.run(t, tapping(5, 20*time.Second))
		w.Wait(t, "the attempt to run", func() bool { return w.Task(first).Acked })
		second := w.Submit(hostapi.Assignment{Goal: "count again"})
		h.Drain()
		h.Drain()
		synctest.Wait()
		if beat := w.Heartbeat(); !beat.Draining || beat.SlotsFree != 0 {
			t.Errorf("the heartbeat after Drain says draining %v with %d slots", beat.Draining, beat.SlotsFree)
		}
		if err := <-h.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if a, b := w.Task(first), w.Task(second); a.Result == nil || a.Result.State != "succeeded" || b.Attempt != 0 {
			t.Errorf("first %+v, second claimed %d times; want succeeded and never", a.Result, b.Attempt)
		}
	})
}

// R-HOST-4
func TestWhatOutlastsTheDrainTimeIsGivenBackAtAStep(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.cfg.DrainTime = time.Minute
		w.Inject("release", 1, hostapitest.CutAnswer)
		id := w.Submit(hostapi.Assignment{Goal: "count for ever", Budgets: hostapi.Budgets{Steps: 1000, WallTimeMS: 3_600_000}})
		h := w.run(t, tapping(1000, 7*time.Second))
		w.Wait(t, "the first touch", func() bool { return w.Task(id).Acting })
		h.Drain()
		began := time.Now()
		if err := <-h.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took < time.Minute || took > 70*time.Second {
			t.Errorf("drained in %v, want a minute and a step", took)
		}
		got := w.Task(id)
		if len(got.Released) != 1 || got.Released[0] != (hostapi.ReleaseRequest{Reason: "host_draining", Acted: true}) || got.Accepted != 0 {
			t.Errorf("released %+v, %d results; want one release by drain, acted", got.Released, got.Accepted)
		}
	})
}

// R-HOST-4
func TestTheSecondSignalCancelsAndGivesBack(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		id := w.Submit(hostapi.Assignment{Goal: "count for ever"})
		h := w.run(t, tapping(1000, time.Hour))
		w.Wait(t, "the attempt to run", func() bool { return w.Task(id).Acked })
		h.Drain()
		time.Sleep(5 * time.Second)
		stopped := time.Now()
		h.end(t)
		got := w.Task(id)
		if took := time.Since(stopped); took > time.Second || len(got.Released) != 1 || got.Released[0].Reason != "host_stopped" || got.Released[0].Acted {
			t.Errorf("released %+v after %v; want once, not acted, at once", got.Released, took)
		}
	})
}

func TestAnOperatorsDrainStopsClaimingUntilItIsLifted(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		h := w.run(t, tapping(1, 0))
		w.Wait(t, "a held poll", func() bool { return w.Calls("poll") > 0 })
		synctest.Wait()
		w.SetDrain(true)
		synctest.Wait()
		id := w.Submit(hostapi.Assignment{Goal: "count"})
		time.Sleep(time.Minute)
		if got := w.Task(id); got.Attempt != 0 {
			t.Errorf("claimed while drained")
		}
		w.SetDrain(false)
		if got := w.await(t, id); got.Result.State != "succeeded" {
			t.Errorf("ended %s after the drain was lifted", got.Result.State)
		}
		h.end(t)
	})
}

// R-HOST-1
func TestARevokedHostStopsAtOnceAndSaysWhy(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		id := w.Submit(hostapi.Assignment{Goal: "count for ever"})
		h := w.run(t, tapping(1000, time.Hour))
		w.Wait(t, "the attempt to run", func() bool { return w.Task(id).Acked })
		revoked := time.Now()
		w.Revoke()
		err := <-h.ended
		if !errors.Is(err, host.ErrRevoked) || time.Since(revoked) > 5*time.Second {
			t.Errorf("Run ended with %v after %v, want ErrRevoked within 5s", err, time.Since(revoked))
		}
		if got := w.Task(id); got.Accepted != 0 || len(w.outbox(t)) != 0 {
			t.Errorf("%d results were reported, %d wait; want none", got.Accepted, len(w.outbox(t)))
		}
	})
}

func TestOnePollIsAlwaysHeld(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		h := w.run(t, tapping(1, 0))
		time.Sleep(time.Hour)
		if n := w.Calls("poll"); n < 140 || n > 150 {
			t.Errorf("%d polls in an idle hour, want one each 25s", n)
		}
		if n := w.Calls("heartbeat"); n < 220 || n > 260 {
			t.Errorf("%d heartbeats in an idle hour, want one each 15s ±20%%", n)
		}
		h.end(t)
	})
}

func TestAnswersThatSayNothingAtOnceAreSpaced(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.Inject("poll", 1_000_000, hostapitest.Answer(`{}`))
		h := w.run(t, tapping(1, 0))
		time.Sleep(time.Minute)
		if n := w.Calls("poll"); n > 60 {
			t.Errorf("%d polls in a minute to a server that does not hold them", n)
		}
		h.end(t)
	})
}

func TestADeviceThatIsLostRests(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.phone.failing = true
		first := w.Submit(hostapi.Assignment{Goal: "count"})
		h := w.run(t, tapping(1, 0))
		lost := w.await(t, first)
		if lost.Result.State != "device_lost" || lost.Result.Reason != "device_lost" || lost.Result.Acted {
			t.Errorf("ended %+v, want device_lost and not acted", lost.Result)
		}
		w.phone.mu.Lock()
		w.phone.failing = false
		w.phone.mu.Unlock()
		began := time.Now()
		second := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"}))
		if took := time.Since(began); second.Result.State != "succeeded" || took < 4*time.Second || took > 6*time.Second {
			t.Errorf("the next task ended %s after %v, want succeeded after the rest of 5s", second.Result.State, took)
		}
		h.end(t)
	})
}

func TestAnAssignmentThatCannotBeTakenIsGivenBack(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		id := w.Submit(hostapi.Assignment{Goal: "count", DeviceID: "p1"})
		w.Inject("poll", 1, hostapitest.Answer(`{"assignments":[{"task_id":"../../x","attempt":1,"device_id":"p1","goal":"g","budgets":{"steps":0,"wall_time_ms":0,"tokens":0},"policy":{"revision":""},"lease_ms":1}]}`))
		w.Inject("poll", 1, hostapitest.Answer(`{"assignments":[{"task_id":"task-9","attempt":1,"device_id":"p7","goal":"g","budgets":{"steps":0,"wall_time_ms":0,"tokens":0},"policy":{"revision":""},"lease_ms":1}]}`))
		h := w.run(t, tapping(1, 0))
		if got := w.await(t, id); got.Result.State != "succeeded" {
			t.Errorf("ended %s", got.Result.State)
		}
		h.end(t)
		if n := w.Calls("release"); n != 1 {
			t.Errorf("%d releases, want one, for the device that is not ours", n)
		}
	})
}

func TestManyDevicesWorkAtOnce(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.cfg.Slots = 2
		others := []*phone{{}, {}}
		w.cfg.Devices = append(w.cfg.Devices, others[0].offer("p2"), others[1].offer("p3"))
		var ids []string
		for range 9 {
			ids = append(ids, w.Submit(hostapi.Assignment{Goal: "count"}))
		}
		h := w.run(t, tapping(2, 5*time.Second))
		began := time.Now()
		for _, id := range ids {
			if got := w.await(t, id); got.Result.State != "succeeded" || got.Attempt != 1 {
				t.Errorf("%s ended %s in attempt %d", id, got.Result.State, got.Attempt)
			}
		}
		if took := time.Since(began); took < 75*time.Second || took > 80*time.Second {
			t.Errorf("nine tasks of 15s in two slots took %v, want 75s", took)
		}
		h.end(t)
	})
}

func TestAServerOfAnotherVersionEndsTheHost(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.Break(hostapitest.Refuse(fault.New(fault.Invalid, "protocol_version", "this server speaks version 2; run the same release on hosts and server")))
		h := w.run(t, tapping(1, 0))
		if err := <-h.ended; fault.Of(err).Code != "protocol_version" {
			t.Errorf("Run ended with %v, want protocol_version", err)
		}
	})
}
