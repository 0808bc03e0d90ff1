package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

// benchTools are as large as a real set.
var benchTools = func() (out []tool.Spec) {
	for i := range 11 {
		out = append(out, tool.Spec{Name: fmt.Sprint("tool_", i), Description: strings.Repeat("what it does and when to use it; ", 5),
			Parameters: []byte(`{"type":"object","properties":{"element":{"type":"integer"},"reason":{"type":"string"}},"required":["element"]}`)})
	}
	return out
}()

// benchScreen is the user prompt of one step: most of a screen stays.
func benchScreen(task, step int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Goal: find setting %d and turn it on\n\nScreen 1080x2400, app com.example.settings\n", task)
	for i := range 40 {
		fmt.Fprintf(&b, "[%d] switch %q bounds=(%d,%d)-(%d,%d) clickable\n", i, fmt.Sprint("Setting ", i+3*step, " of page ", task), i*13, i*40-step*17, i*13+300, i*40+80-step*17)
	}
	b.WriteString("\nDone so far:\n")
	for i := range step {
		fmt.Fprintf(&b, "%d. swipe {\"direction\":\"up\"} -> the screen moved\n", i)
	}
	return b.String()
}

func benchStore(b *testing.B) *Store { return open(b, Config{Path: filepath.Join(b.TempDir(), "db")}) }

// benchHeld is n tasks that hosts hold.
func benchHeld(b *testing.B, s *Store, n int) []task.Task {
	b.Helper()
	req := task.ClaimRequest{Tenant: tenant.Default, Host: "h", Max: n}
	var all sync.WaitGroup
	for i := range n {
		req.Devices = append(req.Devices, fleet.Device{ID: fmt.Sprint("p", i)})
		all.Go(func() { benchSubmit(b, s, fmt.Sprint("held-", i)) })
	}
	all.Wait()
	given, err := s.Claim(b.Context(), crashTiming, []task.ClaimRequest{req})
	if err != nil || len(given[0]) != n {
		b.Fatalf("claimed %d, %v", len(given[0]), err)
	}
	return given[0]
}

func benchSubmit(b *testing.B, s *Store, id string) {
	if _, _, err := s.Submit(b.Context(), task.Task{ID: task.ID(id), Tenant: tenant.Default, Spec: task.Spec{Goal: "g"}}, "", [32]byte{}, audit.Fact{}); err != nil {
		b.Error(err)
	}
}

func benchRow(k task.Task, n, step int) decision.Row {
	r := crashRow(k, fmt.Sprint(step, "-0195e0c2-7a1b-7c3d"))
	r.SystemPrompt = strings.Repeat("You drive a phone. One call a turn. ", 60)
	r.UserPrompt, r.Tools = benchScreen(n, step%20), benchTools
	r.Model, r.ProviderRequestID, r.RequestID = "claude-sonnet-4-5", "req_011CSHoEeqs5C35K2UUqR7Fy", "0195e0c2-7a1b-7c3d-9e00-000000000001"
	r.Arguments = []byte(`{"element":12,"reason":"the switch is off"}`)
	return r
}

func benchRecord(b *testing.B, s *Store, k task.Task, n, step int) {
	r := benchRow(k, n, step)
	if _, err := s.Record(b.Context(), r, usage.Entry{Tenant: k.Tenant, Host: "h", Task: string(k.ID), Attempt: k.Attempt, Provider: r.Provider, Model: r.Model, At: r.At, Usage: r.Usage}); err != nil {
		b.Error(err)
	}
}

// BenchmarkRecord is durable decisions with real-sized prompts, each caller
// waiting for its own.
func BenchmarkRecord(b *testing.B) {
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s := benchStore(b)
			held := benchHeld(b, s, callers)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var all sync.WaitGroup
			for n, k := range held {
				all.Go(func() {
					for step := 0; left.Add(-1) >= 0; step++ {
						benchRecord(b, s, k, n, step)
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// BenchmarkClaim is tasks claimed by hosts that wait together.
func BenchmarkClaim(b *testing.B) {
	for _, hosts := range []int{1, 100} {
		b.Run(fmt.Sprint("hosts=", hosts), func(b *testing.B) {
			s := benchStore(b)
			var all sync.WaitGroup
			for part := range 64 {
				all.Go(func() {
					for i := part; i < b.N+hosts; i += 64 {
						benchSubmit(b, s, fmt.Sprint("t", i))
					}
				})
			}
			all.Wait()
			b.ResetTimer()
			for got := 0; got < b.N; {
				reqs := make([]task.ClaimRequest, hosts)
				for i := range reqs {
					reqs[i] = task.ClaimRequest{Tenant: tenant.Default, Host: fleet.HostID(fmt.Sprint("h", i)), Max: 1, Key: fmt.Sprint(got), Devices: []fleet.Device{{ID: fmt.Sprint(got)}}}
				}
				given, err := s.Claim(b.Context(), crashTiming, reqs)
				if err != nil {
					b.Fatal(err)
				}
				for _, g := range given {
					got += len(g)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkRenew is the heartbeat of a host that holds 200 attempts.
func BenchmarkRenew(b *testing.B) {
	s := benchStore(b)
	var fences []task.Fence
	for _, k := range benchHeld(b, s, 200) {
		fences = append(fences, task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: k.Attempt})
	}
	for b.Loop() {
		if _, err := s.Renew(b.Context(), crashTiming, fences); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*200/b.Elapsed().Seconds(), "leases/s")
}

// BenchmarkRead is the reads of one decide and of one page of the console.
func BenchmarkRead(b *testing.B) {
	s := benchStore(b)
	k := benchHeld(b, s, 1)[0]
	for step := range 50 {
		benchRecord(b, s, k, 0, step)
	}
	f := task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: k.Attempt}
	for name, read := range map[string]func() error{
		"task":     func() error { _, err := s.Task(b.Context(), k.Tenant, k.ID); return err },
		"standing": func() error { _, err := s.Standing(b.Context(), f, "new", [32]byte{}); return err },
		"decision": func() error { _, err := s.Decision(b.Context(), k.Tenant, k.ID, 1, 33); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrune is the removal of old decisions, and what a row took on the
// disk with everything that belongs to it.
func BenchmarkPrune(b *testing.B) {
	s := benchStore(b)
	const steps = 20
	tasks := max(b.N/steps, 1)
	raw := 0
	for from := 0; from < tasks; from += 500 {
		held := benchHeldFrom(b, s, from, min(500, tasks-from))
		var all sync.WaitGroup
		for n, k := range held {
			r := benchRow(k, n, 10)
			raw += steps * (len(r.SystemPrompt) + len(r.UserPrompt) + len(r.Arguments))
			all.Go(func() {
				for step := range steps {
					benchRecord(b, s, k, n, step)
				}
				finishTask(b, s, k)
			})
		}
		all.Wait()
	}
	size, err := s.Size(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	rows := 0
	for more := true; more; {
		p, err := s.Prune(b.Context(), time.Now().Add(time.Second), 50)
		if err != nil {
			b.Fatal(err)
		}
		rows, more = rows+p.Decisions, p.More
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(size.Bytes)/float64(size.Rows), "stored_bytes/row")
	b.ReportMetric(float64(raw)/float64(size.Bytes), "raw/stored")
}

// BenchmarkReclaim is what is done after a pruning that removed little of a
// large log: every page is looked at.
func BenchmarkReclaim(b *testing.B) {
	s := benchStore(b)
	var all sync.WaitGroup
	for n, k := range benchHeld(b, s, 200) {
		all.Go(func() {
			for step := range 50 {
				benchRecord(b, s, k, n, step)
			}
		})
	}
	all.Wait()
	var pages int
	if err := s.read(b.Context(), func(v view) error { return v.scan(`PRAGMA page_count`, nil, &pages) }); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Reclaim(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(pages)*pageSize/(1<<20)/b.Elapsed().Seconds(), "MiB/s")
}

func benchHeldFrom(b *testing.B, s *Store, from, n int) []task.Task {
	b.Helper()
	req := task.ClaimRequest{Tenant: tenant.Default, Host: "h", Max: n}
	for i := range n {
		req.Devices = append(req.Devices, fleet.Device{ID: fmt.Sprint("p", from, "-", i)})
		benchSubmit(b, s, fmt.Sprint("t", from, "-", i))
	}
	given, err := s.Claim(b.Context(), crashTiming, []task.ClaimRequest{req})
	if err != nil || len(given[0]) != n {
		b.Fatalf("claimed %d of %d, %v", len(given[0]), n, err)
	}
	return given[0]
}
