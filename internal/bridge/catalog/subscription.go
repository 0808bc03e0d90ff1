package catalog

import (
	"context"
	"fmt"
	"time"

	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Subscribe replaces the tenant's subscription and returns it as it is stored;
// a StartsAt of zero is now. Its faults are invalid_subscription and
// ErrTenantNotFound.
func (s *Service) Subscribe(ctx context.Context, id tenant.ID, by string, sub Subscription) (Subscription, error) {
	sub, err := s.started(sub)
	if err != nil {
		return Subscription{}, err
	}
	detail := map[string]string{}
	sub.tell(detail)
	if err := s.store.SetSubscription(ctx, id, sub, s.fact(id, by, "subscription.set", string(id), detail)); err != nil {
		return Subscription{}, fmt.Errorf("set subscription: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "subscription set", "tenant", id, "by", by)
	return sub, nil
}

// EndSubscription takes the subscription away, now. ErrTenantNotFound.
func (s *Service) EndSubscription(ctx context.Context, id tenant.ID, by string) error {
	if err := s.store.SetSubscription(ctx, id, Subscription{}, s.fact(id, by, "subscription.end", string(id), nil)); err != nil {
		return fmt.Errorf("end subscription: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "subscription ended", "tenant", id, "by", by)
	return nil
}

// started checks a subscription and gives it a beginning, in UTC and in whole
// microseconds, as stores keep it.
func (s *Service) started(sub Subscription) (Subscription, error) {
	if sub.StartsAt.IsZero() {
		sub.StartsAt = s.now()
	}
	sub.StartsAt, sub.EndsAt = sub.StartsAt.UTC().Truncate(time.Microsecond), sub.EndsAt.UTC().Truncate(time.Microsecond)
	var wrong fault.Problems
	wrong.Require(len(sub.Plan) <= maxPlan && sub.Plan != "" && only(sub.Plan, capitals+"._-"), "its plan is not one word of 1 to %d letters, digits, '.', '_' and '-'", maxPlan)
	wrong.Require(calendar(sub.StartsAt), "it does not start between the years %d and %d", firstYear, lastYear)
	if !sub.EndsAt.IsZero() {
		wrong.Require(sub.EndsAt.After(sub.StartsAt), "it ends before it has started")
		wrong.Require(calendar(sub.EndsAt), "it does not end between the years %d and %d", firstYear, lastYear)
	}
	return sub, wrong.Refuse("invalid_subscription", "the subscription")
}

// Years of periods: what every store and every reader of JSON takes.
const firstYear, lastYear = 2000, 9999

func calendar(t time.Time) bool { return t.Year() >= firstYear && t.Year() <= lastYear }

func (s Subscription) tell(detail map[string]string) {
	detail["plan"], detail["starts_at"] = s.Plan, s.StartsAt.Format(time.RFC3339)
	if !s.EndsAt.IsZero() {
		detail["ends_at"] = s.EndsAt.Format(time.RFC3339)
	}
}
