package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/fault"
	"interlock/internal/tally"
	"interlock/internal/tenant"
)

// Config has a useful zero value.
type Config struct {
	CallTimeout time.Duration // of one call of an app, with the look-up of its credential; default 15 s
	KeepReplies time.Duration // how long a repeat of a key gets the first answer; default 24 hours
	Retention   time.Duration // how long records stay; default 30 days, not less than KeepReplies
	PruneEvery  time.Duration // how often retention looks; default 1 minute

	// Now is the clock of records and of quotas' windows; default time.Now.
	// Processes over one store agree about it to within a few seconds.
	Now    func() time.Time
	Logger *slog.Logger // default slog.Default()
}

func (c Config) withDefaults() Config {
	c.CallTimeout = cmp.Or(c.CallTimeout, 15*time.Second)
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.KeepReplies = cmp.Or(c.KeepReplies, min(24*time.Hour, c.Retention))
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
	wrong.Require(c.CallTimeout > 0 && c.CallTimeout <= 5*time.Minute, "a call's timeout is positive and at most 5m, not %v", c.CallTimeout)
	wrong.Require(c.KeepReplies > 0, "replies are kept for a positive time, not %v", c.KeepReplies)
	wrong.Require(c.Retention >= c.KeepReplies, "records of calls are kept for at least as long as their replies, not %v and %v", c.Retention, c.KeepReplies)
	wrong.Require(c.PruneEvery > 0 && c.PruneEvery <= time.Hour, "retention looks at least once an hour, not every %v", c.PruneEvery)
	return wrong.Refuse("invalid_settings", "the settings of the gateway")
}

// Service is the gateway. It is safe for concurrent use; Run must be running
// for what a crash left open to be closed, and for records to be pruned.
type Service struct {
	cfg         Config
	store       Store
	catalog     *catalog.Service
	credentials *credential.Service // nil: there is no keyset
	apps        map[catalog.AppID]App

	outcomes tally.Tally

	mu       sync.Mutex
	flights  map[flightKey]*flight // guarded by mu
	stopping bool                  // guarded by mu
	underway sync.WaitGroup        // one for each call; Add under mu while not stopping
}

// New returns the gateway to the apps, which are those that the catalog
// publishes. Without credentials, calls of apps that need one are refused with
// credential_missing. Its faults are invalid_settings and invalid_app.
func New(store Store, c *catalog.Service, creds *credential.Service, apps []App, cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg.withDefaults(), store: store, catalog: c, credentials: creds,
		apps: make(map[catalog.AppID]App, len(apps)), flights: map[flightKey]*flight{}}
	for _, a := range apps {
		s.apps[a.Describe().ID] = a
	}
	var wrong fault.Problems
	for id := range s.apps {
		wrong.Require(c.Published(id), "app %q is not in the catalog", id)
	}
	for _, a := range c.Apps() {
		wrong.Require(s.apps[a.ID] != nil, "app %q of the catalog is not there", a.ID)
	}
	return s, wrong.Refuse("invalid_app", "the apps behind the gateway")
}

// Outcomes is how many calls there were since the start, by verdict: ok,
// replayed, or the code of the refusal.
func (s *Service) Outcomes() map[string]int64 { return s.outcomes.Counts() }

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

// MaxPage is the longest list that one call returns.
const MaxPage = 1000

// Calls returns records of a tenant, newest first; a Limit of zero or beyond
// MaxPage means MaxPage.
func (s *Service) Calls(ctx context.Context, q Query) ([]Record, error) {
	if q.Limit <= 0 || q.Limit > MaxPage {
		q.Limit = MaxPage
	}
	return s.store.Calls(ctx, q)
}

// Meter reads the use of a tenant's quota in the window of now.
func (s *Service) Meter(ctx context.Context, t tenant.ID, app catalog.AppID, q catalog.Quota) (Meter, error) {
	return s.store.Meter(ctx, t, app, q, s.now())
}
