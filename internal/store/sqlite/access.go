package sqlite

import (
	"context"
	"time"

	"interlock/internal/access"
	"interlock/internal/audit"
	"interlock/internal/tenant"
)

// CreateFirst implements access.Store.
func (s *Store) CreateFirst(ctx context.Context, a access.Token, f audit.Fact) (bool, error) {
	first, err := written(ctx, s, control, func(t *tx) (bool, error) {
		var have int
		if err := t.scan(`SELECT count(*) FROM api_token WHERE tenant = ?`, []any{a.Tenant}, &have); err != nil || have > 0 {
			return false, err
		}
		return true, t.createToken(a, f)
	})
	return first, during("create the first API token", err)
}

// CreateToken implements access.Store.
func (s *Store) CreateToken(ctx context.Context, a access.Token, f audit.Fact) error {
	return during("create an API token", s.write(ctx, control, func(t *tx) error { return t.createToken(a, f) }))
}

func (t *tx) createToken(a access.Token, f audit.Fact) error {
	if _, err := t.exec(`INSERT INTO api_token (id, tenant, name, hash, created_at) VALUES (?, ?, ?, ?, ?)`,
		a.ID, a.Tenant, a.Name, a.Hash[:], micros(a.CreatedAt)); err != nil {
		return err
	}
	return t.seal(a.Tenant, f)
}

func scanToken(scan scan) (a access.Token, err error) {
	var hash []byte
	var created, revoked int64
	if err = scan(&a.ID, &a.Tenant, &a.Name, &hash, &created, &revoked); err != nil {
		return a, err
	}
	a.CreatedAt, a.RevokedAt = instant(created), instant(revoked)
	a.Hash, err = digest(hash)
	return a, err
}

// Token implements access.Store.
func (s *Store) Token(ctx context.Context, id string) (a access.Token, err error) {
	found := false
	err = s.read(ctx, func(v view) error {
		return v.each(`SELECT id, tenant, name, hash, created_at, revoked_at FROM api_token WHERE id = ?`, []any{id}, func(scan scan) (err error) {
			found = true
			a, err = scanToken(scan)
			return err
		})
	})
	if err == nil && !found {
		err = access.ErrNotFound
	}
	return a, during("read an API token", err)
}

// Tokens implements access.Store, newest first.
func (s *Store) Tokens(ctx context.Context, of tenant.ID) ([]access.Token, error) {
	var out []access.Token
	err := s.read(ctx, func(v view) error {
		return v.each(`SELECT id, tenant, name, hash, created_at, revoked_at FROM api_token WHERE tenant = ? ORDER BY created_at DESC, id DESC`,
			[]any{of}, func(scan scan) error {
				a, err := scanToken(scan)
				out = append(out, a)
				return err
			})
	})
	return out, during("list API tokens", err)
}

// RevokeToken implements access.Store.
func (s *Store) RevokeToken(ctx context.Context, of tenant.ID, id string, at time.Time, f audit.Fact) error {
	return during("revoke an API token", s.write(ctx, control, func(t *tx) error {
		var live, others int
		if err := t.scan(`SELECT count(CASE id WHEN ?1 THEN 1 END), count(CASE id WHEN ?1 THEN NULL ELSE 1 END) FROM api_token WHERE tenant = ?2 AND revoked_at = 0`,
			[]any{id, of}, &live, &others); err != nil {
			return err
		}
		switch {
		case live == 0:
			return access.ErrNotFound
		case others == 0 && of == tenant.Default:
			return access.ErrLast
		}
		if _, err := t.exec(`UPDATE api_token SET revoked_at = ? WHERE id = ? AND tenant = ? AND revoked_at = 0`, micros(at), id, of); err != nil {
			return err
		}
		return t.seal(of, f)
	}))
}
