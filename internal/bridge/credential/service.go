package credential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// Failures of a call that needs a credential.
var (
	ErrMissing    = fault.New(fault.Unavailable, "credential_missing", "this tenant has no credential for the app; an operator sets it with: interlock credential set")
	ErrUnreadable = fault.New(fault.Unavailable, "credential_unreadable", "the tenant's credential can't be opened; an operator restores the keyset file that it was sealed with, or sets it again with: interlock credential set")
)

// Config of the service. The zero value is useful.
type Config struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// Service seals and opens credentials. It is safe for concurrent use.
type Service struct {
	store  Store
	keyset *Keyset
	now    func() time.Time
	logger *slog.Logger
}

// New returns the service over a store, with a keyset that is not nil.
func New(store Store, keyset *Keyset, cfg Config) (*Service, error) {
	if keyset == nil {
		return nil, fault.New(fault.Invalid, "invalid_settings", "credentials need a keyset; make one with: interlock credential keyset new")
	}
	s := &Service{store: store, keyset: keyset, now: cfg.Now, logger: cmp.Or(cfg.Logger, slog.Default())}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// fact tells of a credential by what it is for, never by what it is.
func (s *Service) fact(by, action string, c Sealed) audit.Fact {
	return audit.Fact{Tenant: c.Tenant, At: s.now().UTC(), Actor: by, Action: action, Subject: string(c.App),
		Detail: map[string]string{"revision": strconv.FormatInt(c.Revision, 10), "key": c.KeyID}}
}

const (
	maxValue = 4096 // bytes
	maxTries = 8    // of a change that another one overtakes
)

// check returns the value without the one line break that a file or a terminal
// puts behind it.
func check(app catalog.AppID, value secret.String) (secret.String, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(value.Reveal(), "\n"), "\r")
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	var wrong fault.Problems
	wrong.Require(len(app) <= 32 && isKeyID(string(app)), "an app's id is 1 to 32 of a-z, 0-9 and '_'")
	wrong.Require(len(text) >= 1 && len(text) <= maxValue, "it is not 1 to %d bytes long", maxValue)
	wrong.Require(utf8.ValidString(text) && strings.IndexFunc(text, unprintable) < 0, "it is not one line of printable text")
	wrong.Require(strings.TrimSpace(text) == text, "it begins or ends with a space")
	return secret.New(text), wrong.Refuse("invalid_credential", "the credential")
}

// Set seals the value as the tenant's credential for the app, in place of the
// one before. By is the actor. Of two at the same moment, one replaces the
// other. Faults invalid_credential and tenant_not_found.
func (s *Service) Set(ctx context.Context, t tenant.ID, by string, app catalog.AppID, value secret.String) error {
	value, err := check(app, value)
	if err != nil {
		return err
	}
	for range maxTries {
		if err = s.set(ctx, t, by, app, value); !errors.Is(err, ErrMoved) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("set credential: %w", err)
	}
	s.logger.InfoContext(ctx, "credential set", "tenant", t, "app", app, "by", by)
	return nil
}

func (s *Service) set(ctx context.Context, t tenant.ID, by string, app catalog.AppID, value secret.String) error {
	before, err := s.store.LatestRevision(ctx, t, app)
	if err != nil {
		return err
	}
	sealed, err := s.keyset.seal(Sealed{Tenant: t, App: app, Revision: before + 1, SetBy: by, SetAt: s.now().UTC()}, value)
	if err != nil {
		return err
	}
	return s.store.PutCredential(ctx, sealed, s.fact(by, "credential.set", sealed))
}

// Reveal opens the tenant's credential for one call of the app. ErrMissing;
// ErrUnreadable, which wants an operator.
func (s *Service) Reveal(ctx context.Context, t tenant.ID, app catalog.AppID) (secret.String, error) {
	sealed, err := s.store.SealedCredential(ctx, t, app)
	switch {
	case errors.Is(err, ErrNotFound):
		return secret.String{}, ErrMissing
	case err != nil:
		return secret.String{}, fmt.Errorf("read credential: %w", err)
	case sealed.Tenant != t || sealed.App != app:
		return secret.String{}, ErrUnreadable.Because(errTampered)
	}
	value, err := s.keyset.open(sealed)
	if err != nil {
		return secret.String{}, unreadable(sealed, err)
	}
	return value, nil
}

func unreadable(c Sealed, cause error) error {
	return ErrUnreadable.Because(fmt.Errorf("credential of tenant %q for app %q, revision %d, key %q: %w", c.Tenant, c.App, c.Revision, c.KeyID, cause))
}

// Info is what may be told of a credential.
type Info struct {
	Tenant   tenant.ID
	App      catalog.AppID
	Revision int64
	KeyID    string
	SetBy    string
	SetAt    time.Time
}

const page = 100 // credentials in one read

// List returns the tenant's credentials, by app.
func (s *Service) List(ctx context.Context, t tenant.ID) ([]Info, error) {
	var list []Info
	err := s.each(ctx, t, func(c Sealed) bool {
		if c.Tenant != t {
			return false
		}
		list = append(list, Info{c.Tenant, c.App, c.Revision, c.KeyID, c.SetBy, c.SetAt})
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	return list, nil
}

// each calls f with each credential of the tenants from the given one on, by
// tenant and app, until f returns false.
func (s *Service) each(ctx context.Context, from tenant.ID, f func(Sealed) bool) error {
	app := catalog.AppID("")
	for {
		read, err := s.store.SealedCredentials(ctx, from, app, page)
		if err != nil {
			return err
		}
		for _, c := range read {
			if !f(c) {
				return nil
			}
			from, app = c.Tenant, c.App
		}
		if len(read) < page {
			return nil
		}
	}
}

// Delete forgets the tenant's credential for the app. ErrNotFound.
func (s *Service) Delete(ctx context.Context, t tenant.ID, by string, app catalog.AppID) error {
	before, err := s.store.SealedCredential(ctx, t, app) // for its revision
	if err == nil {
		err = s.store.DeleteCredential(ctx, t, app, s.fact(by, "credential.delete", before))
	}
	if err != nil {
		return fmt.Errorf("delete credential: %w", err)
	}
	s.logger.InfoContext(ctx, "credential deleted", "tenant", t, "app", app, "by", by)
	return nil
}

// Rotate seals every credential anew that is not sealed with the primary key,
// and returns how many it did. It may be interrupted, and run again at any
// time, also while credentials are set and used: what was changed meanwhile is
// left as it is, or done in the next round. The error names every credential
// that can't be opened; the others are done all the same. By is the actor.
func (s *Service) Rotate(ctx context.Context, by string) (resealed int, err error) {
	var failed []error
	err = s.each(ctx, "", func(c Sealed) bool {
		done, err := s.reseal(ctx, by, c)
		if done {
			resealed++
		}
		if err != nil {
			failed = append(failed, err)
		}
		return ctx.Err() == nil
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err = errors.Join(append(failed, err)...); err != nil {
		return resealed, fmt.Errorf("rotate credentials: %w", err)
	}
	if resealed > 0 {
		s.logger.InfoContext(ctx, "credentials sealed with the primary key", "credentials", resealed, "key", s.keyset.primary)
	}
	return resealed, nil
}

// reseal brings one credential under the primary key, unless it is there or
// gone. Where it was changed since it was read, the new one is looked at.
func (s *Service) reseal(ctx context.Context, by string, c Sealed) (done bool, err error) {
	for range maxTries {
		if c.KeyID == s.keyset.primary {
			return false, nil
		}
		value, err := s.keyset.open(c)
		if err != nil {
			return false, unreadable(c, err)
		}
		next, err := s.keyset.seal(c, value)
		if err != nil {
			return false, err
		}
		err = s.store.ResealCredential(ctx, next, c.KeyID, s.fact(by, "credential.rotate", next))
		if !errors.Is(err, ErrMoved) {
			return err == nil, err
		}
		c, err = s.store.SealedCredential(ctx, c.Tenant, c.App)
		switch {
		case errors.Is(err, ErrNotFound):
			return false, nil // deleted meanwhile
		case err != nil:
			return false, err
		}
	}
	return false, ErrMoved
}
