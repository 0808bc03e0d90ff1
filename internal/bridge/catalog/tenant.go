package catalog

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// MaxPage is the longest list of tenants that one call returns.
const MaxPage = 1000

// NewTenant describes a tenant to create.
type NewTenant struct {
	ID               tenant.ID // 1 to 64 of a-z, 0-9 and '-', first not '-'
	Name             string    // 1 to 100 printable characters
	Policy           policy.Document
	KeepInstructions bool
	Subscription     *Subscription // nil: none yet
}

// CreateTenant adds a tenant with no app enabled. By is the actor. Its faults
// are invalid_tenant, invalid_policy, invalid_subscription and ErrTenantExists.
func (s *Service) CreateTenant(ctx context.Context, by string, n NewTenant) (Standing, error) {
	wrong := nameProblems(n.Name)
	wrong.Require(tenantID(n.ID), "its id is not 1 to %d of a-z, 0-9 and '-', first a letter or digit", maxTenantID)
	if err := wrong.Refuse("invalid_tenant", "the tenant"); err != nil {
		return Standing{}, err
	}
	if err := n.Policy.Validate(); err != nil {
		return Standing{}, err
	}
	st := Standing{Tenant: Tenant{ID: n.ID, Name: n.Name, Policy: canonical(n.Policy), KeepInstructions: n.KeepInstructions, CreatedAt: s.now()}}
	detail := map[string]string{"name": n.Name, "policy": st.Tenant.Policy.Revision, "keep_instructions": strconv.FormatBool(n.KeepInstructions)}
	if n.Subscription != nil {
		sub, err := s.started(*n.Subscription)
		if err != nil {
			return Standing{}, err
		}
		st.Subscription = sub
		sub.tell(detail)
	}
	if err := s.store.CreateTenant(ctx, st.Tenant, st.Subscription, s.fact(n.ID, by, "tenant.create", string(n.ID), detail)); err != nil {
		return Standing{}, fmt.Errorf("create tenant: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "tenant created", "tenant", n.ID, "by", by)
	return st, nil
}

func tenantID(id tenant.ID) bool {
	return id != "" && len(id) <= maxTenantID && id[0] != '-' && only(string(id), "-")
}

func nameProblems(name string) (wrong fault.Problems) {
	wrong.Require(name != "" && utf8.RuneCountInString(name) <= maxTenantName && legible(name), "its name is not 1 to %d printable characters", maxTenantName)
	return wrong
}

// Tenants lists up to limit tenants with ids behind after, by id. A limit of
// zero or beyond MaxPage means MaxPage.
func (s *Service) Tenants(ctx context.Context, after tenant.ID, limit int) ([]Tenant, error) {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	list, err := s.store.Tenants(ctx, after, limit)
	for i := range list {
		list[i] = revised(list[i])
	}
	return list, err
}

// Tenant returns one. ErrTenantNotFound.
func (s *Service) Tenant(ctx context.Context, id tenant.ID) (Tenant, error) {
	st, err := s.Standing(ctx, id)
	return st.Tenant, err
}

// ChangeTenant sets what c names, from the next call on; a SuspendedAt that is
// not zero becomes now. The fact is tenant.suspend or tenant.resume where
// nothing else is changed, else tenant.change. Its faults are invalid_tenant,
// invalid_policy and ErrTenantNotFound.
func (s *Service) ChangeTenant(ctx context.Context, id tenant.ID, by string, c TenantChange) (Tenant, error) {
	var wrong fault.Problems
	wrong.Require(c != TenantChange{}, "nothing of it is changed")
	if c.Name != nil {
		wrong = append(wrong, nameProblems(*c.Name)...)
	}
	if err := wrong.Refuse("invalid_tenant", "the tenant"); err != nil {
		return Tenant{}, err
	}
	if c.Policy != nil {
		if err := c.Policy.Validate(); err != nil {
			return Tenant{}, err
		}
		doc := canonical(*c.Policy)
		c.Policy = &doc
	}
	if c.SuspendedAt != nil && !c.SuspendedAt.IsZero() {
		now := s.now()
		c.SuspendedAt = &now
	}
	action, detail := c.fact()
	changed, err := s.store.ChangeTenant(ctx, id, c, s.fact(id, by, action, string(id), detail))
	if err != nil {
		return Tenant{}, fmt.Errorf("change tenant: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "tenant changed", "action", action, "tenant", id, "by", by)
	return revised(changed), nil
}

// fact tells the audit chain what c sets.
func (c TenantChange) fact() (action string, detail map[string]string) {
	detail = map[string]string{}
	if c.Name != nil {
		detail["name"] = *c.Name
	}
	if c.Policy != nil {
		detail["policy"] = c.Policy.Revision
	}
	if c.KeepInstructions != nil {
		detail["keep_instructions"] = strconv.FormatBool(*c.KeepInstructions)
	}
	switch {
	case c.SuspendedAt == nil:
		return "tenant.change", detail
	case len(detail) > 0:
		detail["suspended"] = strconv.FormatBool(!c.SuspendedAt.IsZero())
		return "tenant.change", detail
	case c.SuspendedAt.IsZero():
		return "tenant.resume", detail
	}
	return "tenant.suspend", detail
}

// Suspend refuses every call of the tenant's sites from now on.
// ErrTenantNotFound.
func (s *Service) Suspend(ctx context.Context, id tenant.ID, by string) (Tenant, error) {
	now := s.now()
	return s.ChangeTenant(ctx, id, by, TenantChange{SuspendedAt: &now})
}

// Resume ends a suspension. ErrTenantNotFound.
func (s *Service) Resume(ctx context.Context, id tenant.ID, by string) (Tenant, error) {
	return s.ChangeTenant(ctx, id, by, TenantChange{SuspendedAt: &time.Time{}})
}
