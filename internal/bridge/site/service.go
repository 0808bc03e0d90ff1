package site

import (
	"context"
	"crypto/rsa"
	"log/slog"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/retention"
	"interlock/internal/tenant"
)

// Config says who we are to the sites. Audience is required.
type Config struct {
	// Audience is what the aud of each token must equal: the address under
	// which sites know this installation.
	Audience string

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

const maxAudience = 512 // bytes

// Validate reports every problem at once, as a fault of kind Invalid.
func (c Config) Validate() error {
	var wrong fault.Problems
	wrong.Require(c.Audience != "" && legible(c.Audience, maxAudience), "the audience of sites' tokens is not 1 to %d printable bytes", maxAudience)
	return wrong.Refuse("invalid_settings", "the settings of sites")
}

// Service authenticates sites and keeps their records. It is safe for
// concurrent use; Run must be running for spent tokens to be forgotten.
type Service struct {
	cfg    Config
	store  Store
	rates  *rates
	nobody *rsa.PublicKey // stands in for keys that are not there
}

// New returns the service over a store. Fault invalid_settings.
func New(store Store, cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Service{cfg: cfg, store: store, rates: newRates(), nobody: nobodysKey()}, nil
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

func (s *Service) fact(t tenant.ID, by, action, subject string, detail map[string]string) audit.Fact {
	return audit.Fact{Tenant: t, At: s.now(), Actor: by, Action: action, Subject: subject, Detail: detail}
}

const (
	forgetEvery = time.Minute
	// forgetMargin is how much longer a spent token is remembered than it could
	// be good for, so that a process whose clock is behind still finds it.
	forgetMargin = time.Minute
)

// Run forgets spent tokens that have expired, once a minute, until ctx ends;
// then it returns nil.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.forgetTokens(ctx)
		}
	}
}

// forgetTokens goes in small steps: each is committed, so one that fails costs
// no other, and the next tick starts over.
func (s *Service) forgetTokens(ctx context.Context) {
	_, err := retention.Sweep(ctx, s.now().Add(-forgetMargin), s.store.ForgetTokens)
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.WarnContext(ctx, "expired tokens of sites not forgotten; trying again in a minute", "error", err)
	}
}
