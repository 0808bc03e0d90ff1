package resolve

import (
	"context"
	"fmt"
	"time"

	"interlock/internal/sleep"
)

// Sizes of one step of pruning: small, so that resolutions go on meanwhile.
const (
	pruneRecords = 500
	pruneYield   = 10 * time.Millisecond
)

// Run prunes records whose time has come until ctx ends. No failure of the
// store ends it.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.PruneEvery)
	defer tick.Stop()
	for owed := false; ; {
		owed = s.retain(ctx, owed)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// retain prunes once. It reports whether space is still to be given back.
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
		s.cfg.Logger.WarnContext(ctx, "resolutions past their time not pruned; trying again soon", "pruned", n, "error", err)
	case n > 0:
		s.cfg.Logger.InfoContext(ctx, "resolutions pruned", "resolutions", n)
	}
	return owed
}

// Prune removes every record older than the retention, in small steps. It
// returns how many, also beside an error; the space is given back by Run.
func (s *Service) Prune(ctx context.Context) (removed int, err error) {
	before := s.now().Add(-s.cfg.Retention)
	for {
		n, err := s.store.PruneResolutions(ctx, before, pruneRecords)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("prune resolutions: %w", err)
		}
		if n < pruneRecords {
			return removed, nil
		}
		if err := sleep.For(ctx, pruneYield); err != nil {
			return removed, err
		}
	}
}
