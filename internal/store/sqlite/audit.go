package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"

	"interlock/internal/audit"
	"interlock/internal/tenant"
)

// seal adds f to the chain of its tenant, or of the given one where f names none. The chain's end
// is read from the table, so an operation that is undone leaves no trace of it.
func (t *tx) seal(of tenant.ID, f audit.Fact) error {
	f.Tenant = cmp.Or(f.Tenant, of)
	f.Detail = valid(f.Detail)
	var seq int64
	var last []byte
	var prev [32]byte
	err := t.scan(`SELECT seq, hash FROM audit WHERE tenant = ? ORDER BY seq DESC LIMIT 1`, []any{f.Tenant}, &seq, &last)
	if err == nil {
		prev, err = digest(last)
	} else if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return err
	}
	e := audit.Seal(seq, prev, f)
	detail, err := text(e.Fact.Detail)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO audit (tenant, seq, at, actor, action, subject, detail, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Fact.Tenant, e.Seq, e.Fact.At.UnixMicro(), e.Fact.Actor, e.Fact.Action, e.Fact.Subject, detail, e.Prev[:], e.Hash[:])
	return err
}

// valid makes the detail text that a column can hold, before it is hashed.
func valid(detail map[string]string) map[string]string {
	if detail == nil {
		return nil
	}
	out := make(map[string]string, len(detail))
	for k, v := range detail {
		out[strings.ToValidUTF8(k, "\uFFFD")] = strings.ToValidUTF8(v, "\uFFFD")
	}
	return out
}

// Facts implements audit.Log.
func (s *Store) Facts(ctx context.Context, t tenant.ID, after int64, limit int) ([]audit.Entry, error) {
	var out []audit.Entry
	err := s.read(ctx, func(v view) error {
		return v.each(`SELECT seq, at, actor, action, subject, detail, prev, hash FROM audit
			WHERE tenant = ? AND seq > ? ORDER BY seq LIMIT ?`, []any{t, after, limit}, func(scan scan) error {
			e := audit.Entry{Fact: audit.Fact{Tenant: t}}
			var at int64
			var detail string
			var prev, hash []byte
			if err := scan(&e.Seq, &at, &e.Fact.Actor, &e.Fact.Action, &e.Fact.Subject, &detail, &prev, &hash); err != nil {
				return err
			}
			// A row that was tampered with must read as a broken link, not as
			// a failure to read.
			e.Fact.At = instant(at)
			copy(e.Prev[:], prev)
			copy(e.Hash[:], hash)
			e.Fact.Detail, _ = parseMap(detail)
			out = append(out, e)
			return nil
		})
	})
	return out, during("read the audit chain", err)
}
