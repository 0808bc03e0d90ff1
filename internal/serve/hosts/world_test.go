package hosts_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/logtest"
	"interlock/internal/problem"
	"interlock/internal/secret"
	"interlock/internal/serve"
	"interlock/internal/serve/hosts"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oracle is the provider: it answers with one tap unless Say is set.
type oracle struct {
	calls atomic.Int64
	say   func(context.Context, llm.Request) (llm.Decision, error) // set before use
}

func (o *oracle) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	o.calls.Add(1)
	if o.say != nil {
		return o.say(ctx, r)
	}
	return tap(), nil
}

func tap() llm.Decision {
	return llm.Decision{Call: tool.Call{Tool: "tap", Arguments: []byte(`{"ref":"e1"}`)}, Provider: "oracle", Model: "m-1",
		Usage: llm.Usage{Input: llm.Known(12), Output: llm.Known(3)}}
}

// world is the door over the real rooms, a real database and real HTTP.
type world struct {
	t         *testing.T
	url       string
	handler   http.Handler
	file      string // of the database
	store     *sqlite.Store
	fleet     *fleet.Service
	tasks     *task.Service
	decisions *decision.Service
	oracle    *oracle
	log       *logtest.Log
}

var timings = hostapi.Timings{LeaseMS: 60_000, RenewMS: 15_000, SelfFenceMS: 40_000, FreshMS: 20_000, PollHoldMS: 25_000, DecideSlackMS: 2_000}

func newWorld(t *testing.T, caps usage.Caps) *world {
	t.Helper()
	w := &world{t: t, oracle: &oracle{}, log: &logtest.Log{}, file: filepath.Join(t.TempDir(), "interlock.db")}
	logger := w.log.Logger()
	var err error
	if w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: w.file, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	if w.tasks, err = task.New(w.store, task.Config{Logger: logger}); err != nil {
		t.Fatal(err)
	}
	if w.fleet, err = fleet.New(w.store, w.tasks, fleet.Config{Logger: logger}); err != nil {
		t.Fatal(err)
	}
	if w.decisions, err = decision.New(w.store, w.oracle, decision.Config{Caps: caps, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	w.tasks.Observe(w.decisions.TaskChanged)
	m := serve.NewMux(logger)
	door := hosts.New(hosts.Config{Fleet: w.fleet, Tasks: w.tasks, Decisions: w.decisions, Timings: timings, Logger: logger})
	if err := door.Mount(m); err != nil {
		t.Fatal(err)
	}
	w.handler = serve.Kit{Logger: logger}.Wrap(m)
	server := httptest.NewServer(w.handler)
	w.url = server.URL
	w.run(server)
	return w
}

// run keeps the rooms' loops going until the test ends, and closes all in order.
func (w *world) run(server *httptest.Server) {
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context) error{w.tasks.Run, w.fleet.Run, w.decisions.Run} {
		loops.Go(func() {
			if err := loop(ctx); err != nil {
				w.t.Errorf("a loop ended with %v", err)
			}
		})
	}
	w.t.Cleanup(func() {
		w.tasks.StopPolls()
		server.Close()
		stop()
		loops.Wait()
		if err := w.store.Close(); err != nil {
			w.t.Errorf("close the store: %v", err)
		}
	})
}

// token makes an enrolment token.
func (w *world) token() string {
	w.t.Helper()
	_, value, err := w.fleet.CreateEnrolToken(w.t.Context(), fleet.NewEnrolToken{Tenant: tenant.Default, By: "token:test"})
	if err != nil {
		w.t.Fatal(err)
	}
	return value.Reveal()
}

// submit queues a task for any simulated device.
func (w *world) submit() task.ID {
	w.t.Helper()
	t, _, err := w.tasks.Submit(w.t.Context(), task.Submission{Tenant: tenant.Default, By: "token:test",
		Spec: task.Spec{Goal: "open the settings", Selector: task.Selector{Kind: "sim"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return t.ID
}

// agent speaks the protocol as one host.
type agent struct {
	w          *world
	id         string
	credential string
}

// enroll makes a host with one simulated phone.
func (w *world) enroll(name string) *agent {
	w.t.Helper()
	a := &agent{w: w}
	var reply hostapi.CredentialReply
	a.must(hostapi.PathEnroll, hostapi.EnrollRequest{Token: secret.Expose(secret.New(w.token())), Name: name,
		Devices: []hostapi.Device{{ID: "phone", Kind: "sim"}}, Version: "test"}, &reply)
	a.id, a.credential = reply.HostID, reply.Credential.Reveal()
	return a
}

var keys atomic.Int64

// request is one call before it is sent.
type request struct {
	path    string
	body    []byte
	headers map[string]string // set after the usual ones; "" removes one
}

// send sends a call with the usual headers and a fresh key.
func (a *agent) send(r request) (*http.Response, []byte) {
	a.w.t.Helper()
	req, err := http.NewRequestWithContext(a.w.t.Context(), "POST", a.w.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		a.w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(hostapi.VersionHeader, hostapi.Version)
	req.Header.Set(hostapi.KeyHeader, fmt.Sprint("key-", keys.Add(1)))
	if a.credential != "" {
		req.Header.Set("Authorization", "Bearer "+a.credential)
	}
	for name, value := range r.headers {
		if req.Header.Set(name, value); value == "" {
			req.Header.Del(name)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.w.t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		a.w.t.Fatal(err)
	}
	return res, out.Bytes()
}

// call sends body and returns the status and the raw answer.
func (a *agent) call(path string, body any) (int, []byte) {
	a.w.t.Helper()
	res, out := a.send(request{path: path, body: encode(a.w.t, body)})
	return res.StatusCode, out
}

// must sends body and reads the answer of a call that succeeds.
func (a *agent) must(path string, body, reply any) {
	a.w.t.Helper()
	status, out := a.call(path, body)
	if status != http.StatusOK {
		a.w.t.Fatalf("%s: got %d %s, want 200", path, status, out)
	}
	if err := json.Unmarshal(out, reply); err != nil {
		a.w.t.Fatalf("%s: %v in %s", path, err, out)
	}
}

// refused sends body and reads the problem of a call that fails.
func (a *agent) refused(path string, body any) problem.Problem {
	a.w.t.Helper()
	res, out := a.send(request{path: path, body: encode(a.w.t, body)})
	return problemOf(a.w.t, res, out)
}

// problemOf reads a problem that must say what and whether it is final.
func problemOf(t *testing.T, res *http.Response, body []byte) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(body, &p); err != nil || res.Header.Get("Content-Type") != problem.MediaType {
		t.Fatalf("got %d %s %q, want a problem", res.StatusCode, res.Header.Get("Content-Type"), body)
	}
	if p.Status != res.StatusCode || p.Code == "" || p.Detail == "" || p.RequestID == "" || !strings.Contains(string(body), `"retryable":`) {
		t.Errorf("a bare problem with status %d: %s", res.StatusCode, body)
	}
	return p
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// poll asks for one task.
func (a *agent) poll(wait time.Duration) (int, hostapi.PollReply) {
	a.w.t.Helper()
	status, out := a.call(hostapi.PathPoll, hostapi.PollRequest{Max: 1, WaitMS: wait.Milliseconds(), Idle: []string{"phone"}})
	var reply hostapi.PollReply
	if status == http.StatusOK {
		if err := json.Unmarshal(out, &reply); err != nil {
			a.w.t.Fatal(err)
		}
	}
	return status, reply
}

// take submits a task, claims and acknowledges it.
func (a *agent) take() hostapi.Assignment {
	a.w.t.Helper()
	a.w.submit()
	status, reply := a.poll(20 * time.Second)
	if status != http.StatusOK || len(reply.Assignments) != 1 {
		a.w.t.Fatalf("poll: got %d %+v, want one assignment", status, reply)
	}
	got := reply.Assignments[0]
	var lease hostapi.LeaseReply
	a.must(hostapi.TaskPath(got.TaskID, got.Attempt, "ack"), nil, &lease)
	return got
}

// question is a decide about an attempt.
func question(as hostapi.Assignment) hostapi.DecideRequest {
	return hostapi.DecideRequest{TaskID: as.TaskID, Attempt: as.Attempt, SystemPrompt: "you drive a phone", UserPrompt: "app sim.home",
		Tools:          []tool.Spec{{Name: "tap", Parameters: []byte(`{"type":"object","properties":{"ref":{"type":"string"}},"required":["ref"]}`)}},
		TimeoutSeconds: 30}
}
