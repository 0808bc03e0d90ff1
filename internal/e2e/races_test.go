package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/serve/operators"
	"interlock/internal/waittest"
)

// R-CLOUD-1, R-HOST-3, R-HOST-4: ack, events, a decide, a release, two results,
// a cancel and the reaper all meet one attempt at the same moment. Each call is
// answered or refused by name, one end at most is taken, and it stands.
func TestOneEndIsTakenOfManyAtOnce(t *testing.T) {
	t.Parallel()
	const tasks = 40
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) {
		c.Planner = u.planner()
		c.Tasks.Lease, c.Tasks.AckWithin = time.Second, time.Second
		c.Tasks.DeviceGrace = time.Millisecond
	})
	h := w.bare("h", 1)
	for i := range tasks {
		task := w.submit(operators.TaskSpec{Goal: "end once", Repeatable: i%2 == 0, MaxAttempts: 1})
		var got hostapi.PollReply
		got = waittest.For(t, 20*time.Second, "the task is claimed", func() (hostapi.PollReply, bool) {
			if err := h.Do(t.Context(), hostapi.PathPoll, fmt.Sprintf("poll-%d-%d", i, w.clock.Now().UnixNano()), hostapi.PollRequest{Max: 1, WaitMS: 200, Idle: devices(1)}, &got); err != nil {
				t.Fatal(err)
			}
			return got, len(got.Assignments) == 1
		})
		ends := w.rush(h, got.Assignments[0], i)
		w.clock.Advance(2 * time.Second) // whatever is still held is reaped
		ended := w.settled(task.ID)
		if ends > 1 {
			t.Errorf("%d ends of one attempt were taken", ends)
		}
		var list operators.AttemptList
		w.must(http.MethodGet, operators.TaskPath(task.ID, "attempts"), nil, &list)
		for _, a := range list.Attempts {
			if a.EndedAt.IsZero() || a.End == "" {
				t.Errorf("the task is %s, and attempt %d has no end: %+v", ended.State, a.Number, a)
			}
		}
		if again := w.task(task.ID); again.State != ended.State || again.Reason != ended.Reason {
			t.Errorf("an end did not stand: %s %q, then %s %q", ended.State, ended.Reason, again.State, again.Reason)
		}
	}
	var chain operators.AuditVerdict
	w.must(http.MethodGet, operators.PathAuditVerify, nil, &chain)
	if !chain.Valid {
		t.Errorf("audit: %+v", chain)
	}
}

// rush makes every call about an attempt at once and returns how many results
// were taken as new.
func (w *world) rush(h *barehost.Host, a hostapi.Assignment, round int) int64 {
	w.t.Helper()
	var taken atomic.Int64
	do := func(verb, key string, body, reply any) error {
		return h.Do(w.t.Context(), hostapi.TaskPath(a.TaskID, a.Attempt, verb), fmt.Sprint(key, round), body, reply)
	}
	result := func(state string) func() error {
		return func() error {
			var r hostapi.ResultReply
			err := do("result", state, hostapi.ResultRequest{State: state}, &r)
			if err == nil && !r.Replayed {
				taken.Add(1)
			}
			return err
		}
	}
	var all sync.WaitGroup
	for name, call := range map[string]func() error{
		"ack": func() error { return do("ack", "ack", struct{}{}, &hostapi.LeaseReply{}) },
		"events": func() error {
			return do("events", "events", hostapi.EventsRequest{Events: []hostapi.Event{{Kind: hostapi.EventActing}}}, &hostapi.EventsReply{})
		},
		"renew": func() error { return do("renew", "renew", struct{}{}, &hostapi.LeaseReply{}) },
		"release": func() error {
			return do("release", "release", hostapi.ReleaseRequest{Reason: "drain"}, &hostapi.ResultReply{})
		},
		"succeeded": result("succeeded"),
		"failed":    result("failed"),
		"decide": func() error {
			_, err := decide(w.t, h, a, fmt.Sprint("decide", round), "scene")
			if errors.Is(err, llm.ErrUnavailable) { // with a reason of the closed list
				return nil
			}
			return err
		},
		"cancel": func() error {
			if status, answer := w.operator(http.MethodPost, operators.TaskPath(a.TaskID, "cancel"), nil, nil); status >= 300 && status != http.StatusConflict {
				return fmt.Errorf("status %d: %s", status, answer)
			}
			return nil
		},
	} {
		all.Go(func() {
			err := call()
			if f := fault.Of(err); err != nil && (f.Code == "" || f.Kind == fault.Internal || f.Kind == fault.Invalid) {
				w.t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	return taken.Load()
}

// settled waits for a task's end, and serves it no more.
func (w *world) settled(id string) operators.Task {
	w.t.Helper()
	return waittest.For(w.t, 20*time.Second, "task "+id+" ends", func() (operators.Task, bool) {
		t := w.task(id)
		if t.State == "queued" { // released before it was acknowledged
			w.operator(http.MethodPost, operators.TaskPath(id, "cancel"), nil, nil)
		}
		return t, t.Ended()
	})
}
