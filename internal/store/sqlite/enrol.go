package sqlite

import (
	"context"
	"maps"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// CreateEnrolToken implements fleet.Store.
func (s *Store) CreateEnrolToken(ctx context.Context, e fleet.EnrolToken, f audit.Fact) error {
	return during("create an enrolment token", s.write(ctx, control, func(t *tx) error {
		labels, err := text(e.Labels)
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO enrol_token (id, tenant, hash, host_name, labels, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			e.ID, e.Tenant, e.Hash[:], e.HostName, labels, micros(e.CreatedAt), micros(e.ExpiresAt)); err != nil {
			return err
		}
		return t.seal(e.Tenant, f)
	}))
}

const enrolTokenColumns = `SELECT id, tenant, hash, host_name, labels, created_at, expires_at, used_at, used_by, used_key, revoked_at FROM enrol_token `

// enrolTokenRow is an enrolment token with the key that used it.
type enrolTokenRow struct {
	fleet.EnrolToken
	usedKey string
}

func scanEnrolToken(scan scan) (r enrolTokenRow, err error) {
	var hash []byte
	var labels string
	var created, expires, used, revoked int64
	if err = scan(&r.ID, &r.Tenant, &hash, &r.HostName, &labels, &created, &expires, &used, &r.UsedBy, &r.usedKey, &revoked); err != nil {
		return r, err
	}
	r.CreatedAt, r.ExpiresAt, r.UsedAt, r.RevokedAt = instant(created), instant(expires), instant(used), instant(revoked)
	if r.Hash, err = digest(hash); err == nil {
		r.Labels, err = parseMap(labels)
	}
	return r, err
}

// EnrolTokens implements fleet.Store.
func (s *Store) EnrolTokens(ctx context.Context, t tenant.ID) ([]fleet.EnrolToken, error) {
	var out []fleet.EnrolToken
	err := s.read(ctx, func(v view) error {
		return v.each(enrolTokenColumns+`WHERE tenant = ? ORDER BY created_at DESC, id DESC`, []any{t}, func(scan scan) error {
			r, err := scanEnrolToken(scan)
			out = append(out, r.EnrolToken)
			return err
		})
	})
	return out, during("list enrolment tokens", err)
}

// RevokeEnrolToken implements fleet.Store.
func (s *Store) RevokeEnrolToken(ctx context.Context, of tenant.ID, id string, at time.Time, f audit.Fact) error {
	return during("revoke an enrolment token", s.write(ctx, control, func(t *tx) error {
		ok, err := t.changed(`UPDATE enrol_token SET revoked_at = ? WHERE id = ? AND tenant = ? AND used_at = 0 AND revoked_at = 0`, micros(at), id, of)
		if err != nil {
			return err
		}
		if !ok {
			return fleet.ErrNoEnrolToken
		}
		return t.seal(of, f)
	}))
}

// DeleteEnrolTokens implements fleet.Store.
func (s *Store) DeleteEnrolTokens(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := written(ctx, s, bulk, func(t *tx) (int, error) {
		n, err := t.exec(`DELETE FROM enrol_token WHERE id IN (SELECT id FROM enrol_token WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, micros(before), limit)
		return int(n), err
	})
	return n, during("delete old enrolment tokens", err)
}

// Enroll implements fleet.Store.
func (s *Store) Enroll(ctx context.Context, e fleet.Enrolment, f audit.Fact) (fleet.Host, error) {
	h, err := written(ctx, s, control, func(t *tx) (fleet.Host, error) { return t.enroll(e, f) })
	return h, during("enroll a host", err)
}

func (t *tx) enroll(e fleet.Enrolment, f audit.Fact) (fleet.Host, error) {
	var token enrolTokenRow
	err := t.each(enrolTokenColumns+`WHERE id = ?`, []any{e.TokenID}, func(scan scan) (err error) {
		token, err = scanEnrolToken(scan)
		return err
	})
	switch {
	case err != nil:
		return fleet.Host{}, err
	case token.ID == "" || !secret.SameHash(token.Hash, e.TokenHash), !token.RevokedAt.IsZero(), !e.At.Before(token.ExpiresAt):
		return fleet.Host{}, fleet.ErrEnrolToken
	case !token.UsedAt.IsZero():
		return t.enrollAgain(token, e)
	}
	h := admitted(token.EnrolToken, e.Host)
	if err := t.insertHost(h); err != nil {
		return fleet.Host{}, err
	}
	c := e.Credential
	c.Host = h.ID
	if err := t.insertCredential(c); err != nil {
		return fleet.Host{}, err
	}
	if _, err := t.exec(`UPDATE enrol_token SET used_at = ?, used_by = ?, used_key = ? WHERE id = ? AND used_at = 0`,
		micros(e.At), h.ID, e.Key, token.ID); err != nil {
		return fleet.Host{}, err
	}
	f.Tenant = token.Tenant
	return h, t.seal(token.Tenant, f)
}

// admitted is the host as its token lets it in.
func admitted(token fleet.EnrolToken, h fleet.Host) fleet.Host {
	h.Tenant = token.Tenant
	if token.HostName != "" {
		h.Name = token.HostName
	}
	if len(token.Labels) > 0 {
		labels := maps.Clone(h.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, token.Labels)
		h.Labels = labels
	}
	return h
}

// enrollAgain serves a host that never got its answer: the credential that it
// can't know is replaced.
func (t *tx) enrollAgain(token enrolTokenRow, e fleet.Enrolment) (fleet.Host, error) {
	if e.Key == "" || token.usedKey != e.Key {
		return fleet.Host{}, fleet.ErrEnrolToken
	}
	var presented int
	if err := t.scan(`SELECT count(*) FROM host_credential WHERE host = ? AND first_used > 0`, []any{token.UsedBy}, &presented); err != nil {
		return fleet.Host{}, err
	}
	h, err := readHostOf(t, token.Tenant, token.UsedBy)
	if err != nil {
		return fleet.Host{}, err
	}
	if presented > 0 || !h.RevokedAt.IsZero() {
		return fleet.Host{}, fleet.ErrEnrolToken
	}
	if _, err := t.exec(`DELETE FROM host_credential WHERE host = ?`, h.ID); err != nil {
		return fleet.Host{}, err
	}
	c := e.Credential
	c.Host = h.ID
	return h, t.insertCredential(c)
}
