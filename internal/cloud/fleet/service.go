package fleet

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Config sets the fleet's times. A zero duration means its default.
type Config struct {
	EnrolTokenLife time.Duration // of a token whose maker names no lifetime; default 15 minutes
	CredentialLife time.Duration // default 30 days; a host rotates at 75 % of it
	Overlap        time.Duration // how long a rotated credential lives at most beside its successor in use; default 10 minutes
	// RetireAfterUse is how long the old credential still works after the new
	// one's first use; default 60 s. It is longer than a poll is held, so that
	// a call which was under way during the rotation is not taken for a copy.
	RetireAfterUse time.Duration
	SuspectAfter   time.Duration // not seen for so long; default 45 s
	LostAfter      time.Duration // default 90 s
	// CacheFor is how long Authenticate may answer from memory; default 5 s,
	// the longest that a change made by another replica goes unnoticed. A
	// change made here is seen at once.
	CacheFor time.Duration

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// Bounds that callers may rely on.
const (
	MaxEnrolTokenLife = 24 * time.Hour
	maxCacheFor       = 5 * time.Second
)

func (c Config) withDefaults() Config {
	c.EnrolTokenLife = cmp.Or(c.EnrolTokenLife, 15*time.Minute)
	c.CredentialLife = cmp.Or(c.CredentialLife, 30*24*time.Hour)
	c.Overlap = cmp.Or(c.Overlap, 10*time.Minute)
	c.RetireAfterUse = cmp.Or(c.RetireAfterUse, time.Minute)
	c.SuspectAfter = cmp.Or(c.SuspectAfter, 45*time.Second)
	c.LostAfter = cmp.Or(c.LostAfter, 90*time.Second)
	c.CacheFor = cmp.Or(c.CacheFor, maxCacheFor)
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
	wrong.Require(c.EnrolTokenLife > 0 && c.EnrolTokenLife <= MaxEnrolTokenLife, "an enrolment token lives longer than 0 and at most %v, not %v", MaxEnrolTokenLife, c.EnrolTokenLife)
	wrong.Require(c.CredentialLife >= time.Hour, "a host credential lives at least 1h, not %v", c.CredentialLife)
	wrong.Require(c.Overlap > 0 && c.Overlap < c.CredentialLife, "the overlap of a rotation must be positive and shorter than the credential's life, not %v", c.Overlap)
	wrong.Require(c.RetireAfterUse > 0 && c.RetireAfterUse <= c.Overlap, "a rotated credential retires within the overlap after its successor's first use, not after %v", c.RetireAfterUse)
	wrong.Require(c.SuspectAfter > 0 && c.SuspectAfter < c.LostAfter, "a host is suspect before it is lost, so %v must be positive and less than %v", c.SuspectAfter, c.LostAfter)
	wrong.Require(c.CacheFor > 0 && c.CacheFor <= maxCacheFor, "credentials are remembered for at most %v, not %v", maxCacheFor, c.CacheFor)
	return wrong.Refuse("invalid_settings", "the fleet's settings")
}

// Work is told what must reach the work of a host at once. cloud/task
// implements it.
type Work interface {
	// HostRevoked ends the host's leases and its held poll.
	HostRevoked(ctx context.Context, h Host) error
	// HostDrained tells the host's held poll whether to take more work. It
	// does not block.
	HostDrained(h HostID, drain bool)
}

// Service is the fleet. It is safe for concurrent use; Run must be running for
// heartbeats to reach the store.
type Service struct {
	cfg   Config
	store Store
	work  Work
	known credentialCache
	seen  seenBatch
}

// New returns the fleet over a store. Config must be valid.
func New(store Store, work Work, cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg.withDefaults(), store: store, work: work}
	s.known.entries, s.known.ofHost = map[string]cachedCredential{}, map[HostID][]string{}
	s.seen = seenBatch{latest: map[HostID]Seen{}, pending: map[HostID]bool{}}
	return s, nil
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

func (s *Service) fact(t tenant.ID, by, action, subject string, detail map[string]string) audit.Fact {
	return audit.Fact{Tenant: t, At: s.now(), Actor: by, Action: action, Subject: subject, Detail: detail}
}

// Host returns one host as it was last seen. ErrHostNotFound.
func (s *Service) Host(ctx context.Context, t tenant.ID, id HostID) (Host, error) {
	h, err := s.store.Host(ctx, t, id)
	if err != nil {
		return Host{}, err
	}
	return s.seen.overlay(h), nil
}

// Hosts returns the tenant's hosts by name, revoked ones too.
func (s *Service) Hosts(ctx context.Context, t tenant.ID) ([]Host, error) {
	hs, err := s.store.Hosts(ctx, t)
	for i := range hs {
		hs[i] = s.seen.overlay(hs[i])
	}
	return hs, err
}

// Status judges a host by this server's clock: revoked, then lost and suspect
// by when it was last seen, then draining.
func (s *Service) Status(h Host) Status {
	unseen := s.now().Sub(h.LastSeen)
	switch {
	case !h.RevokedAt.IsZero():
		return Revoked
	case unseen >= s.cfg.LostAfter:
		return Lost
	case unseen >= s.cfg.SuspectAfter:
		return Suspect
	case h.Drain || h.Draining:
		return Draining
	}
	return Active
}
