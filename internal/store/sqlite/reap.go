package sqlite

import (
	"context"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
)

// Reap implements task.Store. A reason is that of the new state; for a task
// that waits again, it is how its attempt ended.
func (s *Store) Reap(ctx context.Context, tm task.Timing, limit int) ([]task.Reaped, error) {
	out, err := written(ctx, s, control, func(t *tx) ([]task.Reaped, error) {
		// All pages are found before anything moves, so that a task moves once;
		// what is found is moved, so the next call finds others.
		lost, err := t.find(heldColumns+`WHERE t.lease_expires > 0 AND t.lease_expires < ? ORDER BY t.lease_expires LIMIT ?`, t.lease, limit)
		if err != nil {
			return nil, err
		}
		unstopped, err := t.find(heldColumns+`WHERE t.state = 'cancelling' AND t.cancel_by < ?1 AND t.lease_expires >= ?1 ORDER BY t.cancel_by LIMIT ?2`, t.lease, limit-len(lost))
		if err != nil {
			return nil, err
		}
		lost = append(lost, unstopped...)
		expired, err := t.find(heldColumns+`WHERE t.state = 'queued' AND t.expires_at > 0 AND t.expires_at <= ? ORDER BY t.expires_at LIMIT ?`, t.wall, limit-len(lost))
		if err != nil {
			return nil, err
		}
		out := make([]task.Reaped, 0, len(lost)+len(expired))
		for _, h := range lost {
			ending := endedExpired
			if h.lease >= t.lease {
				ending = endedUnstopped
			}
			r, err := t.reap(h, tm, ending)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		for _, h := range expired {
			if err := t.end(h.n, h.attempt, task.Dead, reasonExpired); err != nil {
				return nil, err
			}
			out = append(out, task.Reaped{Tenant: h.tenant, Task: h.id, Attempt: h.attempt, State: task.Dead, Reason: reasonExpired})
		}
		return out, nil
	})
	return out, during("reap leases", err)
}

// FailHost implements task.Store.
func (s *Store) FailHost(ctx context.Context, tm task.Timing, host fleet.HostID) ([]task.Reaped, error) {
	out, err := written(ctx, s, control, func(t *tx) ([]task.Reaped, error) {
		held, err := t.find(heldColumns+`WHERE t.host = ? AND t.lease_expires > 0 ORDER BY t.n`, host)
		if err != nil {
			return nil, err
		}
		out := make([]task.Reaped, 0, len(held))
		for _, h := range held {
			r, err := t.reap(h, tm, endedRevoked)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, nil
	})
	return out, during("end the leases of a host", err)
}

func (t *tx) find(query string, args ...any) ([]held, error) {
	var out []held
	err := t.each(query, args, func(scan scan) error {
		h, err := scanHeld(scan)
		out = append(out, h)
		return err
	})
	return out, err
}

// reap ends a held attempt. Its device stays taken for the grace after the
// lease, in which its host fences itself.
func (t *tx) reap(h held, tm task.Timing, ending string) (task.Reaped, error) {
	acked := h.ackedAt > 0 || h.acted
	if !acked && ending == endedExpired {
		ending = endedUnacked
	}
	if err := t.endAttempt(h, ending, ending); err != nil {
		return task.Reaped{}, err
	}
	grace := tm.DeviceGrace.Microseconds()
	if _, err := t.exec(`UPDATE device_lease SET free_at = ?, grace = ? WHERE host = ? AND device = ? AND task = ? AND attempt = ?`,
		h.lease+grace, grace, h.host, h.device, h.n, h.attempt); err != nil {
		return task.Reaped{}, err
	}
	l := loss{next: t.wall, maxMisses: tm.MaxMisses, missed: !acked && ending != endedRevoked}
	if acked && tm.Backoff != nil {
		l.next += tm.Backoff(h.tries).Microseconds()
	}
	state, reason, err := t.loseAttempt(h, l)
	if state == task.Queued {
		reason = ending
	}
	return task.Reaped{Tenant: h.tenant, Task: h.id, Attempt: h.attempt, Host: h.host, State: state, Reason: reason}, err
}

// loss is how a held attempt was lost.
type loss struct {
	next      int64 // when it may be tried again
	released  bool  // the host gave it back
	missed    bool  // it was never acknowledged, and counts as a miss
	maxMisses int
}

// loseAttempt moves the task of an attempt that ended without a result: the
// reaper's rule.
func (t *tx) loseAttempt(h held, l loss) (state task.State, reason string, err error) {
	acked := h.ackedAt > 0 || h.acted
	switch {
	case h.state == task.Cancelling:
		state, reason = task.Cancelled, h.reason
	case h.acted && !h.repeatable:
		state, reason = task.Failed, reasonIndeterminate
	case acked && h.tries >= h.maxTries:
		state, reason = task.Dead, reasonNoTriesLeft
	case l.missed && h.misses+1 >= l.maxMisses:
		state, reason = task.Dead, reasonNeverAcked
	default:
		state = task.Queued
	}
	if l.missed {
		if _, err := t.exec(`UPDATE task SET misses = misses + 1 WHERE n = ? AND attempt = ? AND terminal_at = 0`, h.n, h.attempt); err != nil {
			return state, reason, err
		}
	}
	if h.acted {
		if _, err := t.exec(`UPDATE task SET acted = 1 WHERE n = ? AND attempt = ? AND terminal_at = 0`, h.n, h.attempt); err != nil {
			return state, reason, err
		}
	}
	if state == task.Queued {
		return state, reason, t.queue(h, l.next)
	}
	return state, reason, t.end(h.n, h.attempt, state, reason)
}
