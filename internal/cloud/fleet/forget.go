package fleet

import (
	"context"
	"time"
)

const (
	// keepCredentials is how long a credential's row outlives its retirement or
	// expiry, so that a late copy is still told from a mistyped one.
	keepCredentials = 30 * 24 * time.Hour
	// keepEnrolTokens is how long an enrolment token is listed after the end of
	// its life; what became of it stays in the audit chain.
	keepEnrolTokens = 90 * 24 * time.Hour
	forgetPage      = 1000 // enrolment tokens in one transaction
)

func (s *Service) forgetCredentials(ctx context.Context) {
	n, err := s.store.DeleteCredentials(ctx, s.now().Add(-keepCredentials))
	switch {
	case err != nil:
		s.cfg.Logger.WarnContext(ctx, "retired credentials not removed", "error", err)
	case n > 0:
		s.cfg.Logger.InfoContext(ctx, "retired credentials removed", "credentials", n)
	}
}

// forgetEnrolTokens removes old tokens page by page; what fails is left to the
// next sweep.
func (s *Service) forgetEnrolTokens(ctx context.Context) {
	before, forgotten := s.now().Add(-keepEnrolTokens), 0
	for ctx.Err() == nil {
		n, err := s.store.DeleteEnrolTokens(ctx, before, forgetPage)
		forgotten += n
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "old enrolment tokens not removed; trying again in an hour", "error", err)
		}
		if err != nil || n < forgetPage {
			break
		}
	}
	if forgotten > 0 {
		s.cfg.Logger.InfoContext(ctx, "old enrolment tokens removed", "tokens", forgotten)
	}
}
