package sqlite

import (
	"context"

	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

var errEventsGap = fault.New(fault.Conflict, "events_gap", "an event before these is missing: send the attempt's events from the first that was not taken")

// AppendEvents implements task.Store.
func (s *Store) AppendEvents(ctx context.Context, f task.Fence, events []task.Event) (int, bool, error) {
	type answer struct {
		next   int
		cancel bool
	}
	a, err := written(ctx, s, control, func(t *tx) (a answer, err error) {
		h, err := t.fenced(f)
		if err != nil {
			return a, err
		}
		a.cancel = h.state == task.Cancelling
		if err := t.scan(`SELECT next_event FROM attempt WHERE task = ? AND number = ?`, []any{h.n, f.Attempt}, &a.next); err != nil {
			return a, err
		}
		had := a.next
		for _, e := range events {
			if e.Seq > a.next {
				return a, errEventsGap
			}
			if e.Seq < a.next {
				continue
			}
			if err := t.append(h, e); err != nil {
				return a, err
			}
			a.next++
		}
		if a.next > had {
			_, err = t.exec(`UPDATE attempt SET next_event = ? WHERE task = ? AND number = ?`, a.next, h.n, f.Attempt)
		}
		return a, err
	})
	return a.next, a.cancel, during("append events", err)
}

func (t *tx) append(h held, e task.Event) error {
	if _, err := t.exec(`INSERT INTO event (task, attempt, seq, kind, step, tool, effect, rule, revision, outcome, duration, scene_hash, step_index, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		h.n, h.attempt, e.Seq, e.Kind, e.Step, e.Tool, e.Effect, e.Rule, e.Revision, e.Outcome, e.Duration.Microseconds(), e.SceneHash, e.StepIndex, micros(e.At)); err != nil {
		return err
	}
	if e.Kind != task.EventActing {
		return nil
	}
	if _, err := t.exec(`UPDATE task SET acted = 1 WHERE n = ? AND attempt = ? AND state IN ('leased', 'running', 'cancelling')`, h.n, h.attempt); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE attempt SET acting_at = ? WHERE task = ? AND number = ? AND acting_at = 0`, t.wall, h.n, h.attempt)
	return err
}

// Events implements task.Store: those of one attempt behind sequence number
// after (-1 from the first).
func (s *Store) Events(ctx context.Context, of tenant.ID, id task.ID, attempt, after, limit int) ([]task.Event, error) {
	var out []task.Event
	err := s.snapshot(ctx, func(v view) error {
		n, err := taskNumber(v, of, id)
		if err != nil {
			return err
		}
		return v.each(`SELECT seq, kind, step, tool, effect, rule, revision, outcome, duration, scene_hash, step_index, at FROM event
			WHERE task = ? AND attempt = ? AND seq > ? ORDER BY seq LIMIT ?`, []any{n, attempt, after, limit}, func(scan scan) error {
			var e task.Event
			var duration, at int64
			err := scan(&e.Seq, &e.Kind, &e.Step, &e.Tool, &e.Effect, &e.Rule, &e.Revision, &e.Outcome, &duration, &e.SceneHash, &e.StepIndex, &at)
			e.Duration, e.At = span(duration), instant(at)
			out = append(out, e)
			return err
		})
	})
	return out, during("list events", err)
}
