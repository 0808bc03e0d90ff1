package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/tenant"
)

// meterKey names the meter of one window of a quota.
type meterKey struct {
	tenant tenant.ID
	app    catalog.AppID
	window catalog.Window
	start  int64 // microseconds
}

// charge takes one unit of the quota if there is one, in one statement, and
// says which meter it was and what is used after it.
func (t *tx) charge(of tenant.ID, app catalog.AppID, q catalog.Quota, at time.Time) (k meterKey, used int64, ok bool, err error) {
	start, end := q.Window.Bounds(at)
	k = meterKey{of, app, q.Window, micros(start)}
	err = t.take(`INSERT INTO quota_meter (tenant, app, quota_window, starts_at, ends_at, used) SELECT ?1, ?2, ?3, ?4, ?5, 1 WHERE ?6 > 0
		ON CONFLICT DO UPDATE SET used = used + 1 WHERE used < ?6 RETURNING used`,
		[]any{of, app, q.Window, k.start, micros(end), q.Limit}, &used)
	if !errors.Is(err, sql.ErrNoRows) {
		return k, used, err == nil, err
	}
	used, err = usedOf(t, k)
	return k, used, false, err
}

// refund gives the unit back to the meter that it was taken from.
func (t *tx) refund(k meterKey) error {
	_, err := t.exec(`UPDATE quota_meter SET used = used - 1 WHERE tenant = ? AND app = ? AND quota_window = ? AND starts_at = ? AND used > 0`,
		k.tenant, k.app, k.window, k.start)
	return err
}

func usedOf(q querier, k meterKey) (used int64, err error) {
	err = q.scan(`SELECT used FROM quota_meter WHERE tenant = ? AND app = ? AND quota_window = ? AND starts_at = ?`,
		[]any{k.tenant, k.app, k.window, k.start}, &used)
	return used, missing(err, nil)
}

// Meter implements gateway.Store.
func (s *Store) Meter(ctx context.Context, of tenant.ID, app catalog.AppID, q catalog.Quota, at time.Time) (gateway.Meter, error) {
	start, end := q.Window.Bounds(at)
	m := gateway.Meter{Quota: q, ResetsAt: end}
	err := s.glance(ctx, func(v view) (err error) {
		m.Used, err = usedOf(v, meterKey{of, app, q.Window, micros(start)})
		return err
	})
	return m, during("read a quota's meter", err)
}
