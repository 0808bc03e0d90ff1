package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// speed is what one load run saw.
type speed struct {
	perSecond     float64
	p50, p99, max time.Duration
	errors        int
	firstError    error
}

// load calls op from n goroutines for d and measures each call. op gets the
// number of its goroutine.
func load(ctx context.Context, n int, d time.Duration, op func(ctx context.Context, worker int) error) speed {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var (
		mu  sync.Mutex
		all []time.Duration // guarded by mu
		out speed           // errors and firstError guarded by mu
		wg  sync.WaitGroup
	)
	start := time.Now()
	for worker := range n {
		wg.Go(func() {
			var mine []time.Duration
			for ctx.Err() == nil {
				t := time.Now()
				// The deadline ends the loop, not a call: a call cut short would
				// count as neither a success nor an error.
				err := op(context.WithoutCancel(ctx), worker)
				took := time.Since(t)
				if err != nil {
					mu.Lock()
					out.errors++
					if out.firstError == nil {
						out.firstError = err
					}
					mu.Unlock()
					continue
				}
				mine = append(mine, took)
			}
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	slices.Sort(all)
	if len(all) > 0 {
		out.perSecond = float64(len(all)) / elapsed.Seconds()
		out.p50, out.p99, out.max = quantile(all, 0.50), quantile(all, 0.99), all[len(all)-1]
	}
	return out
}

// quantile of sorted durations, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
