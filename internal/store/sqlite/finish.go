package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
)

// How an attempt ended, where no result says so.
const (
	endedReleased  = "released"
	endedExpired   = "lease_expired"
	endedUnacked   = "not_acknowledged"
	endedRevoked   = "host_revoked"
	endedUnstopped = "cancel_overdue"
)

// Why a task ended, where no result says so.
const (
	reasonIndeterminate = "indeterminate"
	reasonNoTriesLeft   = "attempts_used_up"
	reasonNeverAcked    = "never_acknowledged"
	reasonExpired       = "expired"
	reasonVanished      = "host_vanished" // of an attempt
)

// attemptRow is what a result or a release turns on.
type attemptRow struct {
	host       fleet.HostID
	acked      int64
	ending     string
	resultHash []byte
}

func (t *tx) readAttempt(n int64, number int) (a attemptRow, err error) {
	err = t.scan(`SELECT host, acked_at, ending, result_hash FROM attempt WHERE task = ? AND number = ?`, []any{n, number},
		&a.host, &a.acked, &a.ending, &a.resultHash)
	return a, err
}

// Finish implements task.Store. An attempt that was never this host's is
// task.ErrLeaseLost.
func (s *Store) Finish(ctx context.Context, f task.Finish) (task.Task, bool, error) {
	type answer struct {
		task     task.Task
		replayed bool
	}
	a, err := written(ctx, s, control, func(t *tx) (a answer, err error) {
		h, err := t.readHeld(f.Tenant, f.Task)
		if err != nil {
			return a, err
		}
		if a.replayed, err = t.judge(h, f); err != nil {
			return a, err
		}
		if !a.replayed {
			if err = t.finish(h, f); err != nil {
				return a, err
			}
		}
		r, err := readTaskN(t, h.n)
		a.task = r.Task
		return a, err
	})
	return a.task, a.replayed, during("finish an attempt", err)
}

// judge reports whether the result came before, or why it is refused.
func (t *tx) judge(h held, f task.Finish) (replayed bool, err error) {
	a, err := t.readAttempt(h.n, f.Attempt)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && a.host != f.Host:
		return false, task.ErrLeaseLost
	case err != nil:
		return false, err
	case a.resultHash != nil && bytes.Equal(a.resultHash, f.Hash[:]):
		return true, nil
	case a.resultHash != nil:
		return false, task.ErrTerminalDifferent
	case f.Attempt < h.attempt, h.state.Terminal():
		return false, task.ErrStaleAttempt
	case h.state == task.Queued && a.ending == endedReleased:
		return false, task.ErrStaleAttempt
	}
	return false, nil
}

func (t *tx) finish(h held, f task.Finish) error {
	result, err := resultText(f.Result)
	if err != nil {
		return err
	}
	tries := h.tries
	if h.ackedAt == 0 { // a result proves that it ran
		tries++
	}
	ending := f.State
	if ending == task.Queued {
		ending = task.Failed
	}
	if _, err := t.exec(`UPDATE attempt SET ended_at = ?, ending = ?, reason = ?, result_hash = ?, result = ?, acked_at = CASE acked_at WHEN 0 THEN ? ELSE acked_at END
		WHERE task = ? AND number = ? AND result_hash IS NULL`, t.wall, ending, f.Reason, f.Hash[:], result, t.wall, h.n, f.Attempt); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE task SET tries = ? WHERE n = ? AND attempt = ? AND terminal_at = 0`, tries, h.n, f.Attempt); err != nil {
		return err
	}
	if err := t.freeDevice(h.n, f.Attempt); err != nil {
		return err
	}
	return t.settleResult(h, f, tries)
}

// settleResult moves the task as its result says.
func (t *tx) settleResult(h held, f task.Finish, tries int) error {
	state, reason := f.State, f.Reason
	if state == task.Queued {
		switch {
		case h.state == task.Cancelling:
			state, reason = task.Cancelled, h.reason
		case tries >= h.maxTries:
			state = task.Dead
		default:
			return t.queue(h, t.wall+f.NextRun.Microseconds())
		}
	}
	ok, err := t.changed(`UPDATE task SET state = ?, reason = ?, host = ?, device = (SELECT device FROM attempt WHERE task = ?5 AND number = ?6),
		lease_expires = 0, lease_span = 0, updated_at = ?4, terminal_at = ?4, result_attempt = ?6
		WHERE n = ?5 AND attempt = ?6 AND terminal_at = 0`, state, reason, f.Host, t.wall, h.n, f.Attempt)
	if err == nil && !ok {
		return task.ErrStaleAttempt
	}
	return err
}

// freeDevice lets the next attempt have the device at once: its host said that
// it is done with it.
func (t *tx) freeDevice(n int64, attempt int) error {
	_, err := t.exec(`DELETE FROM device_lease WHERE (host, device) = (SELECT host, device FROM attempt WHERE task = ?1 AND number = ?2) AND task = ?1 AND attempt = ?2`, n, attempt)
	return err
}

// Release implements task.Store.
func (s *Store) Release(ctx context.Context, f task.Fence, acted bool, reason string) (task.Task, error) {
	k, err := written(ctx, s, control, func(t *tx) (task.Task, error) {
		h, err := t.readHeld(f.Tenant, f.Task)
		if err != nil {
			return task.Task{}, err
		}
		if err := t.release(h, f, acted, reason); err != nil {
			return task.Task{}, err
		}
		r, err := readTaskN(t, h.n)
		return r.Task, err
	})
	return k, during("release an attempt", err)
}

func (t *tx) release(h held, f task.Fence, acted bool, reason string) error {
	a, err := t.readAttempt(h.n, f.Attempt)
	switch {
	case errors.Is(err, sql.ErrNoRows): // refused below
	case err != nil:
		return err
	case a.host == f.Host && a.ending == endedReleased:
		return nil
	}
	if err := h.refuse(f); err != nil {
		return err
	}
	if err := t.endAttempt(h, endedReleased, reason); err != nil {
		return err
	}
	if err := t.freeDevice(h.n, h.attempt); err != nil {
		return err
	}
	h.acted = h.acted || acted
	_, _, err = t.loseAttempt(h, loss{next: t.wall, released: true})
	return err
}

// TakeBack implements task.Store.
func (s *Store) TakeBack(ctx context.Context, tm task.Timing, f task.Fence) (task.Task, error) {
	k, err := written(ctx, s, control, func(t *tx) (task.Task, error) {
		h, err := t.readHeld(f.Tenant, f.Task)
		if err != nil {
			return task.Task{}, err
		}
		if h.refuse(f) == nil && h.ackedAt == 0 && !h.acted {
			err = t.takeBack(h, tm)
		}
		if err != nil {
			return task.Task{}, err
		}
		r, err := readTaskN(t, h.n)
		return r.Task, err
	})
	return k, during("take a claim back", err)
}

func (t *tx) takeBack(h held, tm task.Timing) error {
	if err := t.endAttempt(h, endedReleased, reasonVanished); err != nil {
		return err
	}
	if err := t.freeDevice(h.n, h.attempt); err != nil {
		return err
	}
	next := t.wall
	if h.misses > 0 && tm.Backoff != nil {
		next += tm.Backoff(h.misses).Microseconds()
	}
	_, _, err := t.loseAttempt(h, loss{next: next, missed: true, maxMisses: tm.MaxMisses})
	return err
}

func (t *tx) endAttempt(h held, ending, reason string) error {
	_, err := t.exec(`UPDATE attempt SET ended_at = ?, ending = ?, reason = ? WHERE task = ? AND number = ? AND ended_at = 0`, t.wall, ending, reason, h.n, h.attempt)
	return err
}
