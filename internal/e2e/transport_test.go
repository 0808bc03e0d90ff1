package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/logtest"
	"interlock/internal/provider/providertest"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
)

// demoPlanner answers with the built-in script.
func demoPlanner() app.Planner {
	return app.Planner{Enabled: true, Provider: app.Scripted, Timeout: 20 * time.Second}
}

func demoTask() operators.TaskSpec {
	return operators.TaskSpec{Goal: app.DemoGoal, AppLock: app.DemoApps()}
}

// R-PLAN-4, R-CLOUD-7: the same task over the direct transport leaves no
// decision in the log, and the server is asked for none.
func TestTheDirectTransportLeavesTheLogEmpty(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *app.ServerConfig) { c.Planner = demoPlanner() })
	direct := demoPlanner()
	direct.Transport = app.Direct
	var log logtest.Log
	w.simHost(w.url, direct, &log)
	made := w.submit(demoTask())
	if got := w.ended(made.ID); got.State != "succeeded" || got.Result.Steps == 0 {
		t.Fatalf("task %s (%s)\n%s", got.State, got.Reason, log.String())
	}
	if rows := w.decisions(made.ID); len(rows) != 0 {
		t.Errorf("the log holds %d decisions of a direct host", len(rows))
	}
	var status operators.Status
	w.must(http.MethodGet, operators.PathStatus, nil, &status)
	if status.Planner.Decides != 0 || status.Log.Decisions != 0 {
		t.Errorf("status: %+v", status)
	}
	var events operators.EventPage
	w.must(http.MethodGet, operators.TaskPath(made.ID, "events"), nil, &events)
	if len(events.Events) == 0 {
		t.Error("the step events are missing; they come with both transports")
	}
	for _, e := range events.Events {
		if e.StepIndex != nil {
			t.Errorf("event %+v points into the log", e)
		}
	}
}

// R-PLAN-4, R-HOST-5: with the cloud transport a host needs no key, and with
// keys and a base URL set it contacts no provider all the same.
func TestTheCloudTransportContactsNoProvider(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	trap := httptest.NewUnstartedServer(http.NotFoundHandler())
	trap.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	trap.Start()
	t.Cleanup(trap.Close)
	for name, plan := range map[string]app.Planner{
		"no key": {Enabled: true, Transport: app.Cloud},
		"keys and a base URL": {Enabled: true, Transport: app.Cloud, Provider: app.OpenAI, Model: "m", BaseURL: trap.URL,
			OpenAIKey: secret.New("sk-host-openai"), AnthropicKey: secret.New("sk-host-anthropic")},
		"both keys and no choice": {Enabled: true, Transport: app.Cloud, BaseURL: trap.URL,
			OpenAIKey: secret.New("sk-host-openai"), AnthropicKey: secret.New("sk-host-anthropic")},
	} {
		w := start(t, func(c *app.ServerConfig) { c.Planner = demoPlanner() })
		var log logtest.Log
		w.simHost(w.url, plan, &log)
		made := w.submit(demoTask())
		got := w.ended(made.ID)
		rows := w.decisions(made.ID)
		if got.State != "succeeded" || len(rows) != got.Result.Steps {
			t.Errorf("%s: task %s (%s), %d decisions\n%s", name, got.State, got.Reason, len(rows), log.String())
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("the provider's address saw %d connections", n)
	}
}

// R-PLAN-6: a host whose AI planner is off says so and fails the task.
func TestAHostWithoutAPlannerFailsItsTasks(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *app.ServerConfig) { c.Planner = demoPlanner() })
	var log logtest.Log
	w.simHost(w.url, app.Planner{Enabled: false, Transport: app.Cloud}, &log)
	made := w.submit(demoTask())
	got := w.ended(made.ID)
	if got.State != "failed" || got.Result == nil || !strings.Contains(got.Result.Summary, "AI planner is off") {
		t.Errorf("task %s (%s), %+v", got.State, got.Reason, got.Result)
	}
	if rows := w.decisions(made.ID); len(rows) != 0 {
		t.Errorf("%d decisions in the log", len(rows))
	}
}

// R-PLAN-5, R-CLOUD-2: the whole way through the control plane passes the
// suite that the direct clients pass: for one reply, the same call, usage,
// provider, model, request id, reason and Retry-After.
func TestTheCloudTransportConforms(t *testing.T) {
	for provider, shape := range map[string]providertest.Shape{app.OpenAI: providertest.OpenAI, app.Anthropic: providertest.Anthropic} {
		t.Run(provider, func(t *testing.T) {
			providertest.Run(t, providertest.Subject{Shape: shape, New: func(t testing.TB, e providertest.Endpoint) llm.ToolCaller {
				return cloudCaller(t.(*testing.T), provider, e)
			}})
		})
	}
}

// cloudCaller returns the caller of a host that holds a task on a server whose
// provider is the endpoint.
func cloudCaller(t *testing.T, provider string, e providertest.Endpoint) llm.ToolCaller {
	t.Helper()
	w := start(t, func(c *app.ServerConfig) {
		c.Planner = app.Planner{Enabled: true, Provider: provider, Model: e.Model, BaseURL: e.BaseURL, Timeout: e.Timeout, HTTP: e.Transport, Dialect: e.Dialect,
			OpenAIKey: e.Key, AnthropicKey: e.Key}
	})
	const n = 8
	dir := t.TempDir()
	config := app.HostConfig{Version: "test", Server: w.url, StateDir: dir, Name: "h", Planner: app.Planner{Enabled: true, Transport: app.Cloud}}
	for _, id := range devices(n) {
		config.Devices = append(config.Devices, app.DeviceConfig{Kind: "sim", ID: id})
	}
	h, err := app.NewHost(t.Context(), config, secret.New(w.enrolToken()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	for range n {
		w.submit(operators.TaskSpec{Goal: "decide"})
	}
	c := &holder{caller: h.Caller(), held: w.claim(w.sameHost(dir), n, devices(n)), free: make(chan int, n)}
	for i := range n {
		c.free <- i
	}
	return c
}

// sameHost is a bare host with the credential that a host keeps in dir.
func (w *world) sameHost(dir string) *barehost.Host {
	w.t.Helper()
	var file struct {
		HostID  string `json:"host_id"`
		Current struct {
			Credential string `json:"credential"`
		} `json:"current"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "credential.json"))
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return &barehost.Host{URL: w.url, ID: file.HostID, Credential: file.Current.Credential}
}

// holder lends each decision one of the tasks that its host holds, since only
// one decide of an attempt runs at a time.
type holder struct {
	caller llm.ToolCaller
	held   []hostapi.Assignment
	free   chan int // indexes of held
	count  atomic.Int64
}

func (h *holder) String() string { return fmt.Sprintf("%v", h.caller) }

// Decide makes the decision for a free task.
func (h *holder) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	i := <-h.free
	defer func() { h.free <- i }()
	r.TaskID, r.Attempt = h.held[i].TaskID, h.held[i].Attempt
	if r.Key == "" {
		r.Key = fmt.Sprintf("decision-%d", h.count.Add(1))
	}
	return h.caller.Decide(ctx, r)
}
