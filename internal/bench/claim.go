package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"interlock/internal/barehost"
	"interlock/internal/hostapi"
	"interlock/internal/serve/operators"
)

// claims measures the way from an operator's submit to a waiting host's
// answer, at 200 tasks a second with 1,000 hosts that wait.
func claims(ctx context.Context, b *bench) error {
	const hosts, perSecond = 1000, 200
	w, err := startWorld(ctx, "")
	if err != nil {
		return err
	}
	defer w.stop()
	enrolled, err := enrollMany(ctx, w, hosts)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	claimed := map[string]time.Time{} // by task; guarded by mu
	polling, stop := context.WithCancel(ctx)
	var pollers sync.WaitGroup
	for _, h := range enrolled {
		pollers.Go(func() { serveTasks(polling, h, func(id string) { mu.Lock(); claimed[id] = time.Now(); mu.Unlock() }) })
	}
	select { // until all of them wait: their first calls are another matter
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
	}
	submitted := map[string]time.Time{}
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	var all sync.WaitGroup
	var failed error // guarded by mu
	for end := time.Now().Add(b.load); time.Now().Before(end); <-tick.C {
		all.Go(func() {
			began := time.Now()
			var made operators.SubmitReply
			err := w.operate(ctx, http.MethodPost, operators.PathTasks, operators.TaskSpec{Goal: "bench"}, &made)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			submitted[made.Task.ID] = began
		})
	}
	all.Wait()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		done := len(claimed) >= len(submitted)
		mu.Unlock()
		if done {
			break
		}
	}
	stop()
	pollers.Wait()
	if failed != nil {
		return failed
	}
	var took []time.Duration
	for id, began := range submitted {
		if at, ok := claimed[id]; ok {
			took = append(took, at.Sub(began))
		}
	}
	if len(took) < len(submitted) || len(took) == 0 {
		return fmt.Errorf("%d of %d tasks were claimed", len(took), len(submitted))
	}
	slices.Sort(took)
	p50, p99 := quantile(took, 0.5), quantile(took, 0.99)
	row(fmt.Sprintf("submit sent to claim received, %d tasks, %d hosts waiting", len(took), hosts), fmt.Sprintf("p50 %v  p99 %v", p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond)),
		"p50 at most 5 ms, p99 at most 25 ms", p50 <= 5*time.Millisecond && p99 <= 25*time.Millisecond)
	return nil
}

// serveTasks polls and ends each task at once, until ctx ends.
func serveTasks(ctx context.Context, h *barehost.Host, claimed func(id string)) {
	for n := 0; ctx.Err() == nil; n++ {
		var got hostapi.PollReply
		if err := h.Do(ctx, hostapi.PathPoll, fmt.Sprintf("poll-%d", n), hostapi.PollRequest{Max: 1, WaitMS: 25_000, Idle: []string{"d0"}}, &got); err != nil {
			continue
		}
		for _, a := range got.Assignments {
			claimed(a.TaskID)
			h.Do(ctx, hostapi.TaskPath(a.TaskID, a.Attempt, "ack"), "ack-"+a.TaskID, struct{}{}, &hostapi.LeaseReply{})
			h.Do(ctx, hostapi.TaskPath(a.TaskID, a.Attempt, "result"), "result-"+a.TaskID, hostapi.ResultRequest{State: "succeeded"}, &hostapi.ResultReply{})
		}
	}
}

// enrollMany enrolls n hosts of one device each, 32 at a time.
func enrollMany(ctx context.Context, w *world, n int) ([]*barehost.Host, error) {
	out := make([]*barehost.Host, n)
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	next := make(chan int)
	var mu sync.Mutex
	var failed error // guarded by mu
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := range next {
				h, err := w.enroll(ctx, c, fmt.Sprintf("host-%05d", i), 1)
				mu.Lock()
				out[i] = h
				if err != nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	return out, failed
}
