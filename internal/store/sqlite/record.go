package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/store"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// standing is what a decide turns on.
type standing struct {
	n             int64
	state         task.State
	attempt       int
	host          fleet.HostID
	steps         sql.NullInt64
	system, tools sql.NullInt64
	step          sql.NullInt64 // of the key's row
	bodyHash      []byte
}

// stand reads where the fence stands and whether the key has a row.
func stand(q querier, f task.Fence, key string) (s standing, err error) {
	err = q.scan(`SELECT t.n, t.state, t.attempt, t.host, a.steps, a.system_blob, a.tools_blob, d.step, d.body_hash
		FROM task t LEFT JOIN attempt a ON a.task = t.n AND a.number = ?1 LEFT JOIN decision d ON d.task = t.n AND d.attempt = ?1 AND d.key = ?2
		WHERE t.id = ?3 AND t.tenant = ?4`, []any{f.Attempt, key, f.Task, f.Tenant},
		&s.n, &s.state, &s.attempt, &s.host, &s.steps, &s.system, &s.tools, &s.step, &s.bodyHash)
	return s, missing(err, task.ErrNotFound)
}

// refuse says why f must not decide; nil: it may.
func (s standing) refuse(f task.Fence) error {
	err := held{state: s.state, attempt: s.attempt, host: s.host}.refuse(f)
	if err == nil && s.state == task.Cancelling {
		return task.ErrCancelled
	}
	return err
}

// earlier returns the step of the key's row, or decision.ErrKeyReused.
func (s standing) earlier(body [32]byte) (step int, had bool, err error) {
	if !s.step.Valid {
		return 0, false, nil
	}
	stored, err := digest(s.bodyHash)
	if err != nil {
		return 0, false, err
	}
	if stored != body {
		return 0, false, decision.ErrKeyReused
	}
	return int(s.step.Int64), true, nil
}

// Standing implements decision.Store. It is one statement, since every decide
// waits for it; only a repeat reads more.
func (s *Store) Standing(ctx context.Context, f task.Fence, key string, body [32]byte) (decision.Standing, error) {
	var out decision.Standing
	err := s.glance(ctx, func(v view) error {
		at, err := standWithLimits(v, f, key, &out)
		if err != nil {
			return err
		}
		if err := at.refuse(f); err != nil {
			return err
		}
		out.Decisions = int(at.steps.Int64)
		step, had, err := at.earlier(body)
		if err != nil || !had {
			return err
		}
		found, err := decisions(v, `WHERE d.task = ? AND d.attempt = ? AND d.step = ?`, at.n, f.Attempt, step)
		if err != nil {
			return err
		}
		if len(found) == 0 { // pruned in between, so the task has ended
			return task.ErrStaleAttempt
		}
		out.Replay = &found[0].Row
		out.Replay.Tenant, out.Replay.Task = f.Tenant, f.Task
		return nil
	})
	return out, during("read where a decide stands", err)
}

// standWithLimits is stand with what limits the task and its tenant.
func standWithLimits(q querier, f task.Fence, key string, out *decision.Standing) (s standing, err error) {
	var stop struct {
		on          sql.NullBool
		reason, who sql.NullString
		at          sql.NullInt64
	}
	err = q.scan(`SELECT t.n, t.state, t.attempt, t.host, a.steps, d.step, d.body_hash, (SELECT coalesce(sum(tokens), 0) FROM attempt WHERE task = t.n),
			w.stopped, w.reason, w.who, w.at
		FROM task t LEFT JOIN attempt a ON a.task = t.n AND a.number = ?1 LEFT JOIN decision d ON d.task = t.n AND d.attempt = ?1 AND d.key = ?2
			LEFT JOIN stop_switch w ON w.tenant = t.tenant
		WHERE t.id = ?3 AND t.tenant = ?4`, []any{f.Attempt, key, f.Task, f.Tenant},
		&s.n, &s.state, &s.attempt, &s.host, &s.steps, &s.step, &s.bodyHash, &out.Tokens, &stop.on, &stop.reason, &stop.who, &stop.at)
	if stop.at.Valid {
		out.Stop = usage.Stop{On: stop.on.Bool, Reason: stop.reason.String, By: stop.who.String, At: instant(stop.at.Int64)}
	}
	return s, missing(err, task.ErrNotFound)
}

// Record implements decision.Store. For a key that has a row, e is not metered
// again: a Record whose answer was lost can be repeated.
func (s *Store) Record(ctx context.Context, r decision.Row, e usage.Entry) (int, error) {
	key := attemptKey{r.Task, r.Attempt}
	prompt := []byte(r.UserPrompt)
	c := recording{Row: r, entry: e, prompt: s.prompts.pack(key, prompt),
		system: shared{body: []byte(r.SystemPrompt)}, tools: shared{body: store.EncodeTools(r.Tools)}}
	c.system.hash, c.tools.hash = store.Digest(c.system.body), store.Digest(c.tools.body)
	a, err := written(ctx, s, bulk, func(t *tx) (recorded, error) { return t.record(c) })
	if err != nil {
		return 0, during("record a decision", err)
	}
	if a.isNew && c.prompt.base == alone {
		s.prompts.put(key, promptBase{step: a.step, text: prompt, packed: len(c.prompt.body)})
	}
	return a.step, a.refused
}

// recording is a decision with its bodies made ready outside the writer.
type recording struct {
	decision.Row
	entry         usage.Entry
	prompt        packedPrompt
	system, tools shared
}

// shared is a body that many decisions have in common.
type shared struct {
	hash [32]byte
	body []byte
}

// recorded answers Record. A refusal is an answer, not an error: an error would
// undo the metering.
type recorded struct {
	step    int
	isNew   bool
	refused error
}

func (t *tx) record(c recording) (recorded, error) {
	f := task.Fence{Tenant: c.Tenant, Host: c.Host, Task: c.Task, Attempt: c.Attempt}
	at, err := stand(t, f, c.Key)
	if errors.Is(err, task.ErrNotFound) {
		return recorded{refused: err}, t.meter(c.entry)
	}
	if err != nil {
		return recorded{}, err
	}
	step, had, err := at.earlier(c.BodyHash)
	if had {
		return recorded{step: step}, nil
	}
	if err == nil {
		err = at.refuse(f)
	}
	if err != nil {
		return recorded{refused: err}, errors.Join(t.meter(c.entry), t.spend(at.n, c.Attempt, c.entry.Usage))
	}
	step = int(at.steps.Int64)
	system, err := t.share(at.n, c.Tenant, c.system, at.system.Int64)
	if err != nil {
		return recorded{}, err
	}
	tools, err := t.share(at.n, c.Tenant, c.tools, at.tools.Int64)
	if err != nil {
		return recorded{}, err
	}
	if err := t.insertDecision(at.n, step, c, system, tools); err != nil {
		return recorded{}, err
	}
	bytes := storedSize(c.Row, c.prompt)
	if _, err := t.exec(`UPDATE attempt SET steps = steps + 1, tokens = tokens + ?, log_bytes = log_bytes + ?, system_blob = ?, tools_blob = ? WHERE task = ? AND number = ? AND steps = ?`,
		tokens(c.entry.Usage), bytes, system, tools, at.n, c.Attempt, step); err != nil {
		return recorded{}, err
	}
	t.grown.rows++
	t.grown.bytes += bytes
	return recorded{step: step, isNew: true}, t.meter(c.entry)
}

func (t *tx) insertDecision(n int64, step int, c recording, system, tools int64) error {
	var shot [4]any
	if e := c.Screenshot; e != nil {
		shot = [4]any{e.SHA256[:], e.Width, e.Height, e.Bytes}
	}
	u := c.Usage
	_, err := t.exec(`INSERT INTO decision (task, attempt, step, key, body_hash, tool, arguments, shot_hash, shot_width, shot_height, shot_bytes,
		input, cached_input, cache_write, output, reasoning, provider, model, provider_request, request, at, latency, system_blob, tools_blob, base, prompt)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		n, c.Attempt, step, c.Key, c.BodyHash[:], c.Tool, []byte(c.Arguments), shot[0], shot[1], shot[2], shot[3],
		count(u.Input), count(u.CachedInput), count(u.CacheWrite), count(u.Output), count(u.Reasoning),
		c.Provider, c.Model, c.ProviderRequestID, c.RequestID, micros(c.At), c.Latency.Microseconds(), system, tools, c.prompt.base, c.prompt.body)
	return err
}

// share stores a body unless the tenant has it, notes that the task needs it
// and returns its id. Latest is the id that the attempt used last.
func (t *tx) share(n int64, of tenant.ID, b shared, latest int64) (int64, error) {
	k := blobKey{of, b.hash}
	id, known := t.blobs[k]
	if !known {
		var err error
		if id, err = t.findBlob(k, b.body); err != nil {
			return 0, err
		}
		if len(t.blobs) >= maxKnownBlobs {
			clear(t.blobs)
		}
		t.blobs[k] = id
	}
	if id == latest {
		return id, nil
	}
	_, err := t.exec(`INSERT INTO blob_use (task, blob) VALUES (?, ?) ON CONFLICT DO NOTHING`, n, id)
	return id, err
}

// maxKnownBlobs bounds the remembered ids.
const maxKnownBlobs = 4096

func (t *tx) findBlob(k blobKey, body []byte) (id int64, err error) {
	err = t.scan(`SELECT id FROM blob WHERE tenant = ? AND hash = ?`, []any{k.tenant, k.hash[:]}, &id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	packed := store.Pack(body)
	if err := t.take(`INSERT INTO blob (tenant, hash, body) VALUES (?, ?, ?) RETURNING id`, []any{k.tenant, k.hash[:], packed}, &id); err != nil {
		return 0, err
	}
	t.grown.bytes += int64(len(packed))
	return id, nil
}

// tokens is what a call adds to its task's total: what was reported.
func tokens(u llm.Usage) int64 {
	in, _ := u.Input.Get()
	out, _ := u.Output.Get()
	return in + out
}

// spend adds the tokens of a call without a decision to the attempt's.
func (t *tx) spend(n int64, attempt int, u llm.Usage) error {
	_, err := t.exec(`UPDATE attempt SET tokens = tokens + ? WHERE task = ? AND number = ?`, tokens(u), n, attempt)
	return err
}

// MeterFailure implements decision.Store.
func (s *Store) MeterFailure(ctx context.Context, e usage.Entry) error {
	return during("meter a failed call", s.write(ctx, bulk, func(t *tx) error {
		n, err := taskNumber(t, e.Tenant, task.ID(e.Task))
		if err == nil {
			err = t.spend(n, e.Attempt, e.Usage)
		} else if errors.Is(err, task.ErrNotFound) {
			err = nil
		}
		if err != nil {
			return err
		}
		return t.meter(e)
	}))
}
