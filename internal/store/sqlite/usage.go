package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// day is the rollup's day of a time.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// meter adds one call to its rollup.
func (t *tx) meter(e usage.Entry) error {
	sum := func(c llm.Count) (int64, int64) {
		if n, known := c.Get(); known {
			return n, 0
		}
		return 0, 1
	}
	in, inU := sum(e.Usage.Input)
	cached, cachedU := sum(e.Usage.CachedInput)
	write, writeU := sum(e.Usage.CacheWrite)
	out, outU := sum(e.Usage.Output)
	reasoning, reasoningU := sum(e.Usage.Reasoning)
	_, err := t.exec(`INSERT INTO usage (tenant, day, host, task, provider, model, calls, failed, input, input_unknown, cached_input, cached_input_unknown,
		cache_write, cache_write_unknown, output, output_unknown, reasoning, reasoning_unknown) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET calls = calls + 1, failed = failed + excluded.failed,
		input = input + excluded.input, input_unknown = input_unknown + excluded.input_unknown,
		cached_input = cached_input + excluded.cached_input, cached_input_unknown = cached_input_unknown + excluded.cached_input_unknown,
		cache_write = cache_write + excluded.cache_write, cache_write_unknown = cache_write_unknown + excluded.cache_write_unknown,
		output = output + excluded.output, output_unknown = output_unknown + excluded.output_unknown,
		reasoning = reasoning + excluded.reasoning, reasoning_unknown = reasoning_unknown + excluded.reasoning_unknown`,
		e.Tenant, day(e.At), e.Host, e.Task, e.Provider, e.Model, e.Reason != "",
		in, inU, cached, cachedU, write, writeU, out, outU, reasoning, reasoningU)
	return err
}

// groupColumns are what each group adds to the query, in the order of a row.
var groupColumns = []struct {
	group   usage.Group
	columns []string
}{
	{usage.ByDay, []string{"day"}},
	{usage.ByHost, []string{"host"}},
	{usage.ByTask, []string{"task"}},
	{usage.ByModel, []string{"provider", "model"}},
}

// Usage implements usage.Store, ordered by the grouped columns, the latest day
// first.
func (s *Store) Usage(ctx context.Context, q usage.Query) ([]usage.Rollup, error) {
	query, args := rollups(q)
	var out []usage.Rollup
	err := s.read(ctx, func(v view) error {
		return v.each(query, args, func(scan scan) error {
			var r usage.Rollup
			err := scan(&r.Day, &r.Host, &r.Task, &r.Provider, &r.Model, &r.Calls, &r.Failed, &r.Input.Total, &r.Input.Unknown,
				&r.CachedInput.Total, &r.CachedInput.Unknown, &r.CacheWrite.Total, &r.CacheWrite.Unknown,
				&r.Output.Total, &r.Output.Unknown, &r.Reasoning.Total, &r.Reasoning.Unknown)
			out = append(out, r)
			return err
		})
	})
	return out, during("read usage", err)
}

// rollups builds the query out of fixed pieces.
func rollups(q usage.Query) (string, []any) {
	var selected, grouped []string
	for _, g := range groupColumns {
		for _, c := range g.columns {
			if slices.Contains(q.Groups, g.group) {
				selected, grouped = append(selected, c), append(grouped, c)
			} else {
				selected = append(selected, "''")
			}
		}
	}
	query := `SELECT ` + strings.Join(selected, ", ") + `, sum(calls), sum(failed), sum(input), sum(input_unknown), sum(cached_input), sum(cached_input_unknown),
		sum(cache_write), sum(cache_write_unknown), sum(output), sum(output_unknown), sum(reasoning), sum(reasoning_unknown) FROM usage WHERE tenant = ?`
	args := []any{q.Tenant}
	where := func(condition string, arg any) {
		query += ` AND ` + condition
		args = append(args, arg)
	}
	if !q.From.IsZero() {
		where(`day >= ?`, day(q.From))
	}
	if !q.To.IsZero() {
		where(`day < ?`, day(q.To))
	}
	if q.Host != "" {
		where(`host = ?`, q.Host)
	}
	if q.Task != "" {
		where(`task = ?`, q.Task)
	}
	if len(grouped) > 0 {
		query += ` GROUP BY ` + strings.Join(grouped, ", ") + ` ORDER BY ` + strings.ReplaceAll(strings.Join(grouped, ", "), "day", "day DESC")
	} else {
		query += ` HAVING count(*) > 0`
	}
	if q.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, q.Limit)
	}
	return query, args
}

var errNoPrice = fault.New(fault.NotFound, "price_not_found", "there is no price for that provider and model; list them with: interlock usage price list")

// Prices implements usage.Store, by provider and model.
func (s *Store) Prices(ctx context.Context, of tenant.ID) ([]usage.Price, error) {
	var out []usage.Price
	err := s.read(ctx, func(v view) error {
		return v.each(`SELECT provider, model, currency, input, cached_input, cache_write, output FROM price WHERE tenant = ? ORDER BY provider, model`,
			[]any{of}, func(scan scan) error {
				var p usage.Price
				err := scan(&p.Provider, &p.Model, &p.Currency, &p.Input, &p.CachedInput, &p.CacheWrite, &p.Output)
				out = append(out, p)
				return err
			})
	})
	return out, during("list prices", err)
}

// SetPrice implements usage.Store.
func (s *Store) SetPrice(ctx context.Context, of tenant.ID, p usage.Price, f audit.Fact) error {
	return during("set a price", s.write(ctx, bulk, func(t *tx) error {
		if _, err := t.exec(`INSERT INTO price (tenant, provider, model, currency, input, cached_input, cache_write, output) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET currency = excluded.currency, input = excluded.input, cached_input = excluded.cached_input,
			cache_write = excluded.cache_write, output = excluded.output`,
			of, p.Provider, p.Model, p.Currency, p.Input, p.CachedInput, p.CacheWrite, p.Output); err != nil {
			return err
		}
		return t.seal(of, f)
	}))
}

// DeletePrice implements usage.Store.
func (s *Store) DeletePrice(ctx context.Context, of tenant.ID, provider, model string, f audit.Fact) error {
	return during("delete a price", s.write(ctx, bulk, func(t *tx) error {
		ok, err := t.changed(`DELETE FROM price WHERE tenant = ? AND provider = ? AND model = ?`, of, provider, model)
		if err != nil {
			return err
		}
		if !ok {
			return errNoPrice
		}
		return t.seal(of, f)
	}))
}

// stopped reads the switch; it is off where nobody set it.
func stopped(q querier, of tenant.ID) (st usage.Stop, err error) {
	var at int64
	err = q.scan(`SELECT stopped, reason, who, at FROM stop_switch WHERE tenant = ?`, []any{of}, &st.On, &st.Reason, &st.By, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return usage.Stop{}, nil
	}
	st.At = instant(at)
	return st, err
}

// Stopped implements usage.Store.
func (s *Store) Stopped(ctx context.Context, of tenant.ID) (st usage.Stop, err error) {
	err = s.read(ctx, func(v view) (err error) {
		st, err = stopped(v, of)
		return err
	})
	return st, during("read the stop switch", err)
}

// SetStop implements usage.Store.
func (s *Store) SetStop(ctx context.Context, of tenant.ID, st usage.Stop, f audit.Fact) error {
	return during("set the stop switch", s.write(ctx, control, func(t *tx) error {
		if _, err := t.exec(`INSERT INTO stop_switch (tenant, stopped, reason, who, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET stopped = excluded.stopped, reason = excluded.reason, who = excluded.who, at = excluded.at`,
			of, st.On, st.Reason, st.By, micros(st.At)); err != nil {
			return err
		}
		return t.seal(of, f)
	}))
}
