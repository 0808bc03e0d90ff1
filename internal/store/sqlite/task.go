package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/tenant"
)

// aging is how long a queued task waits to gain one level of priority. The
// order of claims is by when a task could first run, less this much a level:
// it never changes while two tasks wait, so an index holds it.
const aging = 5 * time.Minute

func rank(nextRun int64, priority int) int64 {
	return nextRun - int64(priority)*aging.Microseconds()
}

// maxTries applies where a task doesn't say.
const maxTries = 3

// Submit implements task.Store.
func (s *Store) Submit(ctx context.Context, k task.Task, key string, body [32]byte, f audit.Fact) (task.Task, bool, error) {
	type answer struct {
		task     task.Task
		replayed bool
	}
	a, err := written(ctx, s, control, func(t *tx) (a answer, err error) {
		if key != "" {
			if a.task, a.replayed, err = submittedBefore(t, k.Tenant, key, body); err != nil || a.replayed {
				return a, err
			}
		}
		a.task, err = t.submit(k, key, body, f)
		return a, err
	})
	return a.task, a.replayed, during("submit a task", err)
}

// Submitted implements task.Store.
func (s *Store) Submitted(ctx context.Context, of tenant.ID, key string, body [32]byte) (k task.Task, found bool, err error) {
	if key == "" {
		return task.Task{}, false, nil
	}
	err = s.snapshot(ctx, func(v view) (err error) {
		k, found, err = submittedBefore(v, of, key, body)
		return err
	})
	return k, found, during("read what was submitted with a key", err)
}

// submittedBefore returns the task that the tenant submitted with the key.
func submittedBefore(q querier, of tenant.ID, key string, body [32]byte) (task.Task, bool, error) {
	var n int64
	var had []byte
	err := q.scan(`SELECT task, body FROM task_key WHERE tenant = ? AND key = ?`, []any{of, key}, &n, &had)
	if errors.Is(err, sql.ErrNoRows) {
		return task.Task{}, false, nil
	}
	if err != nil {
		return task.Task{}, false, err
	}
	stored, err := digest(had)
	if err != nil {
		return task.Task{}, false, err
	}
	if stored != body {
		return task.Task{}, false, task.ErrKeyReused
	}
	r, err := readTaskN(q, n)
	return r.Task, err == nil, err
}

// ForgetKeys implements task.Store.
func (s *Store) ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := written(ctx, s, bulk, func(t *tx) (int, error) {
		n, err := t.exec(`DELETE FROM task_key WHERE (tenant, key) IN (SELECT tenant, key FROM task_key WHERE at < ? ORDER BY at LIMIT ?)`, micros(before), limit)
		return int(n), err
	})
	return n, during("forget old idempotency keys", err)
}

func (t *tx) submit(k task.Task, key string, body [32]byte, f audit.Fact) (task.Task, error) {
	n, err := t.insertTask(k)
	if err != nil {
		return task.Task{}, err
	}
	if key != "" {
		if _, err := t.exec(`INSERT INTO task_key (tenant, key, body, task, at) VALUES (?, ?, ?, ?, ?)`, k.Tenant, key, body[:], n, t.wall); err != nil {
			return task.Task{}, err
		}
	}
	if f.Action != "" {
		if err := t.seal(k.Tenant, f); err != nil {
			return task.Task{}, err
		}
	}
	r, err := readTaskN(t, n)
	return r.Task, err
}

func (t *tx) insertTask(k task.Task) (n int64, err error) {
	selector, err := text(k.Spec.Selector)
	if err != nil {
		return 0, err
	}
	next := max(micros(k.Spec.NotBefore), micros(k.NextRun), t.wall)
	err = t.take(`INSERT INTO task (id, tenant, state, selector, priority, repeatable, max_attempts, ready, rank, next_run, expires_at, created_at, updated_at)
		VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`,
		[]any{k.ID, k.Tenant, selector, k.Spec.Priority, k.Spec.Repeatable, cmp.Or(k.Spec.MaxAttempts, maxTries), next <= t.wall,
			rank(next, k.Spec.Priority), next, micros(k.Spec.ExpiresAt), t.wall, t.wall}, &n)
	if err != nil {
		return 0, err
	}
	return n, t.insertSpec(n, k)
}

func (t *tx) insertSpec(n int64, k task.Task) error {
	labels, err := text(k.Spec.Labels)
	if err != nil {
		return err
	}
	lock, err := text(k.Spec.AppLock)
	if err != nil {
		return err
	}
	policy, err := text(k.Spec.Policy)
	if err != nil {
		return err
	}
	b := k.Spec.Budgets
	_, err = t.exec(`INSERT INTO task_spec (task, goal, labels, app_lock, policy, budget_steps, budget_time, budget_tokens, not_before, retry_of)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		n, k.Spec.Goal, labels, lock, policy, b.Steps, b.WallTime.Microseconds(), b.Tokens, micros(k.Spec.NotBefore), k.RetryOf)
	return err
}

// taskRow is a task with its number.
type taskRow struct {
	task.Task
	n int64
}

const taskColumns = `SELECT t.n, t.id, t.tenant, t.state, t.reason, t.selector, t.priority, t.repeatable, t.max_attempts, t.next_run, t.expires_at,
	t.attempt, t.tries, t.misses, t.host, t.device, t.lease_expires, t.acted, t.created_at, t.updated_at, t.terminal_at, t.pruned_at,
	s.goal, s.labels, s.app_lock, s.policy, s.budget_steps, s.budget_time, s.budget_tokens, s.not_before, s.retry_of, a.result
	FROM task t JOIN task_spec s ON s.task = t.n LEFT JOIN attempt a ON a.task = t.n AND a.number = t.result_attempt `

func scanTask(scan scan) (r taskRow, err error) {
	var selector, labels, lock, policy string
	var result sql.NullString
	var next, expires, lease, created, updated, terminal, pruned, wallTime, notBefore int64
	sp := &r.Spec
	if err = scan(&r.n, &r.ID, &r.Tenant, &r.State, &r.Reason, &selector, &sp.Priority, &sp.Repeatable, &sp.MaxAttempts, &next, &expires,
		&r.Attempt, &r.Tries, &r.LeaseMisses, &r.Host, &r.Device, &lease, &r.Acted, &created, &updated, &terminal, &pruned,
		&sp.Goal, &labels, &lock, &policy, &sp.Budgets.Steps, &wallTime, &sp.Budgets.Tokens, &notBefore, &r.RetryOf, &result); err != nil {
		return r, err
	}
	r.NextRun, r.LeaseExpires, r.CreatedAt, r.UpdatedAt = instant(next), instant(lease), instant(created), instant(updated)
	r.TerminalAt, r.PrunedAt = instant(terminal), instant(pruned)
	sp.ExpiresAt, sp.NotBefore, sp.Budgets.WallTime = instant(expires), instant(notBefore), span(wallTime)
	if sp.Labels, err = parseMap(labels); err != nil {
		return r, err
	}
	if lock != "[]" {
		err = parse(lock, &sp.AppLock)
	}
	if err = errors.Join(err, parse(selector, &sp.Selector), parse(policy, &sp.Policy)); err != nil {
		return r, err
	}
	if result.Valid {
		r.Result, err = parseResult(result.String)
	}
	return r, err
}

// resultColumn is how a result is stored.
type resultColumn struct {
	State      string    `json:"state"`
	Reason     string    `json:"reason,omitzero"`
	Summary    string    `json:"summary,omitzero"`
	Steps      int       `json:"steps"`
	Acted      bool      `json:"acted"`
	Usage      llm.Usage `json:"usage"`
	RetryAfter int64     `json:"retry_after_us,omitzero"`
}

func resultText(r task.Result) (string, error) {
	return text(resultColumn{State: r.State, Reason: r.Reason, Summary: r.Summary, Steps: r.Steps, Acted: r.Acted,
		Usage: r.Usage, RetryAfter: r.RetryAfter.Microseconds()})
}

func parseResult(column string) (*task.Result, error) {
	var c resultColumn
	if err := parse(column, &c); err != nil {
		return nil, err
	}
	return &task.Result{State: c.State, Reason: c.Reason, Summary: c.Summary, Steps: c.Steps, Acted: c.Acted,
		Usage: c.Usage, RetryAfter: span(c.RetryAfter)}, nil
}

// one reads the only task that a query gives, or task.ErrNotFound.
func one(q querier, query string, args ...any) (r taskRow, err error) {
	err = task.ErrNotFound
	if failed := q.each(query, args, func(scan scan) error {
		r, err = scanTask(scan)
		return err
	}); failed != nil {
		err = failed
	}
	return r, err
}

func readTaskN(q querier, n int64) (taskRow, error) {
	return one(q, taskColumns+`WHERE t.n = ?`, n)
}

func readTask(q querier, of tenant.ID, id task.ID) (taskRow, error) {
	return one(q, taskColumns+`WHERE t.id = ? AND t.tenant = ?`, id, of)
}

// Task implements task.Store.
func (s *Store) Task(ctx context.Context, of tenant.ID, id task.ID) (task.Task, error) {
	var r taskRow
	err := s.read(ctx, func(v view) (err error) {
		r, err = readTask(v, of, id)
		return err
	})
	return r.Task, during("read a task", err)
}

// Tasks implements task.Store.
func (s *Store) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	query, args := filtered(f)
	var out []task.Task
	err := s.read(ctx, func(v view) error {
		return v.each(query, args, func(scan scan) error {
			r, err := scanTask(scan)
			out = append(out, r.Task)
			return err
		})
	})
	return out, during("list tasks", err)
}

// filtered builds the query of a filter out of fixed pieces.
func filtered(f task.Filter) (string, []any) {
	var b strings.Builder
	b.WriteString(taskColumns + `WHERE t.tenant = ?`)
	args := []any{f.Tenant}
	if len(f.States) > 0 {
		b.WriteString(` AND t.state IN (?` + strings.Repeat(`, ?`, len(f.States)-1) + `)`)
		for _, s := range f.States {
			args = append(args, s)
		}
	}
	if f.Host != "" {
		b.WriteString(` AND t.host = ?`)
		args = append(args, f.Host)
	}
	for k, v := range f.Labels {
		b.WriteString(` AND EXISTS (SELECT 1 FROM json_each(s.labels) l WHERE l.key = ? AND l.value = ?)`)
		args = append(args, k, v)
	}
	if f.Before != "" {
		b.WriteString(` AND t.id < ?`)
		args = append(args, f.Before)
	}
	b.WriteString(` ORDER BY t.id DESC LIMIT ?`)
	return b.String(), append(args, f.Limit)
}

// Count implements task.Store.
func (s *Store) Count(ctx context.Context, of tenant.ID) (map[task.State]int, error) {
	out := map[task.State]int{}
	err := s.read(ctx, func(v view) error {
		return v.each(`SELECT state, count(*) FROM task WHERE tenant = ? GROUP BY state`, []any{of}, func(scan scan) error {
			var state task.State
			var n int
			err := scan(&state, &n)
			out[state] = n
			return err
		})
	})
	return out, during("count tasks", err)
}

// Attempts implements task.Store.
func (s *Store) Attempts(ctx context.Context, of tenant.ID, id task.ID) ([]task.Attempt, error) {
	var out []task.Attempt
	err := s.snapshot(ctx, func(v view) error {
		n, err := taskNumber(v, of, id)
		if err != nil {
			return err
		}
		return v.each(`SELECT number, host, device, claimed_at, acked_at, acting_at, ended_at, ending, reason, steps FROM attempt
			WHERE task = ? ORDER BY number`, []any{n}, func(scan scan) error {
			a := task.Attempt{Task: id}
			var claimed, acked, acting, ended int64
			err := scan(&a.Number, &a.Host, &a.Device, &claimed, &acked, &acting, &ended, &a.End, &a.Reason, &a.Steps)
			a.ClaimedAt, a.AckedAt, a.ActingAt, a.EndedAt = instant(claimed), instant(acked), instant(acting), instant(ended)
			out = append(out, a)
			return err
		})
	})
	return out, during("list attempts", err)
}

func taskNumber(q querier, of tenant.ID, id task.ID) (n int64, err error) {
	err = q.scan(`SELECT n FROM task WHERE id = ? AND tenant = ?`, []any{id, of}, &n)
	return n, missing(err, task.ErrNotFound)
}

// NextRun implements task.Store.
func (s *Store) NextRun(ctx context.Context) (time.Time, error) {
	var next int64
	err := s.read(ctx, func(v view) error {
		_, wall := s.clock.read()
		return v.scan(`SELECT coalesce(min(next_run), 0) FROM task WHERE state = 'queued' AND ready = 0 AND next_run > ?`, []any{wall}, &next)
	})
	return instant(next), during("read when the next task is ready", err)
}

// Cancel implements task.Store.
func (s *Store) Cancel(ctx context.Context, tm task.Timing, of tenant.ID, id task.ID, reason string, f audit.Fact) (task.Task, error) {
	k, err := written(ctx, s, control, func(t *tx) (task.Task, error) { return t.cancel(tm, of, id, reason, f) })
	return k, during("cancel a task", err)
}

func (t *tx) cancel(tm task.Timing, of tenant.ID, id task.ID, reason string, f audit.Fact) (task.Task, error) {
	k, err := readTask(t, of, id)
	switch {
	case err != nil:
		return task.Task{}, err
	case k.State.Terminal():
		return task.Task{}, task.ErrTerminal
	case k.State == task.Cancelling:
		return k.Task, nil
	case k.State == task.Queued:
		err = t.end(k.n, k.Attempt, task.Cancelled, reason)
	default:
		_, err = t.exec(`UPDATE task SET state = 'cancelling', reason = ?, cancel_by = ?, updated_at = ? WHERE n = ? AND attempt = ? AND state IN ('leased', 'running')`,
			reason, t.lease+tm.CancelWithin.Microseconds(), t.wall, k.n, k.Attempt)
	}
	if err == nil {
		err = t.seal(of, f)
	}
	if err != nil {
		return task.Task{}, err
	}
	k, err = readTaskN(t, k.n)
	return k.Task, err
}

// end makes a task terminal; terminal ones are left alone.
func (t *tx) end(n int64, attempt int, state task.State, reason string) error {
	_, err := t.exec(`UPDATE task SET state = ?, reason = ?, lease_expires = 0, lease_span = 0, updated_at = ?, terminal_at = ?
		WHERE n = ? AND attempt = ? AND terminal_at = 0`, state, reason, t.wall, t.wall, n, attempt)
	return err
}

// queue makes a task wait again, from `next` on; its host and device are let go.
func (t *tx) queue(k held, next int64) error {
	_, err := t.exec(`UPDATE task SET state = 'queued', host = '', device = '', lease_expires = 0, lease_span = 0, acted = 0,
		next_run = ?, rank = ?, ready = ?, updated_at = ? WHERE n = ? AND attempt = ? AND terminal_at = 0`,
		next, rank(next, k.priority), next <= t.wall, t.wall, k.n, k.attempt)
	return err
}

// held is what the life of an attempt turns on.
type held struct {
	n          int64
	tenant     tenant.ID
	id         task.ID
	state      task.State
	reason     string
	attempt    int
	host       fleet.HostID
	device     string
	lease      int64
	cancelBy   int64
	acted      bool
	repeatable bool
	priority   int
	tries      int
	misses     int
	maxTries   int
	ackedAt    int64 // of the current attempt
}

const heldColumns = `SELECT t.n, t.tenant, t.id, t.state, t.reason, t.attempt, t.host, t.device, t.lease_expires, t.cancel_by, t.acted, t.repeatable, t.priority, t.tries, t.misses, t.max_attempts,
	coalesce(a.acked_at, 0) FROM task t LEFT JOIN attempt a ON a.task = t.n AND a.number = t.attempt `

func scanHeld(scan scan) (h held, err error) {
	err = scan(&h.n, &h.tenant, &h.id, &h.state, &h.reason, &h.attempt, &h.host, &h.device, &h.lease, &h.cancelBy, &h.acted, &h.repeatable, &h.priority, &h.tries, &h.misses, &h.maxTries, &h.ackedAt)
	return h, err
}

func (t *tx) readHeld(of tenant.ID, id task.ID) (h held, err error) {
	err = task.ErrNotFound
	if failed := t.each(heldColumns+`WHERE t.id = ? AND t.tenant = ?`, []any{id, of}, func(scan scan) error {
		h, err = scanHeld(scan)
		return err
	}); failed != nil {
		err = failed
	}
	return h, err
}

// refuse says why f does not hold the attempt; nil: it does.
func (h held) refuse(f task.Fence) error {
	switch {
	case f.Attempt < h.attempt || h.state.Terminal():
		return task.ErrStaleAttempt
	case f.Attempt != h.attempt || !h.state.Held() || f.Host != h.host:
		return task.ErrLeaseLost
	}
	return nil
}

// fenced reads the task of f, and refuses f unless it holds the attempt.
func (t *tx) fenced(f task.Fence) (held, error) {
	h, err := t.readHeld(f.Tenant, f.Task)
	if err == nil {
		err = h.refuse(f)
	}
	return h, err
}
