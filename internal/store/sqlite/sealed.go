package sqlite

import (
	"context"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/tenant"
)

// PutCredential implements credential.Store.
func (s *Store) PutCredential(ctx context.Context, c credential.Sealed, f audit.Fact) error {
	return during("set a credential", s.write(ctx, control, func(t *tx) error {
		if err := requireTenant(t, c.Tenant); err != nil {
			return err
		}
		ok, err := t.putCredential(c)
		if err != nil {
			return err
		}
		if !ok {
			return credential.ErrMoved
		}
		return t.seal(c.Tenant, f)
	}))
}

// putCredential reports false if another revision is the newest one.
func (t *tx) putCredential(c credential.Sealed) (bool, error) {
	if c.Revision == 1 {
		return t.changed(`INSERT INTO app_credential (tenant, app, revision, key_id, nonce, ciphertext, set_by, set_at) VALUES (?, ?, 1, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, c.Tenant, c.App, c.KeyID, c.Nonce, c.Ciphertext, c.SetBy, micros(c.SetAt))
	}
	return t.changed(`UPDATE app_credential SET revision = revision + 1, key_id = ?, nonce = ?, ciphertext = ?, set_by = ?, set_at = ?
		WHERE tenant = ? AND app = ? AND revision = ?`, c.KeyID, c.Nonce, c.Ciphertext, c.SetBy, micros(c.SetAt), c.Tenant, c.App, c.Revision-1)
}

const sealedColumns = `SELECT tenant, app, revision, key_id, nonce, ciphertext, set_by, set_at FROM app_credential `

func scanSealed(scan scan) (c credential.Sealed, err error) {
	var set int64
	err = scan(&c.Tenant, &c.App, &c.Revision, &c.KeyID, &c.Nonce, &c.Ciphertext, &c.SetBy, &set)
	c.SetAt = instant(set)
	return c, err
}

// SealedCredential implements credential.Store.
func (s *Store) SealedCredential(ctx context.Context, of tenant.ID, app catalog.AppID) (credential.Sealed, error) {
	var c credential.Sealed
	err := s.glance(ctx, func(v view) (err error) {
		c, err = scanSealed(func(dest ...any) error {
			return v.scan(sealedColumns+`WHERE tenant = ? AND app = ? AND ciphertext IS NOT NULL`, []any{of, app}, dest...)
		})
		return missing(err, credential.ErrNotFound)
	})
	return c, during("read a credential", err)
}

// LatestRevision implements credential.Store.
func (s *Store) LatestRevision(ctx context.Context, of tenant.ID, app catalog.AppID) (revision int64, err error) {
	err = s.glance(ctx, func(v view) error {
		return v.scan(`SELECT coalesce(max(revision), 0) FROM app_credential WHERE tenant = ? AND app = ?`, []any{of, app}, &revision)
	})
	return revision, during("read the revision of a credential", err)
}

// SealedCredentials implements credential.Store.
func (s *Store) SealedCredentials(ctx context.Context, afterTenant tenant.ID, afterApp catalog.AppID, limit int) ([]credential.Sealed, error) {
	var out []credential.Sealed
	err := s.read(ctx, func(v view) error {
		return v.each(sealedColumns+`WHERE (tenant, app) > (?, ?) AND ciphertext IS NOT NULL ORDER BY tenant, app LIMIT ?`,
			[]any{afterTenant, afterApp, limit}, func(scan scan) error {
				c, err := scanSealed(scan)
				out = append(out, c)
				return err
			})
	})
	return out, during("list credentials", err)
}

// ResealCredential implements credential.Store.
func (s *Store) ResealCredential(ctx context.Context, c credential.Sealed, keyBefore string, f audit.Fact) error {
	return during("reseal a credential", s.write(ctx, control, func(t *tx) error {
		ok, err := t.changed(`UPDATE app_credential SET key_id = ?, nonce = ?, ciphertext = ?
			WHERE tenant = ? AND app = ? AND revision = ? AND key_id = ? AND ciphertext IS NOT NULL`,
			c.KeyID, c.Nonce, c.Ciphertext, c.Tenant, c.App, c.Revision, keyBefore)
		if err != nil {
			return err
		}
		if !ok {
			return credential.ErrMoved
		}
		return t.seal(c.Tenant, f)
	}))
}

// DeleteCredential implements credential.Store. The revision stays, so that
// what was sealed for it opens nowhere again.
func (s *Store) DeleteCredential(ctx context.Context, of tenant.ID, app catalog.AppID, f audit.Fact) error {
	return during("delete a credential", s.write(ctx, control, func(t *tx) error {
		ok, err := t.changed(`UPDATE app_credential SET nonce = NULL, ciphertext = NULL WHERE tenant = ? AND app = ? AND ciphertext IS NOT NULL`, of, app)
		if err != nil {
			return err
		}
		if !ok {
			return credential.ErrNotFound
		}
		return t.seal(of, f)
	}))
}
