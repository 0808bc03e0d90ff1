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
	s.retention.Run(ctx)
	s.land()
	return nil
}

// land waits for every flight: what the provider answers is still recorded.
func (s *Service) land() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.landed.Wait()
}

// Prune removes every decision whose task has been terminal for longer than
// the retention, in small steps, with the blobs that nobody needs any more. It
// returns how many decisions that were, also beside an error; the space is
// given back by Run.
func (s *Service) Prune(ctx context.Context) (removed int, err error) {
	before := s.now().Add(-s.cfg.Retention)
	oldest, err := s.store.NextPrune(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for decisions past their time: %w", err)
	}
	if oldest.IsZero() || !oldest.Before(before) {
		return 0, nil
	}
	for {
		p, err := s.store.Prune(ctx, before, pruneTasks)
		if err != nil {
			return removed, fmt.Errorf("prune decisions: %w", err)
		}
		removed += p.Decisions
		s.counts.prunedRows(p.Decisions)
		if !p.More {
			return removed, nil
		}
		if err := sleep.For(ctx, pruneYield); err != nil {
			return removed, err
		}
	}
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
