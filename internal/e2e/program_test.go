package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/logtest"
	"interlock/internal/tool"
	"interlock/internal/waittest"
	"interlock/test/peers/aimock"
)

// built is the program, built once a test run.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "interlock-e2e-*")
	if err != nil {
		return "", err
	}
	builtIn = dir
	path := filepath.Join(dir, "interlock")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", path, "interlock/cmd/interlock")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
})

// builtIn is the program's folder, removed when all tests have ended; "" if
// none built it.
var builtIn string

// program returns a command of the program with nothing but these settings in
// its environment.
func program(t *testing.T, settings map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "INTERLOCK_STATE_DIR=" + home}
	for k, v := range settings {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// demoReport is what "interlock demo --json" prints last.
type demoReport struct {
	Task struct {
		ID, State string
		Steps     int
	}
	Provider, Transport string
	Decisions           []struct {
		StepIndex int `json:"step_index"`
		Tool      string
		Arguments json.RawMessage
	}
	Usage map[string]*int64
}

func runDemo(t *testing.T, settings map[string]string) (demoReport, string) {
	t.Helper()
	cmd := program(t, settings, "demo", "--once", "--json")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("demo: %v\n%s\n%s", err, out.String(), said.String())
	}
	// One JSON object is the last thing on standard output.
	text := out.Bytes()
	i := bytes.LastIndex(append([]byte("\n"), text...), []byte("\n{"))
	if i < 0 {
		t.Fatalf("no JSON object in: %s", text)
	}
	var r demoReport
	if err := json.Unmarshal(text[i:], &r); err != nil {
		t.Fatalf("%v in: %s", err, text)
	}
	return r, out.String() + said.String()
}

func (r demoReport) check(t *testing.T, provider, transport string, steps int) {
	t.Helper()
	if r.Task.State != "succeeded" || r.Task.ID == "" || r.Task.Steps != steps || r.Provider != provider || r.Transport != transport {
		t.Errorf("report %+v; want %d steps by %s over %s", r, steps, provider, transport)
	}
	want := steps
	if transport == app.Direct {
		want = 0
	}
	if len(r.Decisions) != want {
		t.Errorf("%d decisions in the log, want %d", len(r.Decisions), want)
	}
	for i, d := range r.Decisions {
		if d.StepIndex != i || d.Tool == "" || !json.Valid(d.Arguments) {
			t.Errorf("decision %d is %+v", i, d)
		}
	}
}

// R-CLOUD-3, R-CLOUD-8: the demo without a provider rehearses by a script, and
// says so.
func TestTheDemoRehearsesWithoutAProvider(t *testing.T) {
	t.Parallel()
	r, said := runDemo(t, nil)
	r.check(t, app.Scripted, app.Cloud, 9)
	if r.Usage["input_tokens"] != nil {
		t.Errorf("a script uses no tokens, so none are known: %v", r.Usage)
	}
	if !strings.Contains(said, "without a model") {
		t.Errorf("the demo does not say that no model decides:\n%s", said)
	}
}

// demoAnswers are a model's calls that carry out the demo's task: those of the
// script, in their order.
func demoAnswers(t *testing.T) []aimock.Answer {
	t.Helper()
	r, _ := runDemo(t, nil)
	var out []aimock.Answer
	for _, d := range r.Decisions {
		out = append(out, aimock.Answer{Call: tool.Call{Tool: d.Tool, Arguments: d.Arguments}, Input: 100, Output: 7})
	}
	return out
}

// R-PLAN-2, R-PLAN-4: the demo with either provider over either transport,
// against a mock that is not ours.
func TestTheDemoWithEitherProviderOverEitherTransport(t *testing.T) {
	t.Parallel()
	answers := demoAnswers(t)
	for provider, key := range map[string]string{app.OpenAI: "OPENAI_API_KEY", app.Anthropic: "ANTHROPIC_API_KEY"} {
		for _, transport := range []string{app.Cloud, app.Direct} {
			t.Run(provider+" "+transport, func(t *testing.T) {
				t.Parallel()
				mock := aimock.Start(t, answers)
				settings := map[string]string{key: "sk-mock", "AI_PLANNER_MODEL": "mock-model", "AI_PLANNER_BASE_URL": mock.URL}
				if transport == app.Direct { // the demo's own default is cloud
					settings["AI_PLANNER_TRANSPORT"] = transport
				}
				r, _ := runDemo(t, settings)
				r.check(t, provider, transport, len(answers))
				if in := r.Usage["input_tokens"]; in == nil || *in != int64(100*len(answers)) {
					t.Errorf("usage %+v, want %d input tokens", r.Usage, 100*len(answers))
				}
			})
		}
	}
}

// server is the program serving one database at one address, to be killed and
// started again.
type server struct {
	t        *testing.T
	url      string
	settings map[string]string
	cmd      *exec.Cmd
	log      *logtest.Log
}

func newServer(t *testing.T, u *upstream) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	return &server{t: t, url: "http://" + address, log: &logtest.Log{}, settings: map[string]string{
		"INTERLOCK_LISTEN": address, "INTERLOCK_DATABASE": filepath.Join(dir, "interlock.db"), "INTERLOCK_FIRST_TOKEN_FILE": filepath.Join(dir, "token"),
		"INTERLOCK_MAX_DECISIONS_PER_ATTEMPT": "100000", "INTERLOCK_LOG_LEVEL": "debug",
		"OPENAI_API_KEY": "sk-test-key-0000", "AI_PLANNER_MODEL": "m-1", "AI_PLANNER_BASE_URL": u.url}}
}

// start runs the server until it is ready.
func (s *server) start() {
	s.t.Helper()
	s.cmd = program(s.t, s.settings, "server")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	waittest.For(s.t, 30*time.Second, "the server is ready", func() (string, bool) {
		resp, err := http.Get(s.url + "/readyz")
		if err != nil {
			return s.log.String(), false
		}
		resp.Body.Close()
		return "", resp.StatusCode == http.StatusOK
	})
}

// kill ends the server without any warning.
func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func (s *server) token() string {
	s.t.Helper()
	b, err := os.ReadFile(s.settings["INTERLOCK_FIRST_TOKEN_FILE"])
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// kills is how often the server is killed.
const kills = 20

// R-CLOUD-3: a server that is killed at any moment has every decision that it
// had answered, and no gap.
func TestAKilledServerHasEveryDecisionItAnswered(t *testing.T) {
	t.Parallel()
	const tasks = 8
	u := startUpstream(t, time.Millisecond)
	s := newServer(t, u)
	s.start()
	t.Cleanup(func() { s.kill() })
	w := &world{t: t, url: s.url, token: s.token(), clock: &clock{}, log: s.log}
	for range tasks {
		w.submit(taskThatWaits())
	}
	h := w.bare("h", tasks)
	held := w.claim(h, tasks, devices(tasks))

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	answered := make([]atomic.Int64, tasks) // how many decisions of each task were answered, in order
	var callers sync.WaitGroup
	for i, a := range held {
		callers.Go(func() {
			for ctx.Err() == nil {
				n := answered[i].Load()
				// Only success counts; whatever else, the same key asks again.
				if got, err := decide(t, h, a, fmt.Sprintf("key-%d", n), fmt.Sprintf("scene %d of task %d", n, i)); err == nil {
					if got.StepIndex != int(n) {
						t.Errorf("task %d: decision %d has index %d", i, n, got.StepIndex)
						return
					}
					answered[i].Add(1)
				}
			}
		})
	}
	total := func() (n int64) {
		for i := range answered {
			n += answered[i].Load()
		}
		return n
	}
	for k := range kills {
		// Each time after another number of further decisions, so at another moment.
		goal := total() + int64(1+k*7%40)
		waittest.For(t, 30*time.Second, "more decisions are answered", func() (int64, bool) { n := total(); return n, n >= goal })
		s.kill()
		s.start()
	}
	stop()
	callers.Wait()
	for i, a := range held {
		rows := w.decisions(a.TaskID)
		n := int(answered[i].Load())
		// The last decide may have been stored and its answer lost.
		if len(rows) != n && len(rows) != n+1 {
			t.Errorf("task %d: %d answered, %d stored", i, n, len(rows))
		}
		for at, r := range rows {
			if want := fmt.Sprintf("scene %d of task %d", at, i); r.StepIndex != at || r.UserPrompt != want {
				t.Errorf("task %d: row %d has index %d and prompt %q, want %q", i, at, r.StepIndex, r.UserPrompt, want)
			}
		}
	}
	t.Logf("%d decisions answered over %d kills", total(), kills)
}

// R-PLAN-4: a host's program with keys and a base URL in its environment opens
// no connection to them with the cloud transport.
func TestTheHostProgramContactsNoProvider(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	trap := httptest.NewUnstartedServer(http.NotFoundHandler())
	trap.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	trap.Start()
	t.Cleanup(trap.Close)
	w := start(t, func(c *app.ServerConfig) { c.Planner = demoPlanner() })
	cmd := program(t, map[string]string{"AI_PLANNER_TRANSPORT": "cloud", "OPENAI_API_KEY": "sk-host", "ANTHROPIC_API_KEY": "sk-host", "AI_PLANNER_MODEL": "m",
		"AI_PLANNER_BASE_URL": trap.URL, "INTERLOCK_SERVER": w.url, "INTERLOCK_ENROLL_TOKEN": w.enrolToken()}, "host")
	var said logtest.Log
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	made := w.submit(demoTask())
	got := w.ended(made.ID)
	if rows := w.decisions(made.ID); got.State != "succeeded" || len(rows) != got.Result.Steps {
		t.Errorf("task %s (%s), %d decisions\n%s", got.State, got.Reason, len(rows), said.String())
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("the provider's address saw %d connections", n)
	}
}
