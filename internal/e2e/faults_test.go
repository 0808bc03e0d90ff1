package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/fault"
	"interlock/internal/faultproxy"
	"interlock/internal/hostapi"
	"interlock/internal/logtest"
	"interlock/internal/serve/operators"
)

// rounds is how often each mutating call loses its answer.
const rounds = 100

// oncePer loses the first answer of every idempotency key on paths that hold part.
func oncePer(part string, lose faultproxy.Fault) func(*http.Request) faultproxy.Fault {
	var seen sync.Map
	return func(r *http.Request) faultproxy.Fault {
		if !strings.Contains(r.URL.Path, part) {
			return faultproxy.None
		}
		if _, again := seen.LoadOrStore(r.Header.Get(hostapi.KeyHeader), true); again {
			return faultproxy.None
		}
		return lose
	}
}

// twice sends one call whose first answer is lost, as a host does, and returns
// the second outcome. net/http itself repeats a request that carries an
// idempotency key when a reused connection dies, so the first send may succeed.
func twice(t *testing.T, h *barehost.Host, path, key string, body, reply any) {
	t.Helper()
	err := h.Do(t.Context(), path, key, body, reply)
	if err == nil {
		return
	}
	var f *fault.Error
	if errors.As(err, &f) {
		t.Fatalf("%s: the first answer should be lost, not %v", path, err)
	}
	if err := h.Do(t.Context(), path, key, body, reply); err != nil {
		if f := fault.Of(err); f.Code == "" || (f.Kind == fault.Conflict && f.Detail == "") {
			t.Fatalf("%s again: a bare refusal: %v", path, err)
		}
		t.Fatalf("%s again: %v", path, err)
	}
}

// R-HOST-4: the answer of each mutating call is lost after the server has
// committed, a hundred times; the repeat gets the same answer and changes
// nothing twice.
func TestLostAnswersChangeNothingTwice(t *testing.T) {
	t.Parallel()
	for _, lose := range []struct {
		name  string
		fault faultproxy.Fault
	}{{"lost whole", faultproxy.LoseAnswer}, {"cut in the middle", faultproxy.CutAnswer}} {
		t.Run(lose.name, func(t *testing.T) {
			t.Parallel()
			u := startUpstream(t, 0)
			w := start(t, func(c *app.ServerConfig) { c.Planner = u.planner() })
			p := faultproxy.Start(t, w.url)
			h := w.bare("h", 1)
			h.URL = p.URL
			for i := range rounds {
				lostLife(t, w, p, h, lose.fault, i, u)
			}
			var facts operators.AuditVerdict
			w.must(http.MethodGet, operators.PathAuditVerify, nil, &facts)
			if !facts.Valid {
				t.Errorf("audit: %+v", facts)
			}
		})
	}
}

// lostLife runs one task through every mutating call of a host, each answer
// lost once.
func lostLife(t *testing.T, w *world, p *faultproxy.Proxy, h *barehost.Host, lose faultproxy.Fault, i int, u *upstream) {
	t.Helper()
	made := w.submit(operators.TaskSpec{Goal: fmt.Sprintf("task %d", i)})
	key := func(verb string) string { return fmt.Sprintf("%s-%d", verb, i) }

	p.Rule(oncePer(hostapi.PathPoll, lose))
	var got hostapi.PollReply
	twice(t, h, hostapi.PathPoll, key("poll"), hostapi.PollRequest{Max: 1, WaitMS: 1000, Idle: devices(1)}, &got)
	if len(got.Assignments) != 1 || got.Assignments[0].TaskID != made.ID || got.Assignments[0].Attempt != 1 {
		t.Fatalf("round %d: polled %+v, want attempt 1 of %s", i, got, made.ID)
	}
	a := got.Assignments[0]
	path := func(verb string) string { return hostapi.TaskPath(a.TaskID, a.Attempt, verb) }

	p.Rule(oncePer("/ack", lose))
	twice(t, h, path("ack"), key("ack"), struct{}{}, &hostapi.LeaseReply{})
	p.Rule(oncePer("/renew", lose))
	twice(t, h, path("renew"), key("renew"), struct{}{}, &hostapi.LeaseReply{})
	p.Rule(oncePer(hostapi.PathHeartbeat, lose))
	var beat hostapi.HeartbeatReply
	twice(t, h, hostapi.PathHeartbeat, key("heartbeat"), hostapi.HeartbeatRequest{Held: []hostapi.Held{{TaskID: a.TaskID, Attempt: 1}}, Devices: []hostapi.Device{{ID: "d0", Kind: "sim"}}}, &beat)
	if len(beat.Held) != 1 || beat.Held[0].Status != hostapi.Renewed {
		t.Errorf("round %d: heartbeat says %+v", i, beat.Held)
	}

	p.Rule(oncePer(hostapi.PathDecide, lose))
	before := u.calls.Load()
	var d hostapi.DecideReply
	twice(t, h, hostapi.PathDecide, key("decide"), decideBody(a, "scene"), &d)
	if d.StepIndex != 0 || u.calls.Load() != before+1 {
		t.Errorf("round %d: step %d, %d provider calls", i, d.StepIndex, u.calls.Load()-before)
	}

	p.Rule(oncePer("/events", lose))
	var next hostapi.EventsReply
	twice(t, h, path("events"), key("events"), hostapi.EventsRequest{Events: []hostapi.Event{{Seq: 0, Kind: hostapi.EventActing}, {Seq: 1, Kind: hostapi.EventStep, Tool: "wait", Outcome: "done", StepIndex: new(int)}}}, &next)
	if next.Next != 2 {
		t.Errorf("round %d: next event is %d, want 2", i, next.Next)
	}

	want := "succeeded"
	if i%2 == 0 {
		p.Rule(oncePer("/result", lose))
		var r hostapi.ResultReply
		twice(t, h, path("result"), key("result"), hostapi.ResultRequest{State: "succeeded", Steps: 1, Acted: true}, &r)
		if r.TaskState != want || !r.Replayed {
			t.Errorf("round %d: result %+v, want a replay", i, r)
		}
	} else {
		// Released after it had acted, and not repeatable: for a person to look at.
		want = "failed"
		p.Rule(oncePer("/release", lose))
		twice(t, h, path("release"), key("release"), hostapi.ReleaseRequest{Reason: "drain", Acted: true}, &struct{}{})
	}
	lifeIsWhole(t, w, made.ID, want)
}

func lifeIsWhole(t *testing.T, w *world, id, state string) {
	t.Helper()
	if got := w.task(id); got.State != state || got.Attempt != 1 || got.Tries != 1 {
		t.Errorf("task is %s (%s), attempt %d, tries %d; want %s with one of each", got.State, got.Reason, got.Attempt, got.Tries, state)
	}
	if rows := w.decisions(id); len(rows) != 1 || rows[0].StepIndex != 0 {
		t.Errorf("%d decisions", len(rows))
	}
	var events operators.EventPage
	w.must(http.MethodGet, operators.TaskPath(id, "events"), nil, &events)
	if len(events.Events) != 2 {
		t.Errorf("events: %+v", events.Events)
	}
}

// R-HOST-1, R-HOST-4: enrolments and rotations whose answers are lost leave
// one host with one working credential each.
func TestLostCredentialsAreMadeAgain(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	p := faultproxy.Start(t, w.url)
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport}
	for i := range rounds {
		p.Rule(oncePer(hostapi.PathEnroll, faultproxy.LoseAnswer))
		token, name := w.enrolToken(), fmt.Sprintf("host-%03d", i)
		if _, _, err := barehost.Enroll(t.Context(), client, p.URL, token, name); err == nil {
			t.Fatal("the first answer was not lost")
		}
		h, _, err := barehost.Enroll(t.Context(), client, p.URL, token, name)
		if err != nil {
			t.Fatalf("enroll again: %v", err)
		}
		p.Rule(oncePer(hostapi.PathRotate, faultproxy.LoseAnswer))
		var made hostapi.CredentialReply
		twice(t, h, hostapi.PathRotate, "rotate-"+name, struct{}{}, &made)
		h.Credential = made.Credential.Reveal()
		if err := h.Do(t.Context(), hostapi.PathHeartbeat, "hb", hostapi.HeartbeatRequest{}, &hostapi.HeartbeatReply{}); err != nil {
			t.Fatalf("the new credential does not work: %v", err)
		}
	}
	var list operators.HostList
	w.must(http.MethodGet, operators.PathHosts, nil, &list)
	if len(list.Hosts) != rounds {
		t.Errorf("%d hosts, want %d", len(list.Hosts), rounds)
	}
}

// R-HOST-4: a real host behind a network that loses every fifth answer runs
// its tasks to the end, each decision once.
func TestAHostOnABadNetworkFinishesItsTasks(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *app.ServerConfig) { c.Planner = demoPlanner() })
	p := faultproxy.Start(t, w.url)
	var n int
	var mu sync.Mutex
	p.Rule(func(r *http.Request) faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch {
		case n%5 == 0:
			return faultproxy.LoseAnswer
		case n%7 == 0:
			return faultproxy.HTML
		case n%11 == 0:
			return faultproxy.LoseRequest
		}
		return faultproxy.None
	})
	var log logtest.Log
	w.simHost(p.URL, app.Planner{Enabled: true, Transport: app.Cloud, Timeout: 20 * time.Second}, &log)
	made := w.submit(demoTask())
	got := w.ended(made.ID)
	if got.State != "succeeded" || got.Attempt != 1 {
		t.Fatalf("task %s (%s), attempt %d\n%s", got.State, got.Reason, got.Attempt, log.String())
	}
	rows := w.decisions(made.ID)
	if len(rows) != got.Result.Steps {
		t.Errorf("%d decisions for %d steps", len(rows), got.Result.Steps)
	}
	for i, r := range rows {
		if r.StepIndex != i {
			t.Errorf("row %d has index %d", i, r.StepIndex)
		}
	}
}
