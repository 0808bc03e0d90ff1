package sqlite

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

// maxPruned ends a step of pruning early, so that leases and decisions don't
// wait long behind it.
const maxPruned = 1000

// Prune implements decision.Store.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (decision.Pruned, error) {
	p, err := written(ctx, s, bulk, func(t *tx) (p decision.Pruned, err error) {
		var due []int64
		if err := t.each(`SELECT n FROM task WHERE terminal_at > 0 AND pruned_at = 0 AND terminal_at < ? ORDER BY terminal_at LIMIT ?`,
			[]any{micros(before), limit + 1}, func(scan scan) error {
				var n int64
				err := scan(&n)
				due = append(due, n)
				return err
			}); err != nil {
			return p, err
		}
		for _, n := range due {
			if p.Tasks == limit || p.Decisions >= maxPruned {
				p.More = true
				break
			}
			if err := t.prune(n, micros(before), &p); err != nil {
				return p, err
			}
		}
		return p, nil
	})
	return p, during("prune decisions", err)
}

// prune removes the decisions of a task that became terminal before the cutoff.
func (t *tx) prune(n, before int64, p *decision.Pruned) error {
	ok, err := t.changed(`UPDATE task SET pruned_at = ? WHERE n = ? AND terminal_at > 0 AND terminal_at < ? AND pruned_at = 0`, t.wall, n, before)
	if err != nil || !ok {
		return err
	}
	p.Tasks++
	return t.forget(n, before, p)
}

// forget removes the decisions of one task, and the blobs that no other needs.
func (t *tx) forget(n, before int64, p *decision.Pruned) error {
	var bytes int64
	if err := t.scan(`SELECT coalesce(sum(log_bytes), 0) FROM attempt WHERE task = ?`, []any{n}, &bytes); err != nil {
		return err
	}
	rows, err := t.exec(`DELETE FROM decision WHERE task = ?1 AND EXISTS (SELECT 1 FROM task WHERE n = ?1 AND terminal_at > 0 AND terminal_at < ?2)`, n, before)
	if err != nil || rows == 0 {
		return err
	}
	if _, err := t.exec(`UPDATE attempt SET log_bytes = 0 WHERE task = ?`, n); err != nil {
		return err
	}
	p.Decisions += int(rows)
	t.grown.rows -= rows
	t.grown.bytes -= bytes
	return t.forgetBlobs(n, p)
}

func (t *tx) forgetBlobs(n int64, p *decision.Pruned) error {
	type used struct{ id, bytes int64 }
	var blobs []used
	if err := t.each(`SELECT b.id, length(b.body) FROM blob_use u JOIN blob b ON b.id = u.blob WHERE u.task = ?`, []any{n}, func(scan scan) error {
		var b used
		err := scan(&b.id, &b.bytes)
		blobs = append(blobs, b)
		return err
	}); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM blob_use WHERE task = ?`, n); err != nil {
		return err
	}
	for _, b := range blobs {
		gone, err := t.changed(`DELETE FROM blob WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM blob_use WHERE blob = ?1)`, b.id)
		if err != nil {
			return err
		}
		if gone {
			p.Blobs++
			t.grown.bytes -= b.bytes
			clear(t.blobs)
		}
	}
	return nil
}

// NextPrune implements decision.Store.
func (s *Store) NextPrune(ctx context.Context) (time.Time, error) {
	var at int64
	err := s.read(ctx, func(v view) error {
		return v.scan(`SELECT coalesce(min(terminal_at), 0) FROM task WHERE terminal_at > 0 AND pruned_at = 0`, nil, &at)
	})
	return instant(at), during("read when the next pruning is due", err)
}

// Purge implements decision.Store.
func (s *Store) Purge(ctx context.Context, of tenant.ID, id task.ID, f audit.Fact) (decision.Pruned, error) {
	p, err := written(ctx, s, bulk, func(t *tx) (p decision.Pruned, err error) {
		k, err := readTask(t, of, id)
		if err != nil {
			return p, err
		}
		if !k.State.Terminal() {
			return p, task.ErrNotTerminal
		}
		if _, err := t.exec(`UPDATE task SET pruned_at = ? WHERE n = ? AND terminal_at > 0 AND pruned_at = 0`, t.wall, k.n); err != nil {
			return p, err
		}
		p.Tasks = 1
		if err := t.forget(k.n, micros(k.TerminalAt)+1, &p); err != nil {
			return p, err
		}
		return p, t.seal(of, f)
	})
	return p, during("purge the decisions of a task", err)
}
