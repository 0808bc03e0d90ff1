package operators_test

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

	"interlock/internal/access"
	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/logtest"
	"interlock/internal/problem"
	"interlock/internal/serve"
	"interlock/internal/serve/operators"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oracle is the provider: one tap, whose usage leaves the cache unknown.
type oracle struct{}

func (oracle) Decide(context.Context, llm.Request) (llm.Decision, error) {
	return llm.Decision{Call: tool.Call{Tool: "tap", Arguments: []byte(`{"ref":"e1"}`)}, Provider: "oracle", Model: "m-1",
		Usage: llm.Usage{Input: llm.Known(1000), Output: llm.Known(10)}}, nil
}

// audience is what the tokens of sites are for.
const audience = "interlock-test"

// world is the door over the real rooms, a real database and real HTTP.
type world struct {
	t         *testing.T
	url       string
	handler   http.Handler
	token     string // a live API token
	tokenID   string
	fleet     *fleet.Service
	tasks     *task.Service
	decisions *decision.Service
	catalog   *catalog.Service
	sites     *site.Service
	resolver  *resolve.Service
	gateway   *gateway.Service
	purged    []abn.Number // what the door asked to forget
	log       *logtest.Log
	host      fleet.Host
}

// newWorld builds a world; without takes parts away from the door.
func newWorld(t *testing.T, without ...func(*operators.Config)) *world {
	t.Helper()
	w := &world{t: t, log: &logtest.Log{}}
	logger := w.log.Logger()
	store := try(sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "interlock.db"), Logger: logger}))(t)
	w.tasks = try(task.New(store, task.Config{Logger: logger}))(t)
	w.fleet = try(fleet.New(store, w.tasks, fleet.Config{Logger: logger}))(t)
	w.decisions = try(decision.New(store, oracle{}, decision.Config{Logger: logger}))(t)
	app := abn.NewApp(abn.Sample())
	w.catalog = try(catalog.New(store, []catalog.App{app.Describe()}, catalog.Config{Logger: logger}))(t)
	w.sites = try(site.New(store, site.Config{Audience: audience, Logger: logger}))(t)
	credentials := try(credential.New(store, credential.NewKeyset(time.Now()), credential.Config{Logger: logger}))(t)
	w.resolver = try(resolve.New(store, w.catalog, selector.NewDeterministic(), resolve.Config{Logger: logger}))(t)
	w.gateway = try(gateway.New(store, w.catalog, credentials, []gateway.App{app}, gateway.Config{Logger: logger}))(t)
	tokens := access.New(store, time.Now, logger)
	first, _, err := tokens.First(t.Context(), tenant.Default)
	if err != nil {
		t.Fatal(err)
	}
	w.token = first.Reveal()
	w.tokenID = strings.Split(w.token, "_")[2]
	m := serve.NewMux(logger)
	config := operators.Config{Tasks: w.tasks, Fleet: w.fleet, Decisions: w.decisions, Usage: usage.New(store, time.Now, logger),
		Access: tokens, Audit: store, Catalog: w.catalog, Sites: w.sites, Credentials: credentials, Resolver: w.resolver, Gateway: w.gateway,
		PurgeABN: func(n abn.Number) int { w.purged = append(w.purged, n); return 1 }, Version: "v-test", Planner: operators.PlannerName{Provider: "oracle", Model: "m-1"},
		Logger: logger, WatchEvery: 20 * time.Millisecond}
	for _, take := range without {
		take(&config)
	}
	if err := operators.New(config).Mount(m); err != nil {
		t.Fatal(err)
	}
	w.handler = serve.Kit{Logger: logger}.Wrap(m)
	server := httptest.NewServer(w.handler)
	w.url = server.URL
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context) error{w.tasks.Run, w.fleet.Run, w.decisions.Run} {
		loops.Go(func() {
			if err := loop(ctx); err != nil {
				t.Errorf("a loop ended with %v", err)
			}
		})
	}
	t.Cleanup(func() {
		server.Close()
		stop()
		loops.Wait()
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	w.enroll()
	return w
}

// try unpacks a result whose error ends the test.
func try[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// enroll makes the world's one host, with one simulated phone.
func (w *world) enroll() {
	w.t.Helper()
	_, value, err := w.fleet.CreateEnrolToken(w.t.Context(), fleet.NewEnrolToken{Tenant: tenant.Default, By: "token:test"})
	if err != nil {
		w.t.Fatal(err)
	}
	issued := try(w.fleet.Enroll(w.t.Context(), fleet.EnrolRequest{Token: value, Key: "k", Name: "rack-1", Version: "v-host",
		Devices: []fleet.Device{{ID: "phone", Kind: "sim"}}}))(w.t)
	w.host = try(w.fleet.Authenticate(w.t.Context(), issued.Credential))(w.t)
}

var keys atomic.Int64

// send makes one call with the world's token; headers are set after the usual
// ones, "" removes one.
func (w *world) send(method, path string, body []byte, headers map[string]string) (*http.Response, []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set(operators.KeyHeader, fmt.Sprint("key-", keys.Add(1)))
	for name, value := range headers {
		if req.Header.Set(name, value); value == "" {
			req.Header.Del(name)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		w.t.Fatal(err)
	}
	return res, out.Bytes()
}

// must makes a call that succeeds and reads its answer into reply (nil: none).
func (w *world) must(method, path string, body, reply any) {
	w.t.Helper()
	res, out := w.send(method, path, encode(w.t, body), nil)
	if res.StatusCode/100 != 2 {
		w.t.Fatalf("%s %s: got %d %s, want success", method, path, res.StatusCode, out)
	}
	if reply == nil {
		return
	}
	if err := json.Unmarshal(out, reply, json.RejectUnknownMembers(true)); err != nil {
		w.t.Fatalf("%s %s: %v in %s", method, path, err, out)
	}
}

// refused makes a call that fails and reads its problem.
func (w *world) refused(method, path string, body any) problem.Problem {
	w.t.Helper()
	res, out := w.send(method, path, encode(w.t, body), nil)
	return problemOf(w.t, res, out)
}

func problemOf(t *testing.T, res *http.Response, body []byte) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(body, &p); err != nil || res.Header.Get("Content-Type") != problem.MediaType {
		t.Fatalf("got %d %s %q, want a problem", res.StatusCode, res.Header.Get("Content-Type"), body)
	}
	if p.Status != res.StatusCode || p.Code == "" || p.Detail == "" || p.RequestID == "" || p.RequestID != res.Header.Get(serve.RequestIDHeader) {
		t.Errorf("a bare problem with status %d: %s", res.StatusCode, body)
	}
	return p
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// submit queues a task over the API.
func (w *world) submit(goal string) operators.Task {
	w.t.Helper()
	var reply operators.SubmitReply
	w.must("POST", operators.PathTasks, operators.TaskSpec{Goal: goal, Device: operators.Selector{Kind: "sim"}}, &reply)
	return reply.Task
}

// claim gives the oldest queued task to the world's host, which takes it on.
func (w *world) claim() task.Fence {
	w.t.Helper()
	got := try(w.tasks.Poll(w.t.Context(), w.host, task.Poll{Key: fmt.Sprint("poll-", keys.Add(1)), Max: 1, Idle: []string{"phone"}}))(w.t)
	if len(got.Assignments) != 1 {
		w.t.Fatalf("got %d assignments, want one", len(got.Assignments))
	}
	a := got.Assignments[0]
	f := task.Fence{Tenant: tenant.Default, Host: w.host.ID, Task: a.ID, Attempt: a.Attempt}
	try(w.tasks.Ack(w.t.Context(), f))(w.t)
	return f
}

// step makes one decision and reports it as event n of the attempt.
func (w *world) step(f task.Fence, n int) {
	w.t.Helper()
	tools := try(tool.NewSet([]tool.Spec{{Name: "tap", Parameters: []byte(`{"type":"object"}`)}}))(w.t)
	d := try(w.decisions.Decide(w.t.Context(), w.host, llm.Request{System: "canary-system", User: fmt.Sprint("canary-user ", n), Tools: tools,
		Key: fmt.Sprint("step-", n), TaskID: string(f.Task), Attempt: f.Attempt}, "request-1"))(w.t)
	_, _, err := w.tasks.AppendEvents(w.t.Context(), f, []task.Event{{Seq: n, Kind: task.EventStep, Step: n, Tool: "tap", Outcome: "done",
		StepIndex: d.StepIndex, At: time.Now()}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// finish ends the attempt well.
func (w *world) finish(f task.Fence) {
	w.t.Helper()
	if _, _, err := w.tasks.Finish(w.t.Context(), f, task.Result{State: "succeeded", Summary: "it is open", Steps: 2}); err != nil {
		w.t.Fatal(err)
	}
}

// finished is a task that ran to its end with n steps.
func (w *world) finished(n int) operators.Task {
	w.t.Helper()
	t := w.submit("open the settings")
	f := w.claim()
	for i := range n {
		w.step(f, i)
	}
	w.finish(f)
	return t
}
