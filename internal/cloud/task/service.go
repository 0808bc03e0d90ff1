package task

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Config sets the times of the host protocol. A zero value means its default.
type Config struct {
	Lease        time.Duration // default 60 s
	AckWithin    time.Duration // default 10 s
	DeviceGrace  time.Duration // default 10 s
	CancelWithin time.Duration // how long a host may take to end what is cancelled; default one lease
	MaxMisses    int           // default 5
	PollHold     time.Duration // default 25 s
	PollJitter   time.Duration // a poll is held for PollHold, more or less by up to this; default 5 s
	ReapEvery    time.Duration // default 5 s
	// Sweep is how often waiting hosts are offered work although nothing was
	// said to have changed; default 5 s. It bounds how long a missed wake-up
	// costs, and is the only timer that correctness needs.
	Sweep time.Duration
	// MaxTries is the number of acknowledged attempts of a task that names
	// none; default 3.
	MaxTries int
	// QueueLife is how long a task that names no end may wait; default 7 days.
	QueueLife time.Duration

	Now    func() time.Time // default time.Now; must agree with the store's clock to within a second
	Logger *slog.Logger     // default slog.Default()
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.AckWithin = cmp.Or(c.AckWithin, 10*time.Second)
	c.DeviceGrace = cmp.Or(c.DeviceGrace, 10*time.Second)
	c.CancelWithin = cmp.Or(c.CancelWithin, c.Lease)
	c.MaxMisses = cmp.Or(c.MaxMisses, 5)
	c.PollHold = cmp.Or(c.PollHold, 25*time.Second)
	c.PollJitter = cmp.Or(c.PollJitter, 5*time.Second)
	c.ReapEvery = cmp.Or(c.ReapEvery, 5*time.Second)
	c.Sweep = cmp.Or(c.Sweep, 5*time.Second)
	c.MaxTries = cmp.Or(c.MaxTries, 3)
	c.QueueLife = cmp.Or(c.QueueLife, 7*24*time.Hour)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate reports every problem at once, as a fault of kind Invalid; zero values are fine.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong fault.Problems
	wrong.Require(c.Lease >= time.Second, "a lease lasts at least 1s, not %v", c.Lease)
	wrong.Require(c.AckWithin > 0 && c.AckWithin <= c.Lease, "a claim is acknowledged within the lease, not within %v", c.AckWithin)
	wrong.Require(c.DeviceGrace > 0, "a device's grace is positive, not %v", c.DeviceGrace)
	wrong.Require(c.CancelWithin > 0, "a host's time to end what is cancelled is positive, not %v", c.CancelWithin)
	wrong.Require(c.MaxMisses >= 1, "at least one claim may miss, not %d", c.MaxMisses)
	wrong.Require(c.PollHold > 0 && c.PollJitter >= 0 && c.PollJitter < c.PollHold, "a poll's hold %v must be positive and longer than its jitter %v", c.PollHold, c.PollJitter)
	wrong.Require(c.ReapEvery > 0 && c.ReapEvery <= c.Lease, "the reaper runs at least once a lease, not every %v", c.ReapEvery)
	wrong.Require(c.Sweep > 0, "the sweep's period is positive, not %v", c.Sweep)
	wrong.Require(c.MaxTries >= 1 && c.MaxTries <= maxAttempts, "a task is tried between 1 and %d times, not %d", maxAttempts, c.MaxTries)
	wrong.Require(c.QueueLife >= time.Minute, "a task may wait at least 1m, not %v", c.QueueLife)
	return wrong.Refuse("invalid_settings", "the settings of tasks")
}

// Backoff is how long a task waits after its n-th try before the next: 5 s,
// doubled each time up to an hour, more or less by a quarter.
func Backoff(tries int) time.Duration {
	d := time.Hour
	if tries = max(tries, 1); tries < 11 {
		d = min(d, 5*time.Second<<(tries-1))
	}
	return d*3/4 + rand.N(d/2+1)
}

// Service runs tasks over a store. It is safe for concurrent use. Run must be
// running for leases to end and for delayed tasks to start.
type Service struct {
	cfg      Config
	timing   Timing
	store    Store
	polls    *pollRoom
	watchers watchHub
	observe  []func(Change) // set before use
	counts   counters
}

// New returns the service. Config must be valid.
func New(store Store, cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Service{cfg: cfg, store: store, polls: newPollRoom(),
		timing: Timing{Lease: cfg.Lease, AckWithin: cfg.AckWithin, DeviceGrace: cfg.DeviceGrace, CancelWithin: cfg.CancelWithin, MaxMisses: cfg.MaxMisses, Backoff: Backoff}}
	return s, nil
}

// Lease is how long a claim's renewal lasts, for the assignments and timings
// that a host is told.
func (s *Service) Lease() time.Duration { return s.cfg.Lease }

// Change is one committed change of a task's state.
type Change struct {
	Tenant  tenant.ID
	Task    ID
	Attempt int
	Host    fleet.HostID
	State   State
	Reason  string
}

// Observe adds f to those who hear of every change made by this process, after
// its commit. f must not block, and is added before the service is used.
func (s *Service) Observe(f func(Change)) { s.observe = append(s.observe, f) }

func (s *Service) changed(c Change) {
	s.counts.state(c.State)
	s.watchers.ping(c.Task)
	for _, f := range s.observe {
		f(c)
	}
}

func changeOf(t Task) Change {
	return Change{Tenant: t.Tenant, Task: t.ID, Attempt: t.Attempt, Host: t.Host, State: t.State, Reason: t.Reason}
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

func (s *Service) fact(t tenant.ID, by, action string, id ID, detail map[string]string) audit.Fact {
	return audit.Fact{Tenant: t, At: s.now(), Actor: by, Action: action, Subject: string(id), Detail: detail}
}

// Task returns one task. ErrNotFound.
func (s *Service) Task(ctx context.Context, t tenant.ID, id ID) (Task, error) {
	return s.store.Task(ctx, t, id)
}

// MaxPage is the longest list that one call returns.
const MaxPage = 1000

// Tasks returns tasks newest first; a Limit of zero or beyond MaxPage means
// MaxPage.
func (s *Service) Tasks(ctx context.Context, f Filter) ([]Task, error) {
	f.Limit = page(f.Limit)
	return s.store.Tasks(ctx, f)
}

// Attempts returns every claim of a task, in order. ErrNotFound.
func (s *Service) Attempts(ctx context.Context, t tenant.ID, id ID) ([]Attempt, error) {
	return s.store.Attempts(ctx, t, id)
}

// Events returns up to limit events of an attempt whose Seq is greater than
// after (-1: from the start).
func (s *Service) Events(ctx context.Context, t tenant.ID, id ID, attempt, after, limit int) ([]Event, error) {
	return s.store.Events(ctx, t, id, attempt, after, page(limit))
}

// Count returns how many tasks of the tenant are in each state.
func (s *Service) Count(ctx context.Context, t tenant.ID) (map[State]int, error) {
	return s.store.Count(ctx, t)
}

func page(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}

// Stats counts since the start of the process.
type Stats struct {
	HeldPolls  int             // held now
	Submitted  int64           // tasks
	Claimed    int64           // attempts given out
	Claims     int64           // rounds of claiming, each one store transaction
	Vanished   int64           // claims given back because the host had gone
	Reaped     int64           // leases and waits that ended by the clock
	ReapFailed int64           // reaper rounds that failed
	Changes    map[State]int64 // committed changes into each state
}

type counters struct {
	submitted, claimed, claims, vanished, reaped, reapFailed atomic.Int64
	states                                                   [len(states)]atomic.Int64
}

var states = [...]State{Queued, Leased, Running, Cancelling, Succeeded, Failed, Cancelled, Dead}

func (c *counters) state(s State) {
	for i, known := range states {
		if s == known {
			c.states[i].Add(1)
		}
	}
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	c := &s.counts
	out := Stats{HeldPolls: s.polls.held(), Submitted: c.submitted.Load(), Claimed: c.claimed.Load(), Claims: c.claims.Load(),
		Vanished: c.vanished.Load(), Reaped: c.reaped.Load(), ReapFailed: c.reapFailed.Load(), Changes: map[State]int64{}}
	for i, st := range states {
		out.Changes[st] = c.states[i].Load()
	}
	return out
}
