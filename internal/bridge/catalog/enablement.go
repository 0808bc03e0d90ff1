package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// MaxQuota is the largest limit of a quota.
const MaxQuota = 1_000_000_000_000

// Enable lets the tenant use the app, or changes the quota of one that it has;
// what the window has used stays used. The fact is app.enable or quota.set.
// Its faults are ErrAppNotFound, invalid_quota and ErrTenantNotFound.
func (s *Service) Enable(ctx context.Context, id tenant.ID, by string, app AppID, q Quota) error {
	if !s.Published(app) {
		return ErrAppNotFound
	}
	var wrong fault.Problems
	wrong.Require(q.Limit >= 0 && q.Limit <= MaxQuota, "its limit is not 0 to %d", int64(MaxQuota))
	wrong.Require(slices.Contains([]Window{Hour, Day, Month}, q.Window), "its window is not one of hour, day and month")
	if err := wrong.Refuse("invalid_quota", "the quota"); err != nil {
		return err
	}
	before, err := s.Standing(ctx, id)
	if err != nil {
		return err
	}
	action := "app.enable"
	if _, enabled := before.Enablement(app); enabled {
		action = "quota.set" // decided before the change: an enablement of the same moment gets the other word
	}
	f := s.fact(id, by, action, string(app), map[string]string{"limit": strconv.FormatInt(q.Limit, 10), "window": string(q.Window)})
	if err := s.store.Enable(ctx, id, Enablement{App: app, Quota: q, EnabledAt: s.now()}, f); err != nil {
		return fmt.Errorf("enable app %s: %w", app, err)
	}
	s.cfg.Logger.InfoContext(ctx, "app enabled", "action", action, "tenant", id, "app", app, "by", by)
	return nil
}

// Disable takes the app away from the next call on, also one that this server
// does not publish any more. ErrNotEnabled, ErrTenantNotFound.
func (s *Service) Disable(ctx context.Context, id tenant.ID, by string, app AppID) error {
	if err := s.store.Disable(ctx, id, app, s.fact(id, by, "app.disable", string(app), nil)); err != nil {
		return fmt.Errorf("disable app: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "app disabled", "tenant", id, "app", app, "by", by)
	return nil
}
