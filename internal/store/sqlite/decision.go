package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/store"
	"interlock/internal/tenant"
)

const decisionColumns = `SELECT d.attempt, d.step, a.host, d.key, d.body_hash, d.tool, d.arguments, d.shot_hash, d.shot_width, d.shot_height, d.shot_bytes,
	d.input, d.cached_input, d.cache_write, d.output, d.reasoning, d.provider, d.model, d.provider_request, d.request, d.at, d.latency, d.system_blob, d.tools_blob, d.base
	FROM decision d JOIN attempt a ON a.task = d.task AND a.number = d.attempt `

// decisionRow is a decision with where its bodies are.
type decisionRow struct {
	decision.Row
	system, tools int64
	base          int
}

func scanDecision(scan scan) (r decisionRow, err error) {
	var hash, shot, arguments []byte
	var width, height, size, in, cached, write, out, reasoning sql.NullInt64
	var at, latency int64
	if err = scan(&r.Attempt, &r.StepIndex, &r.Host, &r.Key, &hash, &r.Tool, &arguments, &shot, &width, &height, &size,
		&in, &cached, &write, &out, &reasoning, &r.Provider, &r.Model, &r.ProviderRequestID, &r.RequestID, &at, &latency, &r.system, &r.tools, &r.base); err != nil {
		return r, err
	}
	r.Arguments, r.At, r.Latency = arguments, instant(at), span(latency)
	r.Usage = llm.Usage{Input: counted(in), CachedInput: counted(cached), CacheWrite: counted(write), Output: counted(out), Reasoning: counted(reasoning)}
	if shot != nil {
		r.Screenshot = &llm.Evidence{Width: int(width.Int64), Height: int(height.Int64), Bytes: int(size.Int64)}
		if r.Screenshot.SHA256, err = digest(shot); err != nil {
			return r, err
		}
	}
	r.BodyHash, err = digest(hash)
	return r, err
}

// Decisions implements decision.Store.
func (s *Store) Decisions(ctx context.Context, q decision.Query) ([]decision.Row, error) {
	var out []decision.Row
	err := s.snapshot(ctx, func(v view) error {
		n, err := taskNumber(v, q.Tenant, q.Task)
		if err != nil {
			return err
		}
		found, err := decisions(v, `WHERE d.task = ? AND (d.attempt = ? OR ? = 0) AND (d.attempt, d.step) > (?, ?) ORDER BY d.attempt, d.step LIMIT ?`,
			n, q.Attempt, q.Attempt, q.AfterAttempt, q.AfterStep, q.Limit)
		if err != nil {
			return err
		}
		b := bodies{view: v, task: n}
		for _, r := range found {
			r.Tenant, r.Task = q.Tenant, q.Task
			if q.Bodies {
				if err := b.fill(&r); err != nil {
					return err
				}
			}
			out = append(out, r.Row)
		}
		return nil
	})
	return out, during("list decisions", err)
}

// Decision implements decision.Store.
func (s *Store) Decision(ctx context.Context, of tenant.ID, id task.ID, attempt, step int) (decision.Row, error) {
	var out decision.Row
	err := s.snapshot(ctx, func(v view) error {
		n, err := taskNumber(v, of, id)
		if errors.Is(err, task.ErrNotFound) {
			return decision.ErrNotFound
		}
		if err != nil {
			return err
		}
		found, err := decisions(v, `WHERE d.task = ? AND d.attempt = ? AND d.step = ?`, n, attempt, step)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return decision.ErrNotFound
		}
		r := found[0]
		r.Tenant, r.Task = of, id
		b := bodies{view: v, task: n}
		err = b.fill(&r)
		out = r.Row
		return err
	})
	return out, during("read a decision", err)
}

func decisions(v view, where string, args ...any) ([]decisionRow, error) {
	var out []decisionRow
	err := v.each(decisionColumns+where, args, func(scan scan) error {
		r, err := scanDecision(scan)
		out = append(out, r)
		return err
	})
	return out, err
}

// bodies reads the prompts and tools of rows of one task, each stored body
// once.
type bodies struct {
	view
	task  int64
	blobs map[int64][]byte
	bases map[[2]int][]byte // by attempt and step
}

func (b *bodies) fill(r *decisionRow) error {
	system, err := b.blob(r.system)
	if err != nil {
		return err
	}
	tools, err := b.blob(r.tools)
	if err != nil {
		return err
	}
	prompt, err := b.prompt(r.Attempt, r.StepIndex)
	if err != nil {
		return err
	}
	r.SystemPrompt, r.UserPrompt = string(system), string(prompt)
	r.Tools, err = store.DecodeTools(tools)
	return err
}

func (b *bodies) blob(id int64) ([]byte, error) {
	if body, ok := b.blobs[id]; ok {
		return body, nil
	}
	var packed []byte
	if err := b.scan(`SELECT body FROM blob WHERE id = ?`, []any{id}, &packed); err != nil {
		return nil, fmt.Errorf("read a shared body: %w", err)
	}
	body, err := store.Unpack(packed)
	if err == nil {
		if b.blobs == nil {
			b.blobs = map[int64][]byte{}
		}
		b.blobs[id] = body
	}
	return body, err
}

// prompt reads a prompt and, if need be, the one that it was packed against.
func (b *bodies) prompt(attempt, step int) ([]byte, error) {
	if text, ok := b.bases[[2]int{attempt, step}]; ok {
		return text, nil
	}
	base, packed, err := b.packed(attempt, step)
	if err != nil {
		return nil, err
	}
	if base == alone {
		text, err := store.Unpack(packed)
		if err == nil {
			b.bases = map[[2]int][]byte{{attempt, step}: text} // rows come in order: one is enough
		}
		return text, err
	}
	if base >= step {
		return nil, fmt.Errorf("the prompt of step %d was packed against that of step %d", step, base)
	}
	against, err := b.prompt(attempt, base)
	if err != nil {
		return nil, err
	}
	return store.UnpackAgainst(against, packed)
}

func (b *bodies) packed(attempt, step int) (base int, body []byte, err error) {
	err = b.scan(`SELECT base, prompt FROM decision WHERE task = ? AND attempt = ? AND step = ?`, []any{b.task, attempt, step}, &base, &body)
	if err != nil {
		return 0, nil, fmt.Errorf("read a prompt: %w", err)
	}
	return base, body, nil
}

// Size implements decision.Store.
func (s *Store) Size(ctx context.Context) (decision.Size, error) {
	var z decision.Size
	err := s.read(ctx, func(v view) error {
		return v.scan(`SELECT rows, bytes FROM log_size`, nil, &z.Rows, &z.Bytes)
	})
	return z, during("read the size of the log", err)
}

// storedSize is what a row counts in the log's size.
func storedSize(r decision.Row, p packedPrompt) int64 {
	const fixed = 160 // numbers and hashes
	n := fixed + len(p.body) + len(r.Key) + len(r.Tool) + len(r.Arguments) + len(r.Provider) + len(r.Model) + len(r.ProviderRequestID) + len(r.RequestID)
	return int64(n)
}
