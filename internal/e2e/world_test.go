package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/logtest"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/waittest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if builtIn != "" {
			os.RemoveAll(builtIn)
		}
		os.Exit(code)
	}))
}

// clock is a wall clock that tests move; it also runs by itself.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration // guarded by mu
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// world is one server on its own database, with a movable clock, and an
// operator's token for it.
type world struct {
	t        *testing.T
	url      string
	database string
	token    string
	clock    *clock
	log      *logtest.Log // of the server, at debug level
	stop     func()
}

// start builds and runs a server; change, which may be nil, edits its settings.
func start(t *testing.T, change func(*app.ServerConfig)) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{}, log: &logtest.Log{}, database: filepath.Join(t.TempDir(), "interlock.db")}
	c := app.ServerConfig{
		Version: "test", Listen: "127.0.0.1:0", Database: w.database, Now: w.clock.Now,
		Logger: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Tasks:  task.Config{ReapEvery: 20 * time.Millisecond, Sweep: 20 * time.Millisecond, PollHold: 2 * time.Second, PollJitter: time.Millisecond},
	}
	if change != nil {
		change(&c)
	}
	s, err := app.NewServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w.url, w.token = s.HostsURL(), s.FirstToken().Reveal()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	t.Cleanup(w.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", w.log.String())
		}
	})
	return w
}

// operator does one call of the operators' API with the first token and
// returns the status and body; reply may be nil.
func (w *world) operator(method, path string, body, reply any) (int, []byte) {
	w.t.Helper()
	status, answer := operatorCall(w.t, w.url, w.token, method, path, body)
	if reply != nil && status < 300 {
		if err := json.Unmarshal(answer, reply); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return status, answer
}

func operatorCall(t *testing.T, url, token, method, path string, body any) (int, []byte) {
	t.Helper()
	var b []byte
	if body != nil {
		b, _ = json.Marshal(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(operators.KeyHeader, rand.Text())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// must is operator for calls that have to succeed.
func (w *world) must(method, path string, body, reply any) {
	w.t.Helper()
	if status, answer := w.operator(method, path, body, reply); status >= 300 {
		w.t.Fatalf("%s %s answered %d: %s", method, path, status, answer)
	}
}

// enrolToken makes a one-use enrolment token.
func (w *world) enrolToken() string {
	w.t.Helper()
	var made operators.EnrolTokenReply
	w.must(http.MethodPost, operators.PathEnrolTokens, operators.NewEnrolToken{}, &made)
	return made.Token.Reveal()
}

// bare enrolls a bare host with n devices d0, d1 …
func (w *world) bare(name string, n int) *barehost.Host {
	w.t.Helper()
	return w.bareThrough(w.url, name, n)
}

func (w *world) bareThrough(url, name string, n int) *barehost.Host {
	w.t.Helper()
	devices := make([]hostapi.Device, n)
	for i := range devices {
		devices[i] = hostapi.Device{ID: fmt.Sprintf("d%d", i), Kind: "sim"}
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	w.t.Cleanup(transport.CloseIdleConnections)
	h, _, err := barehost.Enroll(w.t.Context(), &http.Client{Transport: transport}, url, w.enrolToken(), name, devices...)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func devices(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("d%d", i)
	}
	return out
}

// submit makes a task.
func (w *world) submit(spec operators.TaskSpec) operators.Task {
	w.t.Helper()
	var made operators.SubmitReply
	w.must(http.MethodPost, operators.PathTasks, spec, &made)
	return made.Task
}

// task reads a task.
func (w *world) task(id string) operators.Task {
	w.t.Helper()
	var t operators.Task
	w.must(http.MethodGet, operators.TaskPath(id, ""), nil, &t)
	return t
}

// decisions reads all decisions of a task with their prompts.
func (w *world) decisions(id string) []operators.Decision {
	w.t.Helper()
	var all []operators.Decision
	for cursor := ""; ; {
		var page operators.DecisionPage
		w.must(http.MethodGet, operators.TaskPath(id, "decisions")+"?bodies=true&limit=200&cursor="+cursor, nil, &page)
		all = append(all, page.Decisions...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// claim polls until the host has n tasks.
func (w *world) claim(h *barehost.Host, n int, idle []string) []hostapi.Assignment {
	w.t.Helper()
	var got []hostapi.Assignment
	for try := 0; len(got) < n; try++ {
		if try > 50 {
			w.t.Fatalf("claimed %d of %d tasks", len(got), n)
		}
		more, err := h.Claim(w.t.Context(), fmt.Sprintf("poll-%s-%d-%d", h.ID, w.clock.Now().UnixNano(), try), n-len(got), 500, idle...)
		if err != nil {
			w.t.Fatal(err)
		}
		got = append(got, more...)
	}
	return got
}

// simHost runs a real host with one simulated phone until the test ends.
func (w *world) simHost(url string, plan app.Planner, log io.Writer) (stop func()) {
	w.t.Helper()
	return w.hostWith(url, plan, log, app.DeviceConfig{Kind: app.Sim, ID: "sim"})
}

// hostWith runs a real host with one device until the test ends.
func (w *world) hostWith(url string, plan app.Planner, log io.Writer, phone app.DeviceConfig) (stop func()) {
	w.t.Helper()
	h, err := app.NewHost(w.t.Context(), app.HostConfig{
		Version: "test", Server: url, StateDir: w.t.TempDir(), Name: "sim-host", Planner: plan,
		Devices: []app.DeviceConfig{phone},
		Logger:  slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, secret.New(w.enrolToken()))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	w.t.Cleanup(stop)
	return stop
}

// ended waits for a task's end.
func (w *world) ended(id string) operators.Task {
	w.t.Helper()
	return waittest.For(w.t, 30*time.Second, "task "+id+" ends", func() (operators.Task, bool) {
		t := w.task(id)
		return t, t.Ended()
	})
}

// bareWith is a bare host that presents any credential.
func (w *world) bareWith(credential string) *barehost.Host {
	return &barehost.Host{URL: w.url, Credential: credential}
}
