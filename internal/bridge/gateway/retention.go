package gateway

import (
	"context"
	"fmt"
	"time"

	"interlock/internal/sleep"
)

// Times of Run. A call ends, with all its waits for the store, well within
// CallTimeout and interruptGrace; what is open for longer has lost its
// process, or a store that takes nothing.
const (
	interruptEvery = 10 * time.Second
	interruptGrace = 30 * time.Second
	sweepStep      = 500 // records in one transaction: small, so that calls go on meanwhile
	sweepYield     = 10 * time.Millisecond
)

// Run closes what crashes left open, forgets replies and prunes records, at
// once and then again and again until ctx ends. Then it refuses new calls,
// waits for those under way and returns nil. No failure of the store ends it.
func (s *Service) Run(ctx context.Context) error {
	interrupt, prune := time.NewTicker(interruptEvery), time.NewTicker(s.cfg.PruneEvery)
	defer interrupt.Stop()
	defer prune.Stop()
	s.interrupt(ctx)
	owed := s.retain(ctx, false)
	for {
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-interrupt.C:
			s.interrupt(ctx)
		case <-prune.C:
			owed = s.retain(ctx, owed)
		}
	}
}

// stop refuses new calls and waits until the records of the others are closed.
func (s *Service) stop() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.underway.Wait()
}

func (s *Service) interrupt(ctx context.Context) {
	n, err := sweep(ctx, s.now().Add(-s.cfg.CallTimeout-interruptGrace), s.store.InterruptCalls)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "calls left open not closed; trying again soon", "error", err)
	case n > 0:
		s.cfg.Logger.WarnContext(ctx, "calls left open are closed as interrupted", "calls", n)
	}
}

// retain forgets and prunes once. It reports whether space is still to be
// given back.
func (s *Service) retain(ctx context.Context, owed bool) bool {
	n, err := s.Prune(ctx)
	owed = owed || n > 0
	if err == nil && owed {
		err = s.store.Reclaim(ctx)
		owed = err != nil
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "calls past their time not pruned; trying again soon", "pruned", n, "error", err)
	case n > 0:
		s.cfg.Logger.InfoContext(ctx, "calls pruned", "pruned", n)
	}
	return owed
}

// Prune removes replies older than KeepReplies, then records and meters older
// than the retention, in small steps. It returns how many of all, also beside
// an error; the space is given back by Run.
func (s *Service) Prune(ctx context.Context) (removed int, err error) {
	now := s.now()
	forgotten, err := sweep(ctx, now.Add(-s.cfg.KeepReplies), s.store.ForgetReplies)
	if err != nil {
		return forgotten, fmt.Errorf("forget replies: %w", err)
	}
	pruned, err := sweep(ctx, now.Add(-s.cfg.Retention), s.store.PruneCalls)
	if err != nil {
		return forgotten + pruned, fmt.Errorf("prune calls: %w", err)
	}
	return forgotten + pruned, nil
}

// sweep repeats a step until it finds nothing left from before at.
func sweep(ctx context.Context, at time.Time, step func(context.Context, time.Time, int) (int, error)) (total int, err error) {
	for {
		n, err := step(ctx, at, sweepStep)
		total += n
		if err != nil || n < sweepStep {
			return total, err
		}
		if err := sleep.For(ctx, sweepYield); err != nil {
			return total, err
		}
	}
}
