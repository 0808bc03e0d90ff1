package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
)

// hostProcess makes this test program a host: "<taps> <milliseconds a
// decision> <server> <state folder>".
const hostProcess = "INTERLOCK_TEST_HOST_PROCESS"

func runHostProcess() {
	var n, think int
	var cfg host.Config
	if _, err := fmt.Sscanf(os.Getenv(hostProcess), "%d %d %s %s", &n, &think, &cfg.Server, &cfg.StateDir); err != nil {
		panic(err)
	}
	cfg.Name, cfg.Devices = "crashing", []host.Device{(&phone{}).offer("p1")}
	h, err := host.Open(cfg, tapping(n, time.Duration(think)*time.Millisecond))
	if err == nil {
		err = h.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// process is a host in a process of its own, which can be killed.
type process struct{ cmd *exec.Cmd }

func startProcess(t *testing.T, cfg host.Config, taps, think int) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostProcess+"="+strconv.Itoa(taps)+" "+strconv.Itoa(think)+" "+cfg.Server+" "+cfg.StateDir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// quickTimings let leases run out while a test waits.
var quickTimings = hostapi.Timings{LeaseMS: 1500, RenewMS: 300, SelfFenceMS: 1000, FreshMS: 500, PollHoldMS: 1000, DecideSlackMS: 1000}

func crashingWorld(t *testing.T) (*hostapitest.Server, host.Config) {
	t.Helper()
	t.Parallel()
	s := hostapitest.New(t, hostapitest.Options{Timings: quickTimings, DeviceGrace: 300 * time.Millisecond})
	cfg := host.Config{Server: s.Loopback(t), StateDir: t.TempDir(), Name: "crashing", Devices: []host.Device{(&phone{}).offer("p1")}}
	if err := host.Enroll(t.Context(), cfg, s.EnrolToken()); err != nil {
		t.Fatal(err)
	}
	return s, cfg
}

// R-HOST-3: a host that is killed in the middle leaves a lease to run out, and
// the next process carries the next attempt out.
func TestAHostKilledInTheMiddleIsTriedAgain(t *testing.T) {
	s, cfg := crashingWorld(t)
	id := s.Submit(hostapi.Assignment{Goal: "count"})
	p := startProcess(t, cfg, 1000, 50)
	s.Wait(t, "the first touch", func() bool { return s.Task(id).Acting })
	renewed := s.Task(id).Renewed
	p.kill()
	startProcess(t, cfg, 3, 0)
	s.Wait(t, "the second attempt", func() bool { return s.Task(id).Attempt == 2 })
	if waited := time.Since(renewed); waited < 1500*time.Millisecond {
		t.Errorf("the device was given away %v after the last renewal, before the lease ran out", waited)
	}
	s.Wait(t, "the end", func() bool { return s.Task(id).State == hostapitest.Ended })
	if got := s.Task(id); got.Result.State != "succeeded" || got.Accepted != 1 {
		t.Errorf("%+v, want succeeded once", got)
	}
}

// R-HOST-4: a host that is killed with a result in its outbox reports it when
// it starts again, once.
func TestAHostKilledBeforeItReportedReportsLater(t *testing.T) {
	s, cfg := crashingWorld(t)
	s.Inject("result", 1_000_000, hostapitest.DropCall)
	id := s.Submit(hostapi.Assignment{Goal: "count"})
	p := startProcess(t, cfg, 1, 0)
	s.Wait(t, "a try to send the result", func() bool { return s.Calls("result") > 0 })
	p.kill()
	if waiting, _ := filepath.Glob(filepath.Join(cfg.StateDir, "outbox", "*.json")); len(waiting) != 1 {
		t.Fatalf("the outbox holds %v, want one result", waiting)
	}
	s.Mend("result")
	s.Inject("result", 1, hostapitest.CutAnswer)
	startProcess(t, cfg, 1, 0)
	s.Wait(t, "the result", func() bool { return s.Task(id).Replays == 1 })
	if got := s.Task(id); got.Result.State != "succeeded" || got.Accepted != 1 || got.Attempt != 1 {
		t.Errorf("%+v, want the first attempt's result once", got)
	}
}
