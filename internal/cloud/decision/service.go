package decision

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/retention"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// Config sets the proxy and its log. A zero value means its default.
type Config struct {
	Timeout    time.Duration // of one decide with its waits and retries, unless the request asks for less; default llm.DefaultTimeout
	Retention  time.Duration // how long decisions stay after their task ended; default 30 days
	PruneEvery time.Duration // how often retention looks; default 1 minute
	MaxBytes   int64         // byte budget of the log; 0: none
	Caps       usage.Caps

	Now    func() time.Time // default time.Now; must agree with the store's clock to within a second
	Logger *slog.Logger     // default slog.Default()
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, llm.DefaultTimeout)
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.PruneEvery = cmp.Or(c.PruneEvery, time.Minute)
	c.Caps = c.Caps.WithDefaults()
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate reports every problem at once, as a fault of kind Invalid; zero values are fine.
func (c Config) Validate() error {
	c = c.withDefaults()
	wrong := c.Caps.Problems()
	wrong.Require(c.Timeout > 0 && c.Timeout <= time.Hour, "a decide's timeout is positive and at most 1h, not %v", c.Timeout)
	wrong.Require(c.Retention > 0, "decisions are kept for a positive time after their task ended, not %v", c.Retention)
	wrong.Require(c.PruneEvery > 0 && c.PruneEvery <= time.Hour, "retention looks at least once an hour, not every %v", c.PruneEvery)
	wrong.Require(c.MaxBytes >= 0, "the decision log's byte budget is positive, or 0 for none, not %d", c.MaxBytes)
	return wrong.Refuse("invalid_settings", "the settings of decisions")
}

// Service decides for hosts and keeps the log. It is safe for concurrent use;
// Run must be running for decisions to be pruned.
type Service struct {
	cfg      Config
	store    Store
	provider llm.ToolCaller // nil: not configured
	gate     *gate
	memory   *memory
	counts   counters
	budget   budget

	unrecorded atomic.Int64 // when a decision could last not be recorded, in Unix nanoseconds

	retention retention.Loop

	mu       sync.Mutex
	flights  map[attempt][]*flight // guarded by mu; of each host at most one
	stopping bool                  // guarded by mu
	landed   sync.WaitGroup        // one for each flight; Add under mu while not stopping
}

// New returns the service. Without a provider it starts, and every decide says
// planner_not_configured. Config must be valid.
func New(store Store, provider llm.ToolCaller, cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Service{cfg: cfg, store: store, provider: provider, flights: map[attempt][]*flight{},
		gate: newGate(cfg.Caps.Concurrent), memory: newMemory(cfg.Caps.RequestBytes)}
	s.retention.What, s.retention.Every, s.retention.Logger = "decisions", cfg.PruneEvery, cfg.Logger
	s.retention.Prune, s.retention.Reclaim, s.retention.Failed = s.Prune, store.Reclaim, s.counts.pruneFailed
	return s, nil
}

// Retention is how long decisions stay after their task ended.
func (s *Service) Retention() time.Duration { return s.cfg.Retention }

// Configured reports whether there is a provider.
func (s *Service) Configured() bool { return s.provider != nil }

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

// MaxPage is the longest list that one call returns.
const MaxPage = 1000

// List returns decisions of a task in (attempt, step) order; a Limit of zero
// or beyond MaxPage means MaxPage.
func (s *Service) List(ctx context.Context, q Query) ([]Row, error) {
	if q.Limit <= 0 || q.Limit > MaxPage {
		q.Limit = MaxPage
	}
	return s.store.Decisions(ctx, q)
}

// Show returns one decision with its prompts and tools. ErrNotFound.
func (s *Service) Show(ctx context.Context, t tenant.ID, id task.ID, attempt, step int) (Row, error) {
	return s.store.Decision(ctx, t, id, attempt, step)
}

// Purge removes all decisions of a task that has ended, now, and gives their
// space back. By is the actor. task.ErrNotFound, task.ErrNotTerminal.
func (s *Service) Purge(ctx context.Context, t tenant.ID, by string, id task.ID) (Pruned, error) {
	f := audit.Fact{Tenant: t, At: s.now(), Actor: by, Action: "decisions.purge", Subject: string(id)}
	p, err := s.store.Purge(ctx, t, id, f)
	if err != nil {
		return Pruned{}, fmt.Errorf("purge decisions of task %s: %w", id, err)
	}
	s.cfg.Logger.InfoContext(ctx, "decisions purged", "task", id, "decisions", p.Decisions, "by", by)
	if err := s.retention.GiveBack(ctx); err != nil {
		// The rows are gone; retention clears what they left.
		s.cfg.Logger.WarnContext(ctx, "space of purged decisions not given back yet", "error", err)
		s.counts.pruneFailed()
	}
	return p, nil
}
