package task

import (
	"context"
	"time"
)

const (
	forgetEvery = time.Hour
	forgetPage  = 1000 // keys in one transaction
)

// forgetKeys removes keys that nobody repeats any more, page by page. What
// fails is left to the next tick.
func (s *Service) forgetKeys(ctx context.Context) {
	before, forgotten := s.now().Add(-KeepKeys), 0
	for ctx.Err() == nil {
		n, err := s.store.ForgetKeys(ctx, before, forgetPage)
		forgotten += n
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "old idempotency keys not removed; trying again in an hour", "error", err)
		}
		if err != nil || n < forgetPage {
			break
		}
	}
	if forgotten > 0 {
		s.cfg.Logger.InfoContext(ctx, "old idempotency keys removed", "keys", forgotten)
	}
}
