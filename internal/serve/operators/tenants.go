package operators

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/bridge/catalog"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

const (
	routeTenant       = PathTenants + "/{tenant}"
	routeSubscription = routeTenant + "/subscription"
)

func (d *Door) mountTenants(api huma.API) {
	create := op("POST "+PathTenants, "create-tenant", "Add a tenant")
	create.DefaultStatus = http.StatusCreated
	add(d, api, create, d.createTenant)
	add(d, api, op("GET "+PathTenants, "list-tenants", "List tenants, by id"), d.listTenants)
	add(d, api, op("GET "+routeTenant, "get-tenant", "Show one tenant with all that decides what it may do now"), d.getTenant)
	add(d, api, op("PATCH "+routeTenant, "change-tenant", "Change a tenant's name, policy or log, suspend or resume it"), d.changeTenant)
	add(d, api, op("PUT "+routeSubscription, "set-subscription", "Start a tenant's subscription, or replace it"), d.setSubscription)
	add(d, api, op("DELETE "+routeSubscription, "end-subscription", "End a tenant's subscription now"), d.endSubscription)
}

type createTenantInput struct{ Body NewTenant }

func (d *Door) createTenant(ctx context.Context, o operator, in *createTenantInput) (*reply[TenantStanding], error) {
	if err := o.platform(); err != nil {
		return nil, err
	}
	n := catalog.NewTenant{ID: tenant.ID(in.Body.ID), Name: in.Body.Name, Policy: in.Body.Policy.document(), KeepInstructions: in.Body.KeepInstructions}
	if s := in.Body.Subscription; s != nil {
		n.Subscription = &catalog.Subscription{Plan: s.Plan, StartsAt: s.StartsAt, EndsAt: s.EndsAt}
	}
	made, err := d.Catalog.CreateTenant(ctx, o.by, n)
	if err != nil {
		return nil, err
	}
	return answer(d.standingView(ctx, made))
}

type listTenantsInput struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" maxLength:"64"`
}

// listTenants shows an operator of another tenant that one alone.
func (d *Door) listTenants(ctx context.Context, o operator, in *listTenantsInput) (*reply[TenantPage], error) {
	page := TenantPage{Tenants: []Tenant{}}
	if o.platform() != nil {
		own, err := d.Catalog.Tenant(ctx, o.tenant)
		page.Tenants = append(page.Tenants, tenantView(own))
		return answer(page, err)
	}
	found, err := d.Catalog.Tenants(ctx, tenant.ID(in.Cursor), in.Limit+1)
	page.Tenants, page.NextCursor = cut(found, in.Limit, tenantView, func(t Tenant) string { return t.ID })
	return answer(page, err)
}

func (d *Door) getTenant(ctx context.Context, o operator, in *aTenant) (*reply[TenantStanding], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	s, err := d.Catalog.Standing(ctx, t)
	if err != nil {
		return nil, err
	}
	return answer(d.standingView(ctx, s))
}

type changeTenantInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Body   TenantChange
}

func (d *Door) changeTenant(ctx context.Context, o operator, in *changeTenantInput) (*reply[Tenant], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	c := catalog.TenantChange{Name: in.Body.Name, KeepInstructions: in.Body.KeepInstructions}
	if in.Body.Policy != nil {
		policy := in.Body.Policy.document()
		c.Policy = &policy
	}
	if in.Body.Suspended != nil {
		if err := o.platform(); err != nil {
			return nil, err
		}
		c.SuspendedAt = &time.Time{}
		if *in.Body.Suspended {
			*c.SuspendedAt = d.Now()
		}
	}
	if c == (catalog.TenantChange{}) {
		return nil, errNoChange
	}
	after, err := d.Catalog.ChangeTenant(ctx, t, o.by, c)
	return answer(tenantView(after), err)
}

type setSubscriptionInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Body   Subscription
}

func (d *Door) setSubscription(ctx context.Context, o operator, in *setSubscriptionInput) (*reply[Subscription], error) {
	t, err := d.reachAsPlatform(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	s, err := d.Catalog.Subscribe(ctx, t, o.by, catalog.Subscription{Plan: in.Body.Plan, StartsAt: in.Body.StartsAt, EndsAt: in.Body.EndsAt})
	return answer(d.subscriptionView(s), err)
}

func (d *Door) endSubscription(ctx context.Context, o operator, in *aTenant) (*done, error) {
	t, err := d.reachAsPlatform(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	return nil, d.Catalog.EndSubscription(ctx, t, o.by)
}

// document is what the policy room understands. The revision is not the
// caller's to give.
func (r PolicyRules) document() policy.Document {
	return policy.Document{AllowedTools: r.AllowedTools, MaxRisk: policy.Risk(r.MaxRisk), AllowedPackages: r.AllowedPackages}
}

func tenantView(t catalog.Tenant) Tenant {
	return Tenant{ID: string(t.ID), Name: t.Name, KeepInstructions: t.KeepInstructions, CreatedAt: t.CreatedAt, SuspendedAt: t.SuspendedAt,
		Policy: PolicyRules{t.Policy.Revision, t.Policy.AllowedTools, string(t.Policy.MaxRisk), t.Policy.AllowedPackages}}
}

func (d *Door) subscriptionView(s catalog.Subscription) Subscription {
	return Subscription{Plan: s.Plan, StartsAt: s.StartsAt, EndsAt: s.EndsAt, Active: s.Active(d.Now())}
}

func (d *Door) standingView(ctx context.Context, s catalog.Standing) (TenantStanding, error) {
	v := TenantStanding{Tenant: tenantView(s.Tenant), Apps: []EnabledApp{}}
	if !s.Subscription.StartsAt.IsZero() {
		subscription := d.subscriptionView(s.Subscription)
		v.Subscription = &subscription
	}
	for _, e := range s.Enabled {
		app, err := d.enabledView(ctx, s.Tenant.ID, e)
		if err != nil {
			return v, err
		}
		v.Apps = append(v.Apps, app)
	}
	return v, nil
}

func (d *Door) enabledView(ctx context.Context, t tenant.ID, e catalog.Enablement) (EnabledApp, error) {
	m, err := d.Gateway.Meter(ctx, t, e.App, e.Quota)
	return EnabledApp{App: string(e.App), Quota: Quota{e.Quota.Limit, string(e.Quota.Window)}, Used: m.Used, Remaining: m.Remaining(),
		ResetsAt: m.ResetsAt, EnabledAt: e.EnabledAt}, err
}
