package sqlite

import (
	"context"
	"time"

	"interlock/internal/cloud/fleet"
)

func (t *tx) insertCredential(c fleet.Credential) error {
	_, err := t.exec(`INSERT INTO host_credential (id, host, hash, created_at, expires_at, first_used, retires_at, successor, rotation_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.Host, c.Hash[:], micros(c.CreatedAt), micros(c.ExpiresAt), micros(c.FirstUsed), micros(c.RetiresAt), c.Successor, c.RotationKey)
	return err
}

func readCredential(q querier, id string) (c fleet.Credential, err error) {
	var hash []byte
	var created, expires, used, retires int64
	err = q.scan(`SELECT id, host, hash, created_at, expires_at, first_used, retires_at, successor, rotation_key FROM host_credential WHERE id = ?`,
		[]any{id}, &c.ID, &c.Host, &hash, &created, &expires, &used, &retires, &c.Successor, &c.RotationKey)
	if err != nil {
		return c, missing(err, fleet.ErrCredential)
	}
	c.CreatedAt, c.ExpiresAt, c.FirstUsed, c.RetiresAt = instant(created), instant(expires), instant(used), instant(retires)
	c.Hash, err = digest(hash)
	return c, err
}

// Credential implements fleet.Store.
func (s *Store) Credential(ctx context.Context, id string) (c fleet.Credential, h fleet.Host, err error) {
	err = s.snapshot(ctx, func(v view) (err error) {
		if c, err = readCredential(v, id); err != nil {
			return err
		}
		h, err = readHost(v, c.Host)
		return err
	})
	return c, h, during("read a host credential", err)
}

// MarkUsed implements fleet.Store. It returns fleet.ErrCredential if there is
// no such credential.
func (s *Store) MarkUsed(ctx context.Context, id string, at, retireOld time.Time) error {
	return during("note the use of a credential", s.write(ctx, control, func(t *tx) error {
		if _, err := readCredential(t, id); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE host_credential SET first_used = ? WHERE id = ? AND first_used = 0`, micros(at), id); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE host_credential SET retires_at = ? WHERE successor = ? AND (retires_at = 0 OR retires_at > ?)`,
			micros(retireOld), id, micros(retireOld))
		return err
	}))
}

// Rotate implements fleet.Store.
func (s *Store) Rotate(ctx context.Context, r fleet.Rotation) error {
	return during("rotate a host credential", s.write(ctx, control, func(t *tx) error { return t.rotate(r) }))
}

func (t *tx) rotate(r fleet.Rotation) error {
	old, err := readCredential(t, r.Old)
	if err != nil {
		return err
	}
	if old.Host != r.Host {
		return fleet.ErrCredential
	}
	if old.Successor != "" {
		var used int64
		if err := t.scan(`SELECT coalesce(max(first_used), 0) FROM host_credential WHERE id = ?`, []any{old.Successor}, &used); err != nil {
			return err
		}
		if used > 0 {
			return fleet.ErrSuperseded
		}
		if _, err := t.exec(`DELETE FROM host_credential WHERE id = ? AND first_used = 0`, old.Successor); err != nil {
			return err
		}
	}
	c := r.New
	c.Host = r.Host
	if err := t.insertCredential(c); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE host_credential SET successor = ?, retires_at = ? WHERE id = ?`, c.ID, micros(r.RetireAt), r.Old)
	return err
}

// DeleteCredentials implements fleet.Store.
func (s *Store) DeleteCredentials(ctx context.Context, before time.Time) (int, error) {
	n, err := written(ctx, s, bulk, func(t *tx) (int, error) {
		n, err := t.exec(`DELETE FROM host_credential WHERE (retires_at > 0 AND retires_at < ?) OR (expires_at > 0 AND expires_at < ?)`,
			micros(before), micros(before))
		return int(n), err
	})
	return n, during("delete old credentials", err)
}
