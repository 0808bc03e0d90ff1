package resolve

import (
	"context"
	"fmt"

	"interlock/internal/retention"
)

// Run prunes records whose time has come until ctx ends. No failure of the
// store ends it.
func (s *Service) Run(ctx context.Context) error {
	loop := retention.Loop{What: "resolutions", Every: s.cfg.PruneEvery, Prune: s.Prune, Reclaim: s.store.Reclaim, Logger: s.cfg.Logger}
	loop.Run(ctx)
	return nil
}

// Prune removes every record older than the retention, in small steps. It
// returns how many, also beside an error; the space is given back by Run.
func (s *Service) Prune(ctx context.Context) (removed int, err error) {
	removed, err = retention.Sweep(ctx, s.now().Add(-s.cfg.Retention), s.store.PruneResolutions)
	if err != nil {
		return removed, fmt.Errorf("prune resolutions: %w", err)
	}
	return removed, nil
}
