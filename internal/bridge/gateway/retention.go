package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"interlock/internal/retention"
)

// Times of Run. A call ends, with all its waits for the store, well within
// CallTimeout and interruptGrace; what is open for longer has lost its
// process, or a store that takes nothing.
const (
	interruptEvery = 10 * time.Second
	interruptGrace = 30 * time.Second
)

// Run closes what crashes left open, forgets replies and prunes records, at
// once and then again and again until ctx ends. Then it refuses new calls,
// waits for those under way and returns nil. No failure of the store ends it.
func (s *Service) Run(ctx context.Context) error {
	loop := retention.Loop{What: "calls", Every: s.cfg.PruneEvery, Prune: s.Prune, Reclaim: s.store.Reclaim, Logger: s.cfg.Logger}
	var pruning sync.WaitGroup
	pruning.Go(func() { loop.Run(ctx) })
	defer pruning.Wait()
	tick := time.NewTicker(interruptEvery)
	defer tick.Stop()
	for {
		s.interrupt(ctx)
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-tick.C:
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
	n, err := retention.Sweep(ctx, s.now().Add(-s.cfg.CallTimeout-interruptGrace), s.store.InterruptCalls)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "calls left open not closed; trying again soon", "error", err)
	case n > 0:
		s.cfg.Logger.WarnContext(ctx, "calls left open are closed as interrupted", "calls", n)
	}
}

// Prune removes replies older than KeepReplies, then records and meters older
// than the retention, in small steps. It returns how many of all, also beside
// an error; the space is given back by Run.
func (s *Service) Prune(ctx context.Context) (removed int, err error) {
	now := s.now()
	forgotten, err := retention.Sweep(ctx, now.Add(-s.cfg.KeepReplies), s.store.ForgetReplies)
	if err != nil {
		return forgotten, fmt.Errorf("forget replies: %w", err)
	}
	pruned, err := retention.Sweep(ctx, now.Add(-s.cfg.Retention), s.store.PruneCalls)
	if err != nil {
		return forgotten + pruned, fmt.Errorf("prune calls: %w", err)
	}
	return forgotten + pruned, nil
}
