package decision_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/clocktest"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/logtest"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

const operator = "token:0011223344556677"

// model is a provider whose answers a test sets; nil: it taps.
type model struct {
	calls  atomic.Int64
	answer func(ctx context.Context, r llm.Request) (llm.Decision, error)
}

func (m *model) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	m.calls.Add(1)
	if m.answer != nil {
		return m.answer(ctx, r)
	}
	return tap(r)
}

var tapUsage = llm.Usage{Input: llm.Known(100), Output: llm.Known(7)}

// tap accepts a call of the tool that every test offers.
func tap(r llm.Request) (llm.Decision, error) {
	return llm.Accept(r.Tools, llm.Reply{Calls: []llm.RawCall{{Name: "tap", Arguments: []byte(`{"x":1}`)}},
		Usage: tapUsage, Provider: "mock", Model: "mock-1", ProviderRequestID: "p-1"})
}

// world is a control plane on a real store whose clock a test moves.
type world struct {
	*decision.Service
	t     testing.TB
	clock *clocktest.Clock
	store *sqlite.Store
	tasks *task.Service
	fleet *fleet.Service
	host  fleet.Host
	model *model
	log   *logtest.Log
}

// settings change what a world is made with.
type settings struct {
	decision.Config
	wrap       func(decision.Store) decision.Store
	noProvider bool
}

func newWorld(t testing.TB, change ...func(*settings)) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New(), model: &model{}, log: &logtest.Log{}}
	logger := w.log.Logger()
	var err error
	if w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "decision.db"), Now: w.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	if w.tasks, err = task.New(w.store, task.Config{Now: w.clock.Now, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	if w.fleet, err = fleet.New(w.store, w.tasks, fleet.Config{Now: w.clock.Now, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	set := settings{Config: decision.Config{Now: w.clock.Now, Logger: logger}}
	for _, c := range change {
		c(&set)
	}
	var store decision.Store = w.store
	if set.wrap != nil {
		store = set.wrap(store)
	}
	var provider llm.ToolCaller = w.model
	if set.noProvider {
		provider = nil
	}
	if w.Service, err = decision.New(store, provider, set.Config); err != nil {
		t.Fatal(err)
	}
	w.tasks.Observe(w.TaskChanged)
	w.host = w.enroll("host-1")
	return w
}

func (w *world) enroll(name string) fleet.Host {
	w.t.Helper()
	_, token, err := w.fleet.CreateEnrolToken(w.t.Context(), fleet.NewEnrolToken{Tenant: tenant.Default, By: operator})
	if err != nil {
		w.t.Fatal(err)
	}
	r := fleet.EnrolRequest{Token: token, Key: "k", Name: name}
	for i := range 16 {
		r.Devices = append(r.Devices, fleet.Device{ID: fmt.Sprint("sim-", i), Kind: "sim"})
	}
	issued, err := w.fleet.Enroll(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return issued.Host
}

// attempt submits a task and has the host hold it.
func (w *world) attempt() task.Fence {
	w.t.Helper()
	if _, _, err := w.tasks.Submit(w.t.Context(), task.Submission{Tenant: tenant.Default, By: operator, Spec: task.Spec{Goal: "g"}}); err != nil {
		w.t.Fatal(err)
	}
	tm := task.Timing{Lease: time.Minute, AckWithin: 10 * time.Second, DeviceGrace: 10 * time.Second, MaxMisses: 5, Backoff: task.Backoff}
	got, err := w.store.Claim(w.t.Context(), tm, []task.ClaimRequest{{Tenant: tenant.Default, Host: w.host.ID, Devices: w.host.Devices, Max: 1, Key: fmt.Sprint("claim-", w.clock.Now(), w.model.calls.Load(), time.Now())}})
	if err != nil || len(got[0]) != 1 {
		w.t.Fatalf("claimed %v, %v", got, err)
	}
	f := task.Fence{Tenant: tenant.Default, Host: w.host.ID, Task: got[0][0].ID, Attempt: got[0][0].Attempt}
	if _, err := w.tasks.Ack(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
	return f
}

var offered = func() *tool.Set {
	s, err := tool.NewSet([]tool.Spec{{Name: "tap", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)}})
	if err != nil {
		panic(err)
	}
	return s
}()

func request(f task.Fence, key string) llm.Request {
	return llm.Request{System: "you drive a phone", User: "the screen, at " + key, Tools: offered, Key: key, TaskID: string(f.Task), Attempt: f.Attempt}
}

func (w *world) decide(f task.Fence, key string) (llm.Decision, error) {
	w.t.Helper()
	return w.Decide(w.t.Context(), w.host, request(f, key), "req-"+key)
}

func (w *world) mustDecide(f task.Fence, key string) llm.Decision {
	w.t.Helper()
	d, err := w.decide(f, key)
	if err != nil {
		w.t.Fatalf("decide %s: %v", key, err)
	}
	return d
}

// rows returns the decisions of a task, with their bodies.
func (w *world) rows(id task.ID) []decision.Row {
	w.t.Helper()
	rows, err := w.List(w.t.Context(), decision.Query{Tenant: tenant.Default, Task: id, AfterStep: -1, Bodies: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

// used returns the usage of a task.
func (w *world) used(id task.ID) usage.Rollup {
	w.t.Helper()
	rows, err := w.store.Usage(w.t.Context(), usage.Query{Tenant: tenant.Default, Task: string(id), Groups: []usage.Group{usage.ByTask}, Limit: 10})
	if err != nil || len(rows) > 1 {
		w.t.Fatalf("usage %+v, %v", rows, err)
	}
	if len(rows) == 0 {
		return usage.Rollup{}
	}
	return rows[0]
}

func (w *world) wantGapless(id task.ID, n int) {
	w.t.Helper()
	rows := w.rows(id)
	if len(rows) != n {
		w.t.Errorf("%d rows of task %s, want %d", len(rows), id, n)
	}
	for i, r := range rows {
		if r.StepIndex != i {
			w.t.Errorf("row %d has step index %d", i, r.StepIndex)
		}
	}
}

func wantReason(t *testing.T, what string, err error, want llm.Reason) *llm.Unavailable {
	t.Helper()
	var u *llm.Unavailable
	if !errors.As(err, &u) || u.Reason != want {
		t.Errorf("%s: got %v, want %s", what, err, want)
		return &llm.Unavailable{}
	}
	return u
}
