package resolve

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/selector"
	"interlock/internal/fault"
	"interlock/internal/tally"
)

// Config has a useful zero value.
type Config struct {
	Retention  time.Duration // how long records stay; default 30 days
	PruneEvery time.Duration // how often retention looks; default 1 minute

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

func (c Config) withDefaults() Config {
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.PruneEvery = cmp.Or(c.PruneEvery, time.Minute)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate reports every problem at once, as a fault of kind Invalid; zero
// values are fine.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong fault.Problems
	wrong.Require(c.Retention > 0, "resolutions are kept for a positive time, not %v", c.Retention)
	wrong.Require(c.PruneEvery > 0 && c.PruneEvery <= time.Hour, "retention looks at least once an hour, not every %v", c.PruneEvery)
	return wrong.Refuse("invalid_settings", "the settings of resolutions")
}

// Service resolves instructions and keeps the log. It is safe for concurrent
// use; Run must be running for records to be pruned.
type Service struct {
	cfg      Config
	store    Store
	catalog  *catalog.Service
	selector selector.ToolSelector

	outcomes tally.Tally
}

// New returns the service. Fault invalid_settings.
func New(store Store, c *catalog.Service, sel selector.ToolSelector, cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Service{cfg: cfg.withDefaults(), store: store, catalog: c, selector: sel}, nil
}

// Outcomes is how many instructions were answered since the start, by what
// became of them: resolved, or the reason why not.
func (s *Service) Outcomes() map[string]int64 { return s.outcomes.Counts() }

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

// Retention is how long records stay.
func (s *Service) Retention() time.Duration { return s.cfg.Retention }

// MaxPage is the longest list that one call returns.
const MaxPage = 1000

// Resolutions returns records of a tenant, newest first; a Limit of zero or
// beyond MaxPage means MaxPage.
func (s *Service) Resolutions(ctx context.Context, q Query) ([]Record, error) {
	if q.Limit <= 0 || q.Limit > MaxPage {
		q.Limit = MaxPage
	}
	return s.store.Resolutions(ctx, q)
}
