package sqlite

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"database/sql"
	"fmt"
	"time"

	"interlock/internal/audit"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// CreateSite implements site.Store.
func (s *Store) CreateSite(ctx context.Context, c site.Site, f audit.Fact) error {
	keys, err := packKeys(c.Keys)
	if err != nil {
		return err
	}
	return during("create a site", s.write(ctx, control, func(t *tx) error {
		if err := requireTenant(t, c.Tenant); err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO site (id, tenant, name, per_minute, burst, created_at, disabled_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			c.ID, c.Tenant, c.Name, c.PerMinute, c.Burst, micros(c.CreatedAt), micros(c.DisabledAt)); err != nil {
			return err
		}
		for _, k := range keys {
			if err := t.insertKey(c.ID, k); err != nil {
				return err
			}
		}
		return t.seal(c.Tenant, f)
	}))
}

// packedKey is a key with its public part as its row holds it.
type packedKey struct {
	site.Key
	der []byte
}

func packKey(k site.Key) (packedKey, error) {
	der, err := x509.MarshalPKIXPublicKey(k.Public)
	if err != nil {
		return packedKey{}, fmt.Errorf("write the public key of a site: %w", err)
	}
	return packedKey{k, der}, nil
}

func packKeys(keys []site.Key) (out []packedKey, err error) {
	for _, k := range keys {
		p, err := packKey(k)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (t *tx) insertKey(of site.ID, k packedKey) error {
	_, err := t.exec(`INSERT INTO site_key (site, kid, public, not_before, not_after, created_at, disabled_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		of, k.KID, k.der, micros(k.NotBefore), micros(k.NotAfter), micros(k.CreatedAt), micros(k.DisabledAt))
	return err
}

const siteColumns = `SELECT s.id, s.tenant, s.name, s.per_minute, s.burst, s.created_at, s.disabled_at,
	k.kid, k.public, k.not_before, k.not_after, k.created_at, k.disabled_at FROM `

// sites reads sites with their keys, a row a key, those of a site together.
func sites(q querier, query string, args ...any) (out []site.Site, err error) {
	err = q.each(siteColumns+query, args, func(scan scan) error {
		var c site.Site
		var k storedKey
		var created, disabled int64
		if err := scan(&c.ID, &c.Tenant, &c.Name, &c.PerMinute, &c.Burst, &created, &disabled,
			&k.kid, &k.public, &k.notBefore, &k.notAfter, &k.created, &k.disabled); err != nil {
			return err
		}
		if n := len(out); n == 0 || out[n-1].ID != c.ID {
			c.CreatedAt, c.DisabledAt = instant(created), instant(disabled)
			out = append(out, c)
		}
		if !k.kid.Valid {
			return nil
		}
		key, err := k.read()
		last := &out[len(out)-1]
		last.Keys = append(last.Keys, key)
		return err
	})
	return out, err
}

// storedKey is a key's row; its columns are NULL where the site has none.
type storedKey struct {
	kid                                    sql.NullString
	public                                 []byte
	notBefore, notAfter, created, disabled sql.NullInt64
}

func (k storedKey) read() (site.Key, error) {
	out := site.Key{KID: k.kid.String, NotBefore: instant(k.notBefore.Int64), NotAfter: instant(k.notAfter.Int64),
		CreatedAt: instant(k.created.Int64), DisabledAt: instant(k.disabled.Int64)}
	public, err := x509.ParsePKIXPublicKey(k.public)
	if err != nil {
		return out, fmt.Errorf("read the public key of a site: %w", err)
	}
	var ok bool
	if out.Public, ok = public.(*rsa.PublicKey); !ok {
		return out, fmt.Errorf("the public key of a site is a %T", public)
	}
	return out, nil
}

// oneSite is a site by a condition that holds for one at most.
func oneSite(q querier, where string, args ...any) (site.Site, error) {
	found, err := sites(q, `site s LEFT JOIN site_key k ON k.site = s.id WHERE `+where+` ORDER BY k.created_at, k.kid`, args...)
	if err == nil && len(found) == 0 {
		err = site.ErrNotFound
	}
	if err != nil {
		return site.Site{}, err
	}
	return found[0], nil
}

// siteOf is a site of one tenant.
func siteOf(q querier, of tenant.ID, id site.ID) (site.Site, error) {
	return oneSite(q, `s.id = ? AND s.tenant = ?`, id, of)
}

// Site implements site.Store. It is one statement, since every call of a site
// waits for it.
func (s *Store) Site(ctx context.Context, id site.ID) (c site.Site, err error) {
	err = s.glance(ctx, func(v view) (err error) {
		c, err = oneSite(v, `s.id = ?`, id)
		return err
	})
	return c, during("read a site", err)
}

// Sites implements site.Store.
func (s *Store) Sites(ctx context.Context, of tenant.ID, after site.ID, limit int) (out []site.Site, err error) {
	err = s.read(ctx, func(v view) (err error) {
		out, err = sites(v, `(SELECT id, tenant, name, per_minute, burst, created_at, disabled_at FROM site WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?) s
			LEFT JOIN site_key k ON k.site = s.id ORDER BY s.id, k.created_at, k.kid`, of, after, limit)
		return err
	})
	return out, during("list sites", err)
}

// ChangeSite implements site.Store.
func (s *Store) ChangeSite(ctx context.Context, of tenant.ID, id site.ID, c site.Change, f audit.Fact) (site.Site, error) {
	after, err := written(ctx, s, control, func(t *tx) (site.Site, error) {
		now, err := siteOf(t, of, id)
		if err != nil {
			return now, err
		}
		set(&now.Name, c.Name)
		set(&now.PerMinute, c.PerMinute)
		set(&now.Burst, c.Burst)
		set(&now.DisabledAt, c.DisabledAt)
		if _, err := t.exec(`UPDATE site SET name = ?, per_minute = ?, burst = ?, disabled_at = ? WHERE id = ?`,
			now.Name, now.PerMinute, now.Burst, micros(now.DisabledAt), id); err != nil {
			return now, err
		}
		return now, t.seal(of, f)
	})
	return after, during("change a site", err)
}

// AddKey implements site.Store.
func (s *Store) AddKey(ctx context.Context, of tenant.ID, id site.ID, k site.Key, f audit.Fact) error {
	packed, err := packKey(k)
	if err != nil {
		return err
	}
	return during("add the key of a site", s.write(ctx, control, func(t *tx) error {
		c, err := siteOf(t, of, id)
		if err != nil {
			return err
		}
		active := 0
		for _, has := range c.Keys {
			if has.KID == k.KID {
				return site.ErrKeyExists
			}
			if !has.Over(k.CreatedAt) {
				active++
			}
		}
		if active >= site.MaxActiveKeys {
			return site.ErrTooManyKeys
		}
		if err := t.forgetKeys(c, k.CreatedAt); err != nil {
			return err
		}
		if err := t.insertKey(id, packed); err != nil {
			return err
		}
		return t.seal(of, f)
	}))
}

// forgetKeys makes room for one more key of a site.
func (t *tx) forgetKeys(c site.Site, at time.Time) error {
	excess := len(c.Keys) + 1 - site.MaxKeys
	for _, k := range c.Keys { // oldest first
		if excess <= 0 {
			break
		}
		if !k.Over(at) {
			continue
		}
		if _, err := t.exec(`DELETE FROM site_key WHERE site = ? AND kid = ?`, c.ID, k.KID); err != nil {
			return err
		}
		excess--
	}
	return nil
}

// DisableKey implements site.Store. No fact is added for a key that is
// withdrawn already.
func (s *Store) DisableKey(ctx context.Context, of tenant.ID, id site.ID, kid string, at time.Time, f audit.Fact) error {
	return during("disable the key of a site", s.write(ctx, control, func(t *tx) error {
		var disabled int64
		if err := t.scan(`SELECT k.disabled_at FROM site s JOIN site_key k ON k.site = s.id WHERE s.id = ? AND s.tenant = ? AND k.kid = ?`,
			[]any{id, of, kid}, &disabled); err != nil || disabled > 0 {
			return missing(err, site.ErrKeyNotFound)
		}
		if _, err := t.exec(`UPDATE site_key SET disabled_at = ? WHERE site = ? AND kid = ?`, micros(at), id, kid); err != nil {
			return err
		}
		return t.seal(of, f)
	}))
}

// SpendToken implements site.Store.
func (s *Store) SpendToken(ctx context.Context, id site.ID, jti string, expires time.Time) (bool, error) {
	fresh, err := written(ctx, s, bulk, func(t *tx) (bool, error) {
		return t.changed(`INSERT INTO spent_token (site, jti, expires_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, id, jti, micros(expires))
	})
	return fresh, during("spend a token", err)
}

// ForgetTokens implements site.Store.
func (s *Store) ForgetTokens(ctx context.Context, at time.Time, limit int) (int, error) {
	return s.sweep(ctx, "forget spent tokens",
		`DELETE FROM spent_token WHERE (site, jti) IN (SELECT site, jti FROM spent_token WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, at, limit)
}
