package usage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Service answers what was used, and holds the price table and the switch. It
// is safe for concurrent use.
type Service struct {
	store  Store
	now    func() time.Time
	logger *slog.Logger
}

// New returns the service over a store.
func New(store Store, now func() time.Time, logger *slog.Logger) *Service {
	return &Service{store: store, now: now, logger: logger}
}

// MaxRows is the longest answer to one query.
const MaxRows = 10_000

// Usage adds up the calls that q selects. A Limit of zero or beyond MaxRows
// means MaxRows. Fault Invalid for an unknown group or times that are turned.
func (s *Service) Usage(ctx context.Context, q Query) ([]Rollup, error) {
	for i, g := range q.Groups {
		if !slices.Contains([]Group{ByDay, ByHost, ByTask, ByModel}, g) || slices.Contains(q.Groups[:i], g) {
			return nil, fault.New(fault.Invalid, "invalid_group", "usage is grouped by day, host, task and model, each at most once")
		}
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return nil, fault.New(fault.Invalid, "invalid_period", "the period ends before it starts; the last day is exclusive")
	}
	if q.Limit <= 0 || q.Limit > MaxRows {
		q.Limit = MaxRows
	}
	return s.store.Usage(ctx, q)
}

// Prices returns the tenant's price table. It is empty until somebody edits
// it: no price is invented.
func (s *Service) Prices(ctx context.Context, t tenant.ID) ([]Price, error) {
	return s.store.Prices(ctx, t)
}

// SetPrice adds or replaces the price of a provider's model. By is the actor.
func (s *Service) SetPrice(ctx context.Context, t tenant.ID, by string, p Price) error {
	if err := p.Validate(); err != nil {
		return err
	}
	micro := func(n int64) string { return strconv.FormatInt(n, 10) }
	f := s.fact(t, by, "price.set", p.Provider+"/"+p.Model, map[string]string{"currency": p.Currency, "input": micro(p.Input),
		"cached_input": micro(p.CachedInput), "cache_write": micro(p.CacheWrite), "output": micro(p.Output)})
	if err := s.store.SetPrice(ctx, t, p, f); err != nil {
		return fmt.Errorf("set price: %w", err)
	}
	return nil
}

// DeletePrice removes a price. Fault NotFound.
func (s *Service) DeletePrice(ctx context.Context, t tenant.ID, by, provider, model string) error {
	return s.store.DeletePrice(ctx, t, provider, model, s.fact(t, by, "price.delete", provider+"/"+model, nil))
}

// Stopped returns the switch that stops all decides of the tenant.
func (s *Service) Stopped(ctx context.Context, t tenant.ID) (Stop, error) {
	return s.store.Stopped(ctx, t)
}

const maxReason = 500 // characters

// SetStop throws the switch: on refuses every decide from the next one on,
// with the reason; calls that are under way end by themselves.
func (s *Service) SetStop(ctx context.Context, t tenant.ID, by string, on bool, reason string) (Stop, error) {
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason {
		return Stop{}, fault.New(fault.Invalid, "invalid_reason", "a reason has at most %d characters of UTF-8 text", maxReason)
	}
	action := "decides.resume"
	if on {
		action = "decides.stop"
	}
	stop := Stop{On: on, Reason: reason, By: by, At: s.now().UTC()}
	if err := s.store.SetStop(ctx, t, stop, s.fact(t, by, action, string(t), map[string]string{"reason": reason})); err != nil {
		return Stop{}, fmt.Errorf("set the switch that stops decides: %w", err)
	}
	s.logger.InfoContext(ctx, "switch that stops all decides set", "tenant", t, "on", on, "by", by)
	return stop, nil
}

func (s *Service) fact(t tenant.ID, by, action, subject string, detail map[string]string) audit.Fact {
	return audit.Fact{Tenant: t, At: s.now().UTC(), Actor: by, Action: action, Subject: subject, Detail: detail}
}
