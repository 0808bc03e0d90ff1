package sqlite

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// crashVariable makes this test program a process that works on the database
// that it names, in the way that workVariable names, until it is killed.
const (
	crashVariable = "INTERLOCK_TEST_CRASH_DATABASE"
	workVariable  = "INTERLOCK_TEST_CRASH_WORK"
)

// untilKilled are the ways. Each prints a line for what was answered.
var untilKilled = map[string]func(path string) error{
	"decisions": recordUntilKilled,
	"calls":     callUntilKilled,
}

// crashTasks are decided at the same time.
const crashTasks = 8

var crashTiming = task.Timing{Lease: time.Hour, AckWithin: time.Hour, DeviceGrace: time.Second, MaxMisses: 3}

// recordUntilKilled prints "task key step" once a decision is answered.
func recordUntilKilled(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Config{Path: path})
	if err != nil {
		return err
	}
	held, err := crashHeld(ctx, s)
	if err != nil {
		return err
	}
	var out sync.Mutex
	var all sync.WaitGroup
	for _, k := range held {
		all.Go(func() {
			for {
				r := crashRow(k, strconv.FormatUint(rand.Uint64(), 36))
				step, err := s.Record(ctx, r, usage.Entry{Tenant: k.Tenant, Task: string(k.ID), Attempt: k.Attempt, At: r.At, Usage: r.Usage})
				out.Lock()
				if err == nil {
					fmt.Println(k.ID, r.Key, step)
				} else {
					fmt.Println("error", err)
				}
				out.Unlock()
			}
		})
	}
	all.Wait()
	return nil
}

// crashHeld claims the tasks, or goes on with those that are held already.
func crashHeld(ctx context.Context, s *Store) ([]task.Task, error) {
	held, err := s.Tasks(ctx, task.Filter{Tenant: tenant.Default, States: []task.State{task.Leased}, Limit: crashTasks})
	if err != nil || len(held) == crashTasks {
		return held, err
	}
	req := task.ClaimRequest{Tenant: tenant.Default, Host: "h", Max: crashTasks}
	for i := range crashTasks {
		k := task.Task{ID: task.ID(fmt.Sprint("task-", i)), Tenant: tenant.Default, Spec: task.Spec{Goal: "g"}}
		if _, _, err := s.Submit(ctx, k, string(k.ID), [32]byte{}, audit.Fact{Action: "task.submit", At: time.Now()}); err != nil {
			return nil, err
		}
		req.Devices = append(req.Devices, fleet.Device{ID: fmt.Sprint("p", i)})
	}
	given, err := s.Claim(ctx, crashTiming, []task.ClaimRequest{req})
	if err != nil {
		return nil, err
	}
	return append(held, given[0]...), nil
}

func crashRow(k task.Task, key string) decision.Row {
	return decision.Row{Tenant: k.Tenant, Task: k.ID, Attempt: k.Attempt, Host: k.Host, Key: key, BodyHash: sha256.Sum256([]byte(key)),
		SystemPrompt: "You drive a phone.", UserPrompt: strings.Repeat("[0] button Save\n", 40) + key, Tool: "tap", Arguments: []byte(`{}`),
		Usage: llm.Usage{Input: llm.Known(10)}, Provider: "scripted", At: time.Now()}
}

// answered is a decision that the killed process had answered.
type answered struct {
	task task.ID
	key  string
	step int
}

// runUntilKilled runs the process, kills it after some more answers, and
// returns every answer that came out of it, a line each.
func runUntilKilled(t *testing.T, work, path string) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), crashVariable+"="+path, workVariable+"="+work)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killAfter := 1 + rand.IntN(400)
	var out []string
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // killed; a line that was cut is no answer
			break
		}
		if strings.HasPrefix(line, "error") {
			t.Errorf("the process says: %s", line)
			continue
		}
		out = append(out, line)
		if len(out) == killAfter {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	io.Copy(io.Discard, lines)
	if err := cmd.Wait(); err == nil || len(out) == 0 {
		t.Fatalf("the process ended by itself, after %d answers: %v %s", len(out), err, complaints.String())
	}
	return out
}

// R-CLOUD-3: whatever was answered before the process was killed is there, and
// there is no gap.
func TestWhatWasAnsweredSurvivesAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "interlock.db")
	var all []answered
	for range 20 {
		for _, line := range runUntilKilled(t, "decisions", path) {
			var a answered
			if _, err := fmt.Sscan(line, &a.task, &a.key, &a.step); err != nil {
				t.Fatalf("the process says: %s", line)
			}
			all = append(all, a)
		}
	}
	s := open(t, Config{Path: path})
	stored := map[answered]bool{}
	for i := range crashTasks {
		id := task.ID(fmt.Sprint("task-", i))
		rows, err := s.Decisions(t.Context(), decision.Query{Tenant: tenant.Default, Task: id, AfterStep: -1, Limit: 1 << 20, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if r.StepIndex != i {
				t.Fatalf("task %s: step %d stands where %d should", id, r.StepIndex, i)
			}
			if !strings.HasSuffix(r.UserPrompt, r.Key) {
				t.Errorf("task %s step %d: the prompt is another's", id, i)
			}
			stored[answered{id, r.Key, r.StepIndex}] = true
		}
		used, err := s.Usage(t.Context(), usage.Query{Tenant: tenant.Default, Task: string(id)})
		if err != nil || used[0].Calls != int64(len(rows)) {
			t.Errorf("task %s: %d rows, usage %+v, %v", id, len(rows), used, err)
		}
	}
	for _, a := range all {
		if !stored[a] {
			t.Errorf("%+v was answered and is not there", a)
		}
	}
	if size, err := s.Size(t.Context()); err != nil || size.Rows != int64(len(stored)) {
		t.Errorf("size %+v, %v; %d rows are there", size, err, len(stored))
	}
	facts, err := s.Facts(t.Context(), tenant.Default, 0, 1000)
	if err != nil || len(facts) != crashTasks || audit.Verify(0, [32]byte{}, facts) != nil {
		t.Errorf("the chain of %d facts: %v, %v", len(facts), err, audit.Verify(0, [32]byte{}, facts))
	}
	t.Logf("%d decisions answered over 20 kills, %d stored", len(all), len(stored))
}
