package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

const callColumns = `SELECT id, tenant, site, app, operation, request, key, body_hash, arguments, revision, opened_at, verdict, duration, charged`

func scanCall(scan scan, more ...any) (r gateway.Record, err error) {
	var hash, arguments []byte
	var opened, duration int64
	if err = scan(append([]any{&r.ID, &r.Tenant, &r.Site, &r.App, &r.Operation, &r.RequestID, &r.Key, &hash, &arguments,
		&r.Revision, &opened, &r.Verdict, &duration, &r.Charged}, more...)...); err != nil {
		return r, err
	}
	r.Arguments, r.OpenedAt, r.Duration = arguments, instant(opened), span(duration)
	r.BodyHash, err = digest(hash)
	return r, err
}

// keyed reads the record that holds the key.
func keyed(q querier, of tenant.ID, from site.ID, key string) (r gateway.Record, found bool, err error) {
	if key == "" {
		return r, false, nil
	}
	var reply []byte
	r, err = scanCall(func(dest ...any) error {
		return q.scan(callColumns+`, reply FROM call WHERE tenant = ? AND site = ? AND key = ? AND holds_key = 1`, []any{of, from, key}, dest...)
	}, &reply)
	r.Reply = reply
	return r, err == nil, missing(err, nil)
}

// Keyed implements gateway.Store. It is one statement, since every call with a
// key waits for it.
func (s *Store) Keyed(ctx context.Context, of tenant.ID, from site.ID, key string) (r gateway.Record, found bool, err error) {
	err = s.glance(ctx, func(v view) (err error) {
		r, found, err = keyed(v, of, from, key)
		return err
	})
	return r, found, during("read the call that has a key", err)
}

// OpenCall implements gateway.Store.
func (s *Store) OpenCall(ctx context.Context, r gateway.Record, q catalog.Quota) (gateway.Opened, error) {
	o, err := written(ctx, s, bulk, func(t *tx) (gateway.Opened, error) { return t.openCall(r, q) })
	return o, during("open a call", err)
}

func (t *tx) openCall(r gateway.Record, q catalog.Quota) (o gateway.Opened, err error) {
	before, found, err := keyed(t, r.Tenant, r.Site, r.Key)
	if err != nil {
		return o, err
	}
	if found {
		o.Before = &before
		return o, nil
	}
	meter, used, ok, err := t.charge(r.Tenant, r.App, q, r.OpenedAt)
	if err != nil {
		return o, err
	}
	o.Used, o.Exceeded, r.Charged, r.Verdict = used, !ok, ok, gateway.Open
	if !ok {
		r.Verdict = gateway.Exceeded
	}
	return o, t.insertCall(r, meter)
}

// insertCall adds a record. It holds its key only as long as it is not closed.
func (t *tx) insertCall(r gateway.Record, m meterKey) error {
	var arguments any
	if r.Arguments != nil {
		arguments = []byte(r.Arguments)
	}
	_, err := t.exec(`INSERT INTO call (id, tenant, site, app, operation, request, key, holds_key, body_hash, arguments, revision, opened_at, verdict, duration, charged, quota_window, quota_start)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Tenant, r.Site, r.App, r.Operation, r.RequestID, r.Key, r.Key != "" && r.Verdict == gateway.Open, r.BodyHash[:], arguments,
		r.Revision, micros(r.OpenedAt), r.Verdict, r.Duration.Microseconds(), r.Charged, m.window, m.start)
	return err
}

// ReopenCall implements gateway.Store.
func (s *Store) ReopenCall(ctx context.Context, of tenant.ID, id string, at time.Time) (bool, error) {
	ok, err := written(ctx, s, bulk, func(t *tx) (bool, error) {
		return t.changed(`UPDATE call SET verdict = 'open', duration = 0, opened_at = ? WHERE tenant = ? AND id = ? AND verdict = 'interrupted' AND holds_key = 1`,
			micros(at), of, id)
	})
	return ok, during("open a call again", err)
}

// CloseCall implements gateway.Store.
func (s *Store) CloseCall(ctx context.Context, c gateway.Closing) error {
	return during("close a call", s.write(ctx, bulk, func(t *tx) error {
		if c.Refund {
			if err := t.refundCall(c.Tenant, c.ID); err != nil {
				return err
			}
		}
		ok := c.Verdict == gateway.OK
		var reply any
		if ok && c.Reply != nil {
			reply = []byte(c.Reply)
		}
		_, err := t.exec(`UPDATE call SET verdict = ?1, duration = ?2, holds_key = holds_key AND ?3, reply = CASE holds_key WHEN 1 THEN ?4 END
			WHERE tenant = ?5 AND id = ?6 AND verdict = 'open'`, c.Verdict, c.Duration.Microseconds(), ok, reply, c.Tenant, c.ID)
		return err
	}))
}

// refundCall gives back the unit of an open call, once.
func (t *tx) refundCall(of tenant.ID, id string) error {
	k := meterKey{tenant: of}
	err := t.take(`UPDATE call SET charged = 0 WHERE tenant = ? AND id = ? AND verdict = 'open' AND charged = 1 RETURNING app, quota_window, quota_start`,
		[]any{of, id}, &k.app, &k.window, &k.start)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.refund(k)
}

// RefuseCall implements gateway.Store.
func (s *Store) RefuseCall(ctx context.Context, r gateway.Record) error {
	r.Charged = false
	return during("record a refused call", s.write(ctx, bulk, func(t *tx) error { return t.insertCall(r, meterKey{}) }))
}

// Calls implements gateway.Store.
func (s *Store) Calls(ctx context.Context, q gateway.Query) ([]gateway.Record, error) {
	p := newestOf(callColumns+` FROM call WHERE tenant = ?`, q.Tenant)
	p.where(`site = ?`, string(q.Site))
	p.where(`app = ?`, string(q.App))
	p.where(`verdict = ?`, q.Verdict)
	p.where(`id < ?`, q.Before)
	var out []gateway.Record
	err := s.read(ctx, func(v view) error {
		return v.each(p.upTo(q.Limit), p.args, func(scan scan) error {
			r, err := scanCall(scan)
			out = append(out, r)
			return err
		})
	})
	return out, during("list calls", err)
}

// InterruptCalls implements gateway.Store.
func (s *Store) InterruptCalls(ctx context.Context, at time.Time, limit int) (int, error) {
	return s.sweep(ctx, "interrupt calls", `UPDATE call SET verdict = 'interrupted'
		WHERE n IN (SELECT n FROM call WHERE verdict = 'open' AND opened_at < ? ORDER BY opened_at LIMIT ?)`, at, limit)
}

// ForgetReplies implements gateway.Store.
func (s *Store) ForgetReplies(ctx context.Context, at time.Time, limit int) (int, error) {
	return s.sweep(ctx, "forget replies", `UPDATE call SET holds_key = 0, reply = NULL
		WHERE n IN (SELECT n FROM call WHERE holds_key = 1 AND opened_at < ? AND verdict <> 'open' ORDER BY opened_at LIMIT ?)`, at, limit)
}

// PruneCalls implements gateway.Store.
func (s *Store) PruneCalls(ctx context.Context, at time.Time, limit int) (int, error) {
	n, err := written(ctx, s, bulk, func(t *tx) (int64, error) {
		calls, err := t.exec(`DELETE FROM call WHERE n IN (SELECT n FROM call WHERE opened_at < ? AND verdict <> 'open' ORDER BY opened_at LIMIT ?)`, micros(at), limit)
		if err != nil {
			return 0, err
		}
		meters, err := t.exec(`DELETE FROM quota_meter WHERE (tenant, app, quota_window, starts_at) IN
			(SELECT tenant, app, quota_window, starts_at FROM quota_meter WHERE ends_at <= ? ORDER BY ends_at LIMIT ?)`, micros(at), int64(limit)-calls)
		return calls + meters, err
	})
	return int(n), during("prune calls", err)
}
