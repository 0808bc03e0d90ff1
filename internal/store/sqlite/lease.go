package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"interlock/internal/cloud/task"
)

// Ack implements task.Store.
func (s *Store) Ack(ctx context.Context, tm task.Timing, f task.Fence) (bool, error) {
	cancel, err := written(ctx, s, control, func(t *tx) (bool, error) {
		h, err := t.fenced(f)
		if err != nil {
			return false, err
		}
		if h.state == task.Cancelling && h.cancelBy < t.lease {
			return false, task.ErrLeaseLost
		}
		span := tm.Lease.Microseconds()
		if _, err := t.exec(`UPDATE task SET state = CASE state WHEN 'leased' THEN 'running' ELSE state END, lease_expires = ?, lease_span = ?, tries = tries + ?, updated_at = ?
			WHERE n = ? AND attempt = ? AND host = ? AND state IN ('leased', 'running', 'cancelling')`,
			t.lease+span, span, h.ackedAt == 0, t.wall, h.n, f.Attempt, f.Host); err != nil {
			return false, err
		}
		_, err = t.exec(`UPDATE attempt SET acked_at = ? WHERE task = ? AND number = ? AND acked_at = 0`, t.wall, h.n, f.Attempt)
		return h.state == task.Cancelling, err
	})
	return cancel, during("acknowledge an attempt", err)
}

// Renew implements task.Store.
func (s *Store) Renew(ctx context.Context, tm task.Timing, fs []task.Fence) ([]task.Renewal, error) {
	out, err := written(ctx, s, control, func(t *tx) ([]task.Renewal, error) {
		out := make([]task.Renewal, len(fs))
		for i, f := range fs {
			out[i] = task.Renewal{Fence: f}
			err := t.take(`UPDATE task SET lease_span = CASE state WHEN 'leased' THEN lease_span ELSE ?1 END,
				lease_expires = CASE state WHEN 'leased' THEN lease_expires ELSE ?2 + ?1 END
				WHERE id = ?3 AND tenant = ?4 AND attempt = ?5 AND host = ?6 AND (state IN ('leased', 'running') OR state = 'cancelling' AND cancel_by >= ?2)
				RETURNING state = 'cancelling'`,
				[]any{tm.Lease.Microseconds(), t.lease, f.Task, f.Tenant, f.Attempt, f.Host}, &out[i].Cancel)
			if errors.Is(err, sql.ErrNoRows) {
				out[i].Lost = true
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	return out, during("renew leases", err)
}
