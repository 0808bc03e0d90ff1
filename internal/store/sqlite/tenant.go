package sqlite

import (
	"context"
	"database/sql"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/tenant"
)

const tenantColumns = `t.id, t.name, t.policy, t.keep_instructions, t.created_at, t.suspended_at`

// storedTenant is a tenant's row before it is made sense of.
type storedTenant struct {
	catalog.Tenant
	policy             string
	created, suspended int64
}

func (r *storedTenant) columns() []any {
	return []any{&r.ID, &r.Name, &r.policy, &r.KeepInstructions, &r.created, &r.suspended}
}

func (r *storedTenant) read() (catalog.Tenant, error) {
	r.CreatedAt, r.SuspendedAt = instant(r.created), instant(r.suspended)
	err := parse(r.policy, &r.Policy)
	return r.Tenant, err
}

// requireTenant returns catalog.ErrTenantNotFound unless the tenant is there.
func requireTenant(q querier, id tenant.ID) error {
	var one int
	return missing(q.scan(`SELECT 1 FROM tenant WHERE id = ?`, []any{id}, &one), catalog.ErrTenantNotFound)
}

// CreateTenant implements catalog.Store.
func (s *Store) CreateTenant(ctx context.Context, c catalog.Tenant, sub catalog.Subscription, f audit.Fact) error {
	policy, err := text(c.Policy)
	if err != nil {
		return err
	}
	return during("create a tenant", s.write(ctx, control, func(t *tx) error {
		made, err := t.changed(`INSERT INTO tenant (id, name, policy, keep_instructions, created_at, suspended_at, plan, starts_at, ends_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.ID, c.Name, policy, c.KeepInstructions, micros(c.CreatedAt), micros(c.SuspendedAt), sub.Plan, micros(sub.StartsAt), micros(sub.EndsAt))
		if err != nil {
			return err
		}
		if !made {
			return catalog.ErrTenantExists
		}
		return t.seal(c.ID, f)
	}))
}

// Tenants implements catalog.Store.
func (s *Store) Tenants(ctx context.Context, after tenant.ID, limit int) ([]catalog.Tenant, error) {
	var out []catalog.Tenant
	err := s.read(ctx, func(v view) error {
		return v.each(`SELECT `+tenantColumns+` FROM tenant t WHERE t.id > ? ORDER BY t.id LIMIT ?`, []any{after, limit}, func(scan scan) error {
			var r storedTenant
			if err := scan(r.columns()...); err != nil {
				return err
			}
			c, err := r.read()
			out = append(out, c)
			return err
		})
	})
	return out, during("list tenants", err)
}

// ChangeTenant implements catalog.Store.
func (s *Store) ChangeTenant(ctx context.Context, id tenant.ID, c catalog.TenantChange, f audit.Fact) (catalog.Tenant, error) {
	after, err := written(ctx, s, control, func(t *tx) (catalog.Tenant, error) {
		var r storedTenant
		if err := t.scan(`SELECT `+tenantColumns+` FROM tenant t WHERE t.id = ?`, []any{id}, r.columns()...); err != nil {
			return catalog.Tenant{}, missing(err, catalog.ErrTenantNotFound)
		}
		now, err := r.read()
		if err != nil {
			return now, err
		}
		set(&now.Name, c.Name)
		set(&now.Policy, c.Policy)
		set(&now.KeepInstructions, c.KeepInstructions)
		set(&now.SuspendedAt, c.SuspendedAt)
		return now, t.changeTenant(now, f)
	})
	return after, during("change a tenant", err)
}

// set changes what a change names.
func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

func (t *tx) changeTenant(c catalog.Tenant, f audit.Fact) error {
	policy, err := text(c.Policy)
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE tenant SET name = ?, policy = ?, keep_instructions = ?, suspended_at = ? WHERE id = ?`,
		c.Name, policy, c.KeepInstructions, micros(c.SuspendedAt), c.ID); err != nil {
		return err
	}
	return t.seal(c.ID, f)
}

// SetSubscription implements catalog.Store.
func (s *Store) SetSubscription(ctx context.Context, id tenant.ID, sub catalog.Subscription, f audit.Fact) error {
	return during("set a subscription", s.write(ctx, control, func(t *tx) error {
		ok, err := t.changed(`UPDATE tenant SET plan = ?, starts_at = ?, ends_at = ? WHERE id = ?`, sub.Plan, micros(sub.StartsAt), micros(sub.EndsAt), id)
		if err != nil {
			return err
		}
		if !ok {
			return catalog.ErrTenantNotFound
		}
		return t.seal(id, f)
	}))
}

// Enable implements catalog.Store.
func (s *Store) Enable(ctx context.Context, id tenant.ID, e catalog.Enablement, f audit.Fact) error {
	return during("enable an app", s.write(ctx, control, func(t *tx) error {
		if err := requireTenant(t, id); err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO enablement (tenant, app, quota_limit, quota_window, enabled_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET quota_limit = excluded.quota_limit, quota_window = excluded.quota_window`,
			id, e.App, e.Quota.Limit, e.Quota.Window, micros(e.EnabledAt)); err != nil {
			return err
		}
		return t.seal(id, f)
	}))
}

// Disable implements catalog.Store.
func (s *Store) Disable(ctx context.Context, id tenant.ID, app catalog.AppID, f audit.Fact) error {
	return during("disable an app", s.write(ctx, control, func(t *tx) error {
		if err := requireTenant(t, id); err != nil {
			return err
		}
		ok, err := t.changed(`DELETE FROM enablement WHERE tenant = ? AND app = ?`, id, app)
		if err != nil {
			return err
		}
		if !ok {
			return catalog.ErrNotEnabled
		}
		return t.seal(id, f)
	}))
}

// TenantStanding implements catalog.Store. It is one statement, since every
// call of a site waits for it.
func (s *Store) TenantStanding(ctx context.Context, id tenant.ID) (catalog.Standing, error) {
	var out catalog.Standing
	found := false
	err := s.glance(ctx, func(v view) error {
		return v.each(`SELECT `+tenantColumns+`, t.plan, t.starts_at, t.ends_at, e.app, e.quota_limit, e.quota_window, e.enabled_at
			FROM tenant t LEFT JOIN enablement e ON e.tenant = t.id WHERE t.id = ? ORDER BY e.app`, []any{id}, func(scan scan) (err error) {
			var r storedTenant
			var starts, ends int64
			var e storedEnablement
			if err := scan(append(r.columns(), &out.Subscription.Plan, &starts, &ends, &e.app, &e.limit, &e.window, &e.enabled)...); err != nil {
				return err
			}
			if e.app.Valid {
				out.Enabled = append(out.Enabled, e.read())
			}
			if found {
				return nil // the tenant is the same in every row
			}
			found = true
			out.Subscription.StartsAt, out.Subscription.EndsAt = instant(starts), instant(ends)
			out.Tenant, err = r.read()
			return err
		})
	})
	if err == nil && !found {
		err = catalog.ErrTenantNotFound
	}
	return out, during("read where a tenant stands", err)
}

// storedEnablement is an enablement's row; its columns are NULL where the
// tenant has none.
type storedEnablement struct {
	app, window    sql.NullString
	limit, enabled sql.NullInt64
}

func (e storedEnablement) read() catalog.Enablement {
	return catalog.Enablement{App: catalog.AppID(e.app.String), EnabledAt: instant(e.enabled.Int64),
		Quota: catalog.Quota{Limit: e.limit.Int64, Window: catalog.Window(e.window.String)}}
}
