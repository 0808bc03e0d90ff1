package decision

import (
	"context"
	"fmt"
	"sync"
	"time"

	"interlock/internal/llm"
	"interlock/internal/sleep"
)

// Sizes of one step of pruning: small, so that decides go on meanwhile.
const (
	pruneTasks = 20
	pruneYield = 10 * time.Millisecond
)

// Run prunes decisions whose time has come until ctx ends, then waits for the
// decides under way and refuses new ones. No failure of the store ends it.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.PruneEvery)
	defer tick.Stop()
	for {
		s.retain(ctx)
		select {
		case <-ctx.Done():
			s.land()
			return nil
		case <-tick.C:
		}
	}
}

// land waits for every flight: what the provider answers is still recorded.
func (s *Service) land() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.landed.Wait()
}

func (s *Service) retain(ctx context.Context) {
	n, err := s.Prune(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.counts.pruneFailed()
		s.cfg.Logger.WarnContext(ctx, "decisions past their time not pruned; trying again soon", "pruned", n, "error", err)
	case n > 0:
		s.cfg.Logger.InfoContext(ctx, "decisions pruned", "decisions", n)
	}
}

// Prune removes every decision whose task has been terminal for longer than
// the retention, in small steps, and gives the space back. It returns how
// many it removed, also beside an error.
func (s *Service) Prune(ctx context.Context) (removed int, err error) {
	before := s.now().Add(-s.cfg.Retention)
	oldest, err := s.store.NextPrune(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for decisions past their time: %w", err)
	}
	if oldest.IsZero() || !oldest.Before(before) {
		return 0, s.reclaim(ctx)
	}
	for {
		p, err := s.store.Prune(ctx, before, pruneTasks)
		if err != nil {
			return removed, fmt.Errorf("prune decisions: %w", err)
		}
		removed += p.Decisions
		if p.Decisions+p.Blobs > 0 {
			s.reclaimOwed.Store(true)
		}
		s.counts.prunedRows(p.Decisions)
		if !p.More {
			return removed, s.reclaim(ctx)
		}
		if err := sleep.For(ctx, pruneYield); err != nil {
			return removed, err
		}
	}
}

// reclaim gives back the space of what was removed, unless that was done. What
// fails is owed until it succeeds.
func (s *Service) reclaim(ctx context.Context) error {
	if !s.reclaimOwed.Load() {
		return nil
	}
	if err := s.store.Reclaim(ctx); err != nil {
		return fmt.Errorf("give space back: %w", err)
	}
	s.reclaimOwed.Store(false)
	return nil
}

// budget remembers whether its warning was given.
type budget struct {
	mu     sync.Mutex
	warned bool // guarded by mu
}

// roomInLog refuses new decisions when the byte budget is used up, and warns
// once each time that the log grows beyond 80 % of it.
func (s *Service) roomInLog(ctx context.Context) error {
	if s.cfg.MaxBytes == 0 {
		return nil
	}
	size, err := s.store.Size(ctx)
	if err != nil {
		return fmt.Errorf("read the log's size: %w", err)
	}
	if size.Bytes >= s.cfg.MaxBytes {
		return &llm.Unavailable{Reason: llm.StorageFull, Detail: "the decision log has reached its byte budget; raise INTERLOCK_DECISION_MAX_BYTES, shorten the retention or purge tasks"}
	}
	if s.budget.crossed(size.Bytes >= s.cfg.MaxBytes/5*4) {
		s.cfg.Logger.WarnContext(ctx, "decision log beyond 80 % of its byte budget; at 100 % decides are refused", "bytes", size.Bytes, "max_bytes", s.cfg.MaxBytes)
	}
	return nil
}

// crossed reports whether the line was crossed upwards just now.
func (b *budget) crossed(above bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.warned
	b.warned = above
	return above && !was
}
