package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"interlock/internal/bridge/resolve"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// ReserveSelection implements selector.Store. The first call of a tenant's day
// removes the tenant's counters of days that are over everywhere: yesterday's
// stays, for a caller whose clock is behind.
func (s *Store) ReserveSelection(ctx context.Context, of tenant.ID, at time.Time, most int64) (bool, error) {
	ok, err := written(ctx, s, bulk, func(t *tx) (bool, error) {
		var taken int64
		err := t.take(`INSERT INTO selection (tenant, day, taken) SELECT ?1, ?2, 1 WHERE ?3 > 0
			ON CONFLICT DO UPDATE SET taken = taken + 1 WHERE taken < ?3 RETURNING taken`, []any{of, day(at), most}, &taken)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err == nil && taken == 1 {
			_, err = t.exec(`DELETE FROM selection WHERE tenant = ? AND day < ?`, of, day(at.AddDate(0, 0, -1)))
		}
		return err == nil, err
	})
	return ok, during("reserve a call of the selector's model", err)
}

// MeterSelection implements selector.Store.
func (s *Store) MeterSelection(ctx context.Context, e usage.Entry) error {
	return during("meter a call of the selector's model", s.write(ctx, bulk, func(t *tx) error { return t.meter(e) }))
}

// RecordResolution implements resolve.Store.
func (s *Store) RecordResolution(ctx context.Context, r resolve.Record) error {
	return during("record a resolution", s.write(ctx, bulk, func(t *tx) error {
		_, err := t.exec(`INSERT INTO resolution (id, tenant, site, request, at, duration, hash, instruction, selector, capability, app, operation, reason, effect, rule, revision)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID, r.Tenant, r.Site, r.RequestID, micros(r.At), r.Duration.Microseconds(), r.Hash[:], r.Instruction, r.Selector,
			r.Capability, r.App, r.Operation, r.Reason, r.Effect, r.Rule, r.Revision)
		return err
	}))
}

// Resolutions implements resolve.Store.
func (s *Store) Resolutions(ctx context.Context, q resolve.Query) ([]resolve.Record, error) {
	p := newestOf(`SELECT id, tenant, site, request, at, duration, hash, instruction, selector, capability, app, operation, reason, effect, rule, revision
		FROM resolution WHERE tenant = ?`, q.Tenant)
	p.where(`site = ?`, string(q.Site))
	p.where(`id < ?`, q.Before)
	var out []resolve.Record
	err := s.read(ctx, func(v view) error {
		return v.each(p.upTo(q.Limit), p.args, func(scan scan) error {
			r, err := scanResolution(scan)
			out = append(out, r)
			return err
		})
	})
	return out, during("list resolutions", err)
}

func scanResolution(scan scan) (r resolve.Record, err error) {
	var at, duration int64
	var hash []byte
	if err = scan(&r.ID, &r.Tenant, &r.Site, &r.RequestID, &at, &duration, &hash, &r.Instruction, &r.Selector,
		&r.Capability, &r.App, &r.Operation, &r.Reason, &r.Effect, &r.Rule, &r.Revision); err != nil {
		return r, err
	}
	r.At, r.Duration = instant(at), span(duration)
	r.Hash, err = digest(hash)
	return r, err
}

// PruneResolutions implements resolve.Store.
func (s *Store) PruneResolutions(ctx context.Context, at time.Time, limit int) (int, error) {
	return s.sweep(ctx, "prune resolutions", `DELETE FROM resolution WHERE n IN (SELECT n FROM resolution WHERE at < ? ORDER BY at LIMIT ?)`, at, limit)
}
