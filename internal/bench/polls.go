package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
)

// childServer is the argument that makes this program the server of polls.
const childServer = "serve-for-bench"

// serveChild runs a server until its standard input ends, after one line of
// JSON that says where it is.
func serveChild() {
	w, err := startWorld(context.Background(), "")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: child:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]string{"url": w.url, "token": w.token})
	bufio.NewReader(os.Stdin).ReadString('\n')
	if len(os.Args) > 2 {
		writeProfiles(os.Args[2])
	}
	w.stop()
}

// writeProfiles shows what the server's memory is, and what its goroutines do.
func writeProfiles(prefix string) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(os.Stderr, "  heap in use %d MB, idle %d MB, given back %d MB; stacks %d MB; next collection at %d MB\n",
		m.HeapInuse>>20, m.HeapIdle>>20, m.HeapReleased>>20, m.StackInuse>>20, m.NextGC>>20)
	for _, name := range []string{"heap", "goroutine"} {
		f, err := os.Create(prefix + "." + name)
		if err == nil {
			err = errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: child:", err)
		}
	}
}

// child is a server in a process of its own.
type child struct {
	pid  int
	stop func() // waits until it has ended
}

// startChild starts one; with a profile, it writes what it holds beside that
// file when it stops.
func startChild(ctx context.Context, profile string) (*world, child, error) {
	args := []string{childServer}
	if profile != "" {
		args = append(args, profile)
	}
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, child{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, child{}, err
	}
	if err := cmd.Start(); err != nil {
		return nil, child{}, err
	}
	stop := sync.OnceFunc(func() { in.Close(); cmd.Wait() })
	var at struct{ URL, Token string }
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		stop()
		return nil, child{}, err
	}
	return &world{url: at.URL, token: at.Token}, child{cmd.Process.Pid, stop}, nil
}

// polls measures the memory of a server in a process of its own while many
// hosts wait for work.
func polls(ctx context.Context, b *bench) error {
	w, child, err := startChild(ctx, b.profile)
	if err != nil {
		return err
	}
	defer child.stop()
	hosts, err := enrollMany(ctx, w, b.idle)
	if err != nil {
		return err
	}
	enrolled := residentMB(child.pid)
	ctx, stop := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	var failed, deferred atomic.Int64
	var firstFailure atomic.Pointer[error]
	for i, h := range hosts {
		waiting.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var got hostapi.PollReply
				err := h.Do(ctx, hostapi.PathPoll, fmt.Sprintf("idle-%d-%d", i, n), hostapi.PollRequest{WaitMS: 25_000}, &got)
				if err == nil || ctx.Err() != nil {
					continue
				}
				if !fault.Of(err).Retryable {
					failed.Add(1)
					firstFailure.CompareAndSwap(nil, &err)
					return
				}
				deferred.Add(1)
				time.Sleep(rand.N(2 * time.Second)) // as a host does, which was told to come back
			}
		})
	}
	// Two rounds of polls, so that what each costs has been paid more than once.
	rest := 60 * time.Second
	if b.idle < 10_000 {
		rest = 5 * time.Second
	}
	select {
	case <-time.After(rest):
	case <-ctx.Done():
	}
	resident := residentMB(child.pid)
	failures := fmt.Sprintf("%d (%d were told to come back)", failed.Load(), deferred.Load())
	if first := firstFailure.Load(); first != nil {
		failures += fmt.Sprintf(", first: %v", *first)
	}
	none := failed.Load() == 0
	child.stop() // it writes its profiles while the polls are held
	stop()
	waiting.Wait()
	row(fmt.Sprintf("%d idle polls: resident memory of the server", b.idle), fmt.Sprintf("%d MB (%d MB after enrolling, before polling)", resident, enrolled), "at most 200 MB", resident <= 200)
	row("polls that failed", failures, "none", none)
	return nil
}

// residentMB reads a process's resident memory; -1 where the system does not
// say it in /proc.
func residentMB(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		var kb int
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			return kb / 1024
		}
	}
	return -1
}
