package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"interlock/internal/device"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/tool"
)

func TestMain(m *testing.M) {
	if os.Getenv(hostProcess) != "" {
		runHostProcess()
		return
	}
	goleak.VerifyTestMain(m)
}

// world is a control plane in memory with one enrolled host, inside a bubble.
type world struct {
	*hostapitest.Server
	cfg    host.Config
	phone  *phone
	dialed []string // addresses
	mu     sync.Mutex
}

// inWorld runs f in a bubble with a world of its own.
func inWorld(t *testing.T, o hostapitest.Options, f func(t *testing.T, w *world)) {
	t.Parallel()
	inWorldNow(t, o, f)
}

// inWorldNow is inWorld for a test whose worlds follow one another.
func inWorldNow(t *testing.T, o hostapitest.Options, f func(t *testing.T, w *world)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Server: hostapitest.New(t, o), phone: &phone{}}
		url, dial, end := w.InMemory()
		defer end()
		w.cfg = host.Config{Server: url, StateDir: dir, Name: "bench-1", Version: "test", Devices: []host.Device{w.phone.offer("p1")},
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				w.mu.Lock()
				w.dialed = append(w.dialed, address)
				w.mu.Unlock()
				return dial(ctx, network, address)
			}}
		if err := host.Enroll(t.Context(), w.cfg, w.EnrolToken()); err != nil {
			t.Fatal(err)
		}
		f(t, w)
	})
}

// running is a host under way.
type running struct {
	*host.Host
	stop  context.CancelFunc
	ended chan error
}

// run starts the world's host with a planner for each attempt.
func (w *world) run(t *testing.T, plan host.Planners) *running {
	t.Helper()
	h, err := host.Open(w.cfg, plan)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Host: h, stop: stop, ended: make(chan error, 1)}
	var done sync.WaitGroup
	done.Go(func() { r.ended <- h.Run(ctx) })
	t.Cleanup(func() { // also where the test failed
		stop()
		done.Wait()
	})
	return r
}

// end stops the host and checks that it stops in an orderly way.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("Run ended with %v, want nil", err)
	}
}

// await blocks until the task has ended and returns it.
func (w *world) await(t *testing.T, id string) hostapitest.Task {
	t.Helper()
	w.Wait(t, id+" to end", func() bool { return w.Task(id).State == hostapitest.Ended })
	return w.Task(id)
}

// outbox lists the results that wait on disk.
func (w *world) outbox(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.cfg.StateDir, "outbox", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// phone is a counter with one button. It notes when it was touched.
type phone struct {
	mu      sync.Mutex
	count   int
	touched []time.Time
	open    int // sessions
	most    int // sessions at once
	closed  time.Time
	during  func(ctx context.Context) error // runs in each touch
	failing bool                            // Open fails
}

func (p *phone) offer(id string) host.Device {
	return host.Device{Device: hostapi.Device{ID: id, Kind: "sim"}, Open: func(context.Context) (device.Driver, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.failing {
			return nil, device.Fail(device.ErrLost, device.No)
		}
		p.open++
		p.most = max(p.most, p.open)
		return p, nil
	}}
}

func (p *phone) Info(context.Context) (device.Info, error) {
	return device.Info{ID: "counter", Platform: "sim"}, nil
}

func (p *phone) Observe(context.Context) (device.Scene, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	button := device.Element{ID: "more", Role: "button", Text: "More", Bounds: device.Rect{X1: 100, Y1: 50}, Flags: device.Clickable}
	total := device.Element{ID: "total", Role: "text", Text: fmt.Sprintf("Total %d", p.count), Bounds: device.Rect{Y0: 60, X1: 100, Y1: 90}}
	return device.Seal(device.Scene{App: "com.counter", Size: device.Size{W: 100, H: 200}, Elements: []device.Element{button, total}}), nil
}

func (p *phone) Do(ctx context.Context, _ device.Action) error {
	p.mu.Lock()
	p.touched = append(p.touched, time.Now())
	during := p.during
	p.mu.Unlock()
	if during != nil {
		if err := during(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return nil
}

func (p *phone) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	p.closed = time.Now()
	return nil
}

// touches returns when the phone was touched, and when its session last ended.
func (p *phone) touches() (at []time.Time, closed time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.touched...), p.closed
}

// taps proposes n taps, each after think, and then finishes.
type taps struct {
	n     int
	think time.Duration
}

func (p taps) Plan(ctx context.Context, in planner.Input) (planner.Proposal, error) {
	if p.think > 0 {
		select {
		case <-time.After(p.think):
		case <-ctx.Done():
			return planner.Proposal{}, llm.AsUnavailable(ctx.Err())
		}
	}
	return planner.Proposal{Call: nextTap(in.Ordinal, p.n), Provider: "taps", Model: "taps", StepIndex: -1}, nil
}

func nextTap(ordinal, n int) tool.Call {
	if ordinal < n {
		return tool.Call{Tool: planner.Tap, Arguments: json.RawMessage(`{"ref":"e1"}`)}
	}
	return tool.Call{Tool: planner.Finish, Arguments: json.RawMessage(`{"status":"success","summary":"counted","evidence":"Total"}`)}
}

// tapping makes the same planner for every attempt.
func tapping(n int, think time.Duration) host.Planners {
	return func(llm.ToolCaller) planner.Planner { return taps{n, think} }
}
