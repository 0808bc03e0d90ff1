package hosts_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/runner"
	"interlock/internal/secret"
	"interlock/internal/serve"
	"interlock/internal/tenant"
	"interlock/internal/usage"
	"interlock/internal/waittest"
)

// R-HOST-1, R-HOST-2, R-HOST-5, R-CLOUD-1, R-CLOUD-2
func TestAHostEnrollsClaimsDecidesReportsAndEndsATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("rack-1")
	var beat hostapi.HeartbeatReply
	a.must(hostapi.PathHeartbeat, hostapi.HeartbeatRequest{Devices: []hostapi.Device{{ID: "phone", Kind: "sim"}}, SlotsFree: 1, Version: "test"}, &beat)
	if beat.Timings != timings || len(beat.Held) != 0 {
		t.Errorf("heartbeat: got %+v, want the server's timings and nothing held", beat)
	}
	as := a.take()
	if as.Attempt != 1 || as.DeviceID != "phone" || as.LeaseMS != 60_000 || as.Goal != "open the settings" {
		t.Errorf("got the assignment %+v", as)
	}
	path := func(verb string) string { return hostapi.TaskPath(as.TaskID, as.Attempt, verb) }

	var decided hostapi.DecideReply
	a.must(hostapi.PathDecide, question(as), &decided)
	if n, _ := decided.Usage.Input.Get(); decided.StepIndex != 0 || decided.ToolName != "tap" || n != 12 || decided.Provider != "oracle" {
		t.Errorf("got the decision %+v", decided)
	}
	var events hostapi.EventsReply
	index := 0
	a.must(path("events"), hostapi.EventsRequest{Events: []hostapi.Event{{Seq: 0, Kind: hostapi.EventActing},
		{Seq: 1, Kind: hostapi.EventStep, Tool: "tap", Outcome: "done", StepIndex: &index, AgoMS: 1_000}}}, &events)
	if events.Next != 2 {
		t.Errorf("the next event is %d, want 2", events.Next)
	}
	var lease hostapi.LeaseReply
	a.must(path("renew"), nil, &lease)
	if lease.LeaseMS != 60_000 || lease.Cancel {
		t.Errorf("got the lease %+v", lease)
	}
	a.must(hostapi.PathHeartbeat, hostapi.HeartbeatRequest{Held: []hostapi.Held{{TaskID: as.TaskID, Attempt: 1}, {TaskID: as.TaskID, Attempt: 7}},
		Devices: []hostapi.Device{{ID: "phone", Kind: "sim"}}, Version: "test"}, &beat)
	if len(beat.Held) != 2 || beat.Held[0].Status != hostapi.Renewed || beat.Held[1].Status != hostapi.Lost {
		t.Errorf("got the renewals %+v, want renewed and lost", beat.Held)
	}

	result := hostapi.ResultRequest{State: "succeeded", Summary: "done", Steps: 1, Acted: true, Usage: llm.Usage{Input: llm.Known(12)}}
	var end hostapi.ResultReply
	a.must(path("result"), result, &end)
	if end.TaskState != "succeeded" || end.Replayed {
		t.Errorf("got the end %+v", end)
	}
	a.must(path("result"), result, &end)
	if !end.Replayed {
		t.Error("the same result again was not a replay")
	}
	result.State = "stuck"
	if p := a.refused(path("result"), result); p.Status != 409 || p.Code != "already_terminal_different" || p.Retryable {
		t.Errorf("another result for the same attempt: got %+v, want a final 409", p)
	}
}

// R-RUN-1: what a runner calls its ends is what a host may report, but for a
// lost lease, of which nothing is reported.
func TestEveryEndOfARunnerCanBeReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("owner")
	for end, want := range map[runner.State]string{
		runner.Succeeded: "succeeded", runner.Cancelled: "cancelled", runner.Infeasible: "failed", runner.Failed: "failed", runner.Stuck: "failed",
		runner.BudgetExhausted: "failed", runner.Unverified: "failed", runner.DeviceLost: "failed", runner.Indeterminate: "failed",
	} {
		as := a.take()
		path := hostapi.TaskPath(as.TaskID, as.Attempt, "result")
		if p := a.refused(path, hostapi.ResultRequest{State: string(runner.LeaseLost), Acted: true}); p.Code != "invalid_result" {
			t.Errorf("a lost lease: got %+v, want it refused", p)
		}
		var reply hostapi.ResultReply
		if a.must(path, hostapi.ResultRequest{State: string(end), Acted: true}, &reply); reply.TaskState != want {
			t.Errorf("%s ended the task as %s, want %s", end, reply.TaskState, want)
		}
	}
}

// R-HOST-3, R-CLOUD-1
func TestAHostActsOnlyOnWhatItHasClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	owner, other := w.enroll("owner"), w.enroll("other")
	as := owner.take()
	bodies := map[string]any{
		"ack": nil, "renew": nil,
		"events":  hostapi.EventsRequest{Events: []hostapi.Event{{Kind: hostapi.EventActing}}},
		"result":  hostapi.ResultRequest{State: "succeeded"},
		"release": hostapi.ReleaseRequest{Reason: "draining"},
	}
	for _, c := range []struct {
		name    string
		who     *agent
		id      string
		attempt int
		status  int
	}{
		{"another host's attempt", other, as.TaskID, as.Attempt, 409},
		{"an attempt that has not begun", owner, as.TaskID, as.Attempt + 1, 409},
		{"a task that does not exist", owner, "01890000-0000-7000-8000-000000000000", 1, 404},
		{"an attempt that can't be", owner, as.TaskID, 0, 404},
		{"an attempt beyond all numbers", owner, as.TaskID, 1 << 40, 404},
	} {
		for verb, body := range bodies {
			p := c.who.refused(hostapi.TaskPath(c.id, c.attempt, verb), body)
			if p.Status != c.status && !(verb == "renew" && p.Code == "lease_lost") || p.Retryable {
				t.Errorf("%s, %s: got %d %s retryable=%v, want a final %d", c.name, verb, p.Status, p.Code, p.Retryable, c.status)
			}
		}
	}
	q := question(as)
	if p := other.refused(hostapi.PathDecide, q); p.Status != 409 || p.Code != "lease_lost" || p.Decision == nil {
		t.Errorf("another host's decide: got %+v, want 409 lease_lost", p)
	}
	if w.oracle.calls.Load() != 0 {
		t.Error("a host without the attempt reached the provider")
	}
	var lease hostapi.LeaseReply
	owner.must(hostapi.TaskPath(as.TaskID, as.Attempt, "renew"), nil, &lease)
}

func TestAnOrdinaryPollWithoutNewsIsAnswered204(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("idle")
	if status, _ := a.poll(time.Millisecond); status != http.StatusNoContent {
		t.Errorf("got %d, want 204", status)
	}
}

// R-HOST-4
func TestACancelReachesTheHeldPoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("busy")
	as := a.take()
	answered := make(chan hostapi.PollReply, 1)
	go func() {
		_, reply := a.poll(20 * time.Second)
		answered <- reply
	}()
	waittest.Until(t, 30*time.Second, "a poll is held", func() bool { return w.tasks.Stats().HeldPolls == 1 })
	if _, err := w.tasks.Cancel(t.Context(), tenant.Default, "token:test", task.ID(as.TaskID), "changed my mind"); err != nil {
		t.Fatal(err)
	}
	got := <-answered
	want := hostapi.Signal{Kind: hostapi.SignalCancel, TaskID: as.TaskID, Attempt: as.Attempt}
	if len(got.Signals) != 1 || got.Signals[0] != want {
		t.Errorf("got %+v, want the signal %+v", got, want)
	}
	var lease hostapi.LeaseReply
	if a.must(hostapi.TaskPath(as.TaskID, as.Attempt, "renew"), nil, &lease); !lease.Cancel {
		t.Error("a renewal does not say that the task is being cancelled")
	}
}

func TestARevokedHostIsCutOffAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("stolen")
	answered := make(chan hostapi.PollReply, 1)
	go func() {
		_, reply := a.poll(20 * time.Second)
		answered <- reply
	}()
	waittest.Until(t, 30*time.Second, "a poll is held", func() bool { return w.tasks.Stats().HeldPolls == 1 })
	if err := w.fleet.Revoke(t.Context(), tenant.Default, "token:test", fleet.HostID(a.id)); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; len(got.Signals) != 1 || got.Signals[0].Kind != hostapi.SignalRevoked {
		t.Errorf("the held poll got %+v, want the signal revoked", got)
	}
	if p := a.refused(hostapi.PathHeartbeat, hostapi.HeartbeatRequest{}); p.Status != 401 || p.Code != "host_revoked" {
		t.Errorf("the next call got %+v, want 401 host_revoked", p)
	}
}

func TestARotatedCredentialReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("old")
	var reply hostapi.CredentialReply
	a.must(hostapi.PathRotate, nil, &reply)
	if reply.HostID != a.id || reply.Credential.Reveal() == a.credential || reply.OldValidMS <= 0 {
		t.Errorf("got %+v, want a new credential of the same host", reply)
	}
	a.credential = reply.Credential.Reveal()
	var beat hostapi.HeartbeatReply
	a.must(hostapi.PathHeartbeat, hostapi.HeartbeatRequest{Version: "test"}, &beat)
}

func TestAShutdownAnswersHeldPollsAndRecordsTheDecideInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	idle, busy := w.enroll("idle"), w.enroll("busy")
	as := busy.take()
	deciding, answer := make(chan struct{}), make(chan struct{})
	w.oracle.say = func(context.Context, llm.Request) (llm.Decision, error) {
		close(deciding)
		<-answer
		return tap(), nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &serve.Server{Listeners: []serve.Listener{{Listener: listener, Handler: w.handler}}, Logger: slog.New(slog.DiscardHandler)}
	ctx, shutDown := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	w.url = "http://" + listener.Addr().String()

	polled, decided := make(chan int, 1), make(chan int, 1)
	go func() { status, _ := idle.poll(20 * time.Second); polled <- status }()
	go func() { status, _ := busy.call(hostapi.PathDecide, question(as)); decided <- status }()
	<-deciding
	waittest.Until(t, 30*time.Second, "a poll is held", func() bool { return w.tasks.Stats().HeldPolls == 1 })
	shutDown()
	if status := <-polled; status != http.StatusNoContent {
		t.Errorf("the held poll got %d, want 204", status)
	}
	close(answer)
	if status := <-decided; status != http.StatusOK {
		t.Errorf("the decide in flight got %d, want 200", status)
	}
	if err := <-done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestAnEnrolmentTokenWorksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	token := w.token()
	stranger := &agent{w: w}
	var reply hostapi.CredentialReply
	stranger.must(hostapi.PathEnroll, hostapi.EnrollRequest{Token: secret.Expose(secret.New(token)), Name: "first", Version: "test"}, &reply)
	if p := stranger.refused(hostapi.PathEnroll, hostapi.EnrollRequest{Token: secret.Expose(secret.New(token)), Name: "second", Version: "test"}); p.Status != 401 || p.Code != "enrol_token_invalid" {
		t.Errorf("the second use got %+v, want 401 enrol_token_invalid", p)
	}
}
