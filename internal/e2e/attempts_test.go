package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/logtest"
	"interlock/internal/serve/operators"
	"interlock/internal/waittest"
)

// The protocol's times, as served by default.
const (
	lease       = time.Minute
	deviceGrace = 10 * time.Second
)

// poll asks once for work on the devices, without holding.
func (w *world) poll(h *barehost.Host, key string, idle ...string) []hostapi.Assignment {
	w.t.Helper()
	got, err := h.Claim(w.t.Context(), key, 1, 1, idle...)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func acting(t *testing.T, h *barehost.Host, a hostapi.Assignment) {
	t.Helper()
	if err := h.Do(t.Context(), hostapi.TaskPath(a.TaskID, a.Attempt, "events"), "acting", hostapi.EventsRequest{Events: []hostapi.Event{{Kind: hostapi.EventActing}}}, &hostapi.EventsReply{}); err != nil {
		t.Fatal(err)
	}
}

// R-HOST-3, R-RUN-5: a host that dies before it acted loses the task at the
// lease's end, and the device stays taken for the grace after that.
func TestAHostKilledBeforeActing(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.submit(operators.TaskSpec{Goal: "x", Device: operators.Selector{DeviceID: "d0"}})
	h := w.bare("h", 2)
	first := w.claim(h, 1, devices(2))[0]

	w.clock.Advance(lease - 5*time.Second)
	if got := w.poll(h, "within the lease", devices(2)...); len(got) != 0 {
		t.Fatalf("given away within the lease: %+v", got)
	}
	w.clock.Advance(6 * time.Second)
	waittest.For(t, 10*time.Second, "the reaper queues the task again", func() (string, bool) {
		s := w.task(first.TaskID).State
		return s, s == "queued"
	})
	// The next try may start after its pause, yet not on this device before the grace.
	w.clock.Advance(deviceGrace - 3*time.Second)
	if got := w.poll(h, "within the grace", devices(2)...); len(got) != 0 {
		t.Fatalf("the same device was given away within the grace: %+v", got)
	}
	w.clock.Advance(4 * time.Second)
	again := w.claim(h, 1, devices(2))[0]
	if again.TaskID != first.TaskID || again.Attempt != 2 || again.DeviceID != "d0" {
		t.Errorf("got %+v, want attempt 2 on d0", again)
	}
	// What the dead host may still say is refused, and says that it is final.
	err := h.Do(t.Context(), hostapi.TaskPath(first.TaskID, 1, "result"), "late", hostapi.ResultRequest{State: "succeeded"}, &hostapi.ResultReply{})
	if f := fault.Of(err); f.Code != "stale_attempt" || f.Retryable {
		t.Errorf("the old attempt's result: %v", err)
	}
	if err := h.Do(t.Context(), hostapi.TaskPath(first.TaskID, 1, "renew"), "renew", struct{}{}, &hostapi.LeaseReply{}); fault.Of(err).Code != "lease_lost" || fault.Of(err).Retryable {
		t.Errorf("the old attempt's renewal: %v", err)
	}
}

// R-RUN-5: a host that dies after it acted: tried again only if the task says
// that it is repeatable, else for a person to look at.
func TestAHostKilledAfterActing(t *testing.T) {
	t.Parallel()
	for repeatable, want := range map[bool]string{true: "queued", false: "failed"} {
		w := start(t, nil)
		made := w.submit(operators.TaskSpec{Goal: "x", Repeatable: repeatable})
		h := w.bare("h", 1)
		a := w.claim(h, 1, devices(1))[0]
		acting(t, h, a)
		w.clock.Advance(lease + time.Second)
		got := waittest.For(t, 10*time.Second, "the reaper moves the task", func() (operators.Task, bool) {
			task := w.task(made.ID)
			return task, task.State != "running"
		})
		if got.State != want || (want == "failed" && got.Reason != "indeterminate") {
			t.Errorf("repeatable %v: %s (%s), want %s", repeatable, got.State, got.Reason, want)
		}
	}
}

// A result of an attempt whose lease ran out counts while nobody else has it.
func TestALateResultOfAnExpiredAttemptIsTaken(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	made := w.submit(operators.TaskSpec{Goal: "x", Repeatable: true})
	h := w.bare("h", 1)
	a := w.claim(h, 1, devices(1))[0]
	w.clock.Advance(lease + time.Second)
	waittest.For(t, 10*time.Second, "the reaper queues the task", func() (string, bool) { s := w.task(made.ID).State; return s, s == "queued" })
	result := hostapi.ResultRequest{State: "succeeded", Steps: 3, Acted: true}
	for i := range 2 {
		var reply hostapi.ResultReply
		if err := h.Do(t.Context(), hostapi.TaskPath(a.TaskID, a.Attempt, "result"), "r", result, &reply); err != nil || reply.TaskState != "succeeded" || reply.Replayed != (i == 1) {
			t.Errorf("time %d: %+v, %v", i, reply, err)
		}
	}
	result.State = "failed"
	err := h.Do(t.Context(), hostapi.TaskPath(a.TaskID, a.Attempt, "result"), "r2", result, &hostapi.ResultReply{})
	if f := fault.Of(err); f.Code != "already_terminal_different" || f.Retryable {
		t.Errorf("another result: %v", err)
	}
}

// R-HOST-1, R-CLOUD-1: a revoked host is refused at its next call, its held
// poll is cut at once, and what it held goes by the reaper's rule.
func TestARevokedHostIsCutOff(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *app.ServerConfig) { c.Tasks.PollHold = 25 * time.Second })
	made := w.submit(operators.TaskSpec{Goal: "x"})
	h := w.bare("h", 2)
	w.claim(h, 1, devices(2))
	polled := make(chan error, 1)
	var signals hostapi.PollReply
	held := make(chan struct{})
	go func() {
		close(held)
		polled <- h.Do(t.Context(), hostapi.PathPoll, "held", hostapi.PollRequest{Max: 1, WaitMS: 25_000, Idle: []string{"d1"}}, &signals)
	}()
	<-held
	waittest.For(t, 10*time.Second, "the poll is held", func() (int, bool) {
		var list operators.HostList
		w.must(http.MethodGet, operators.PathHosts, nil, &list)
		return len(list.Hosts), len(list.Hosts) == 1
	})
	w.must(http.MethodPost, operators.HostPath(h.ID, "revoke"), nil, nil)
	began := time.Now()
	select {
	case err := <-polled:
		revoked := len(signals.Signals) == 1 && signals.Signals[0].Kind == hostapi.SignalRevoked
		if !revoked && fault.Of(err).Code != "host_revoked" {
			t.Errorf("the poll was answered %+v, %v", signals, err)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the poll of a revoked host was still held after %v", time.Since(began))
	}
	err := h.Do(t.Context(), hostapi.PathHeartbeat, "hb", hostapi.HeartbeatRequest{}, &hostapi.HeartbeatReply{})
	if f := fault.Of(err); f.Kind != fault.Unauthenticated || f.Code != "host_revoked" || f.Retryable {
		t.Errorf("the next call: %v", err)
	}
	if got := w.task(made.ID); got.State != "queued" {
		t.Errorf("its task is %s, want queued: it had not acted", got.State)
	}
}

// R-CLOUD-10: priority, labels, not_before and dead letters.
func TestTasksAreServedInOrder(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	priority := func(n int) *int { return &n }
	low := w.submit(operators.TaskSpec{Goal: "low", Priority: priority(1)})
	later := w.submit(operators.TaskSpec{Goal: "later", Priority: priority(9), NotBefore: w.clock.Now().Add(time.Hour)})
	high := w.submit(operators.TaskSpec{Goal: "high", Priority: priority(8)})
	elsewhere := w.submit(operators.TaskSpec{Goal: "elsewhere", Priority: priority(9), Device: operators.Selector{Labels: map[string]string{"room": "2"}}})
	h := w.bare("h", 1)
	for i, want := range []string{high.ID, low.ID} {
		a := w.claim(h, 1, devices(1))[0]
		if a.TaskID != want {
			t.Errorf("claim %d: got %s (%s), want %s", i, a.TaskID, a.Goal, want)
		}
		finish(t, h, a, hostapi.ResultRequest{State: "succeeded"})
	}
	if got := w.poll(h, "nothing fits", devices(1)...); len(got) != 0 {
		t.Errorf("got %+v, which is not due or not for this device", got)
	}
	w.clock.Advance(time.Hour + time.Second)
	if a := w.claim(h, 1, devices(1))[0]; a.TaskID != later.ID {
		t.Errorf("got %s, want the one that is due now", a.TaskID)
	}
	w.must(http.MethodPost, operators.TaskPath(elsewhere.ID, "cancel"), operators.CancelRequest{Reason: "not needed"}, nil)
	if got := w.task(elsewhere.ID); got.State != "cancelled" {
		t.Errorf("a queued task that is cancelled is %s", got.State)
	}
}

// R-CLOUD-10: attempts used up make a dead letter, which can be run again as a
// new task.
func TestATaskOutOfTriesIsADeadLetter(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	made := w.submit(operators.TaskSpec{Goal: "x", MaxAttempts: 2})
	h := w.bare("h", 1)
	for n := range 2 {
		a := w.claim(h, 1, devices(1))[0]
		if a.Attempt != n+1 {
			t.Errorf("attempt %d, want %d", a.Attempt, n+1)
		}
		finish(t, h, a, hostapi.ResultRequest{State: "device_lost", Reason: "unplugged"})
		w.clock.Advance(time.Minute)
	}
	if got := w.task(made.ID); got.State != "dead" {
		t.Fatalf("task is %s (%s), want dead", got.State, got.Reason)
	}
	var page operators.TaskPage
	w.must(http.MethodGet, operators.PathTasks+"?state=dead", nil, &page)
	if len(page.Tasks) != 1 || page.Tasks[0].ID != made.ID {
		t.Errorf("dead letters: %+v", page.Tasks)
	}
	var again operators.SubmitReply
	w.must(http.MethodPost, operators.TaskPath(made.ID, "retry"), nil, &again)
	if again.Task.RetryOf != made.ID || again.Task.State != "queued" {
		t.Errorf("run again: %+v", again.Task)
	}
}

func finish(t *testing.T, h *barehost.Host, a hostapi.Assignment, r hostapi.ResultRequest) {
	t.Helper()
	var reply hostapi.ResultReply
	if err := h.Do(t.Context(), hostapi.TaskPath(a.TaskID, a.Attempt, "result"), fmt.Sprintf("result-%s-%d", a.TaskID, a.Attempt), r, &reply); err != nil {
		t.Fatal(err)
	}
}

// R-HOST-4: a cancel reaches a running host and ends its task as cancelled.
func TestACancelReachesARunningTask(t *testing.T) {
	t.Parallel()
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) { c.Planner = u.planner(); c.Tasks.PollHold = 25 * time.Second })
	var log logtest.Log
	w.simHost(w.url, app.Planner{Enabled: true, Transport: app.Cloud, Timeout: 20 * time.Second}, &log)
	u.delay.Store(int64(time.Hour)) // the model thinks until somebody stops it
	made := w.submit(operators.TaskSpec{Goal: "think"})
	waittest.For(t, 10*time.Second, "the provider is asked", func() (int64, bool) { n := u.calls.Load(); return n, n > 0 })
	w.must(http.MethodPost, operators.TaskPath(made.ID, "cancel"), operators.CancelRequest{Reason: "enough"}, nil)
	if got := w.ended(made.ID); got.State != "cancelled" {
		t.Errorf("task is %s (%s), want cancelled\n%s", got.State, got.Reason, log.String())
	}
	if rows := w.decisions(made.ID); len(rows) != 0 {
		t.Errorf("%d decisions, want none", len(rows))
	}
}

// taskThatWaits is one that bare hosts decide about without end.
func taskThatWaits() operators.TaskSpec { return operators.TaskSpec{Goal: "wait"} }
