package task

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run hands out work, ends leases that ran out and forgets old idempotency
// keys, until ctx ends; then held polls are answered empty. No failure of the store ends it.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.dispatch(ctx) })
	g.Go(func() error { return s.sweepAll(ctx) })
	g.Go(func() error { return every(ctx, s.cfg.ReapEvery, s.reap) })
	g.Go(func() error { return every(ctx, forgetEvery, s.forgetKeys) })
	return g.Wait()
}

// every calls f once a period, first when one has passed, until ctx ends.
func every(ctx context.Context, period time.Duration, f func(context.Context)) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f(ctx)
		}
	}
}

// reapPage is how many tasks one transaction of the reaper moves.
const reapPage = 200

// reap moves everything that is due, page by page: each page is committed, so
// one that fails costs no other, and the next tick starts over.
func (s *Service) reap(ctx context.Context) {
	for ctx.Err() == nil {
		reaped, err := s.store.Reap(ctx, s.timing, reapPage)
		s.settled(reaped)
		if ctx.Err() != nil { // the service stops, which is no failure
			return
		}
		if err != nil {
			s.counts.reapFailed.Add(1)
			s.cfg.Logger.WarnContext(ctx, "ended leases not reaped; trying again with the next tick", "error", err)
			return
		}
		if len(reaped) < reapPage {
			return
		}
	}
}

// settled follows what the reaper did. A device whose lease ran out is free
// only after its grace, so for that one waiting hosts hear of it by a sweep.
func (s *Service) settled(reaped []Reaped) {
	if len(reaped) == 0 {
		return
	}
	s.counts.reaped.Add(int64(len(reaped)))
	for _, r := range reaped {
		s.cfg.Logger.Info("lease or wait ended by the clock", "task", r.Task, "attempt", r.Attempt, "host", r.Host, "state", r.State, "reason", r.Reason)
		s.changed(Change(r))
	}
	s.polls.wake(s.now())
}
