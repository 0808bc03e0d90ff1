package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

// timing is what the cases run under: the product's own defaults.
var timing = task.Timing{Lease: time.Minute, AckWithin: 10 * time.Second, DeviceGrace: 10 * time.Second, CancelWithin: 90 * time.Second, MaxMisses: 3, Backoff: backoff}

func backoff(tries int) time.Duration { return time.Duration(max(tries, 1)) * 5 * time.Second }

// world is one store with the words that the cases are told in.
type world struct {
	testing.TB
	Harness
	ctx   context.Context
	facts int // that must be in the default tenant's chain
}

func newWorld(t testing.TB, h Harness) *world {
	return &world{TB: t, Harness: h, ctx: t.Context()}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("unexpected error: %v", err)
	}
}

// fails checks that err is want.
func (w *world) fails(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("got error %v, want %v", err, want)
	}
}

// equal compares values whose times and empty collections may differ in form.
func (w *world) equal(got, want any) {
	w.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(llm.Count{})); d != "" {
		w.Fatalf("-want +got\n%s", d)
	}
}

func (w *world) is(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// fact is a fact of the default tenant that must end up in its chain.
func (w *world) fact(action string) audit.Fact {
	w.facts++
	return w.unkept(action)
}

// unkept is a fact of a call that changes nothing.
func (w *world) unkept(action string) audit.Fact {
	return audit.Fact{Tenant: tenant.Default, At: w.Now(), Actor: audit.System, Action: action, Subject: "it", Detail: map[string]string{"why": "a test"}}
}

// newID returns ids that grow, also within one moment.
func newID() task.ID { return task.ID(uuid.Must(uuid.NewV7()).String()) }

// spec is a task that any device may serve.
func spec(change ...func(*task.Spec)) task.Spec {
	s := task.Spec{Goal: "open the settings", Priority: 5, MaxAttempts: 3, Budgets: task.Budgets{Steps: 20, WallTime: time.Minute, Tokens: 5000}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func onDevice(id string) func(*task.Spec) { return func(s *task.Spec) { s.Selector.Device = id } }
func repeatable(s *task.Spec)             { s.Repeatable = true }

// submit queues a task.
func (w *world) submit(change ...func(*task.Spec)) task.Task {
	w.Helper()
	k := task.Task{ID: newID(), Tenant: tenant.Default, Spec: spec(change...), State: task.Queued, CreatedAt: w.Now(), NextRun: w.Now()}
	got, _, err := w.Submit(w.ctx, k, "", [32]byte{}, audit.Fact{})
	w.ok(err)
	return got
}

// phone is a device that a host offers.
func phone(id string) fleet.Device { return fleet.Device{ID: id, Kind: "sim"} }

// wants is a host that waits with its devices.
func wants(host fleet.HostID, max int, devices ...string) task.ClaimRequest {
	r := task.ClaimRequest{Tenant: tenant.Default, Host: host, Max: max, Key: uuid.NewString()}
	for _, d := range devices {
		r.Devices = append(r.Devices, phone(d))
	}
	return r
}

// claims serves the hosts together.
func (w *world) claims(reqs ...task.ClaimRequest) [][]task.Task {
	w.Helper()
	got, err := w.Claim(w.ctx, timing, reqs)
	w.ok(err)
	w.is("answers", len(got), len(reqs))
	return got
}

// claim gives one task to a host on its one device, and says if it got one.
func (w *world) claim(host fleet.HostID, device string) (task.Task, bool) {
	w.Helper()
	got := w.claims(wants(host, 1, device))[0]
	if len(got) == 0 {
		return task.Task{}, false
	}
	return got[0], true
}

// leased submits a task and gives it to the host.
func (w *world) leased(host fleet.HostID, device string, change ...func(*task.Spec)) (task.Task, task.Fence) {
	w.Helper()
	w.submit(change...)
	k, ok := w.claim(host, device)
	if !ok {
		w.Fatal("the task was not claimed")
	}
	return k, fence(k)
}

// running is leased, and acknowledged.
func (w *world) running(host fleet.HostID, device string, change ...func(*task.Spec)) (task.Task, task.Fence) {
	w.Helper()
	k, f := w.leased(host, device, change...)
	_, err := w.Ack(w.ctx, timing, f)
	w.ok(err)
	return w.read(k.ID), f
}

func fence(k task.Task) task.Fence {
	return task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: k.Attempt}
}

func (w *world) read(id task.ID) task.Task {
	w.Helper()
	k, err := w.Task(w.ctx, tenant.Default, id)
	w.ok(err)
	return k
}

// acts marks that the attempt is about to change something on the device.
func (w *world) acts(f task.Fence, seq int) {
	w.Helper()
	_, _, err := w.AppendEvents(w.ctx, f, []task.Event{{Seq: seq, Kind: task.EventActing, StepIndex: -1, At: w.Now()}})
	w.ok(err)
}

// result is what a host reports; equal ends are equal results.
func result(f task.Fence, state task.State, end string) task.Finish {
	r := task.Result{State: end, Summary: "it says " + end, Steps: 3, Usage: llm.Usage{Input: llm.Known(10)}}
	return task.Finish{Fence: f, Hash: sha256.Sum256([]byte(end)), Result: r, State: state, Reason: end}
}

// finish reports it and wants it taken for the first time.
func (w *world) finish(f task.Fence, state task.State, end string) task.Task {
	w.Helper()
	k, replayed, err := w.Finish(w.ctx, result(f, state, end))
	w.ok(err)
	w.is("replayed", replayed, false)
	return k
}

// reap moves everything that is due.
func (w *world) reap() []task.Reaped {
	w.Helper()
	got, err := w.Reap(w.ctx, timing, 1000)
	w.ok(err)
	return got
}

// tools is a set that rows are decided with.
var tools = []tool.Spec{{Name: "tap", Description: "taps", Parameters: []byte(`{"type": "object"}`)}, {Name: "finish", Parameters: []byte(`{"type":"object"}`)}}

// row is one decision of the attempt.
func (w *world) row(f task.Fence, key string) decision.Row {
	return decision.Row{Tenant: f.Tenant, Task: f.Task, Attempt: f.Attempt, Host: f.Host, Key: key, BodyHash: sha256.Sum256([]byte(key)),
		SystemPrompt: "You drive a phone.", UserPrompt: "screen of " + key + "\n[0] button Save\n", Tools: tools, Tool: "tap", Arguments: []byte(`{"element":0}`),
		Usage:    llm.Usage{Input: llm.Known(100), Output: llm.Known(7)},
		Provider: "anthropic", Model: "model-1", ProviderRequestID: "req-" + key, RequestID: "r-" + key, At: w.Now(), Latency: 800 * time.Millisecond}
}

// entry is the usage of a row.
func entry(r decision.Row) usage.Entry {
	return usage.Entry{Tenant: r.Tenant, Host: string(r.Host), Task: string(r.Task), Attempt: r.Attempt, Provider: r.Provider, Model: r.Model, At: r.At, Usage: r.Usage}
}

// decide records a decision and returns its step.
func (w *world) decide(f task.Fence, key string) int {
	w.Helper()
	r := w.row(f, key)
	step, err := w.Record(w.ctx, r, entry(r))
	w.ok(err)
	return step
}

// log reads all decisions of a task, with their bodies.
func (w *world) log(id task.ID) []decision.Row {
	w.Helper()
	rows, err := w.Decisions(w.ctx, decision.Query{Tenant: tenant.Default, Task: id, AfterStep: -1, Limit: 10_000, Bodies: true})
	w.ok(err)
	return rows
}

// gapless checks that the rows of each attempt are 0, 1, 2 …
func (w *world) gapless(rows []decision.Row) {
	w.Helper()
	next := map[int]int{}
	for _, r := range rows {
		w.is(fmt.Sprintf("step of attempt %d", r.Attempt), r.StepIndex, next[r.Attempt])
		next[r.Attempt]++
	}
}

// chain reads and verifies the default tenant's facts.
func (w *world) chain() []audit.Entry {
	w.Helper()
	entries, err := w.Facts(w.ctx, tenant.Default, 0, 100_000)
	w.ok(err)
	w.ok(audit.Verify(0, [32]byte{}, entries))
	return entries
}
