package access

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// Named failures of access.
var (
	ErrToken    = fault.New(fault.Unauthenticated, "invalid_token", "the API token is not valid; make another with: interlock token create")
	ErrNotFound = fault.New(fault.NotFound, "token_not_found", "there is no such API token, or it is revoked already; list them with: interlock token list")
	ErrLast     = fault.New(fault.Conflict, "last_token", "that is the last API token that works; create another before you revoke it")
)

// Service makes and checks API tokens. It is safe for concurrent use.
type Service struct {
	store  Store
	now    func() time.Time
	logger *slog.Logger
}

// New returns the service over a store.
func New(store Store, now func() time.Time, logger *slog.Logger) *Service {
	return &Service{store: store, now: now, logger: logger}
}

// First makes the tenant's first API token, once in the life of a database.
// The value is shown this once; made is false if there was a token before.
func (s *Service) First(ctx context.Context, t tenant.ID) (value secret.String, made bool, err error) {
	minted := secret.Mint(secret.APIToken)
	token := Token{ID: minted.ID, Tenant: t, Name: "first", Hash: minted.Hash, CreatedAt: s.now().UTC()}
	made, err = s.store.CreateFirst(ctx, token, s.fact(t, audit.System, "token.create", token))
	if err != nil || !made {
		return secret.String{}, false, err
	}
	return minted.Value, true, nil
}

// Authenticate returns the live token that was presented: one indexed read and
// a comparison in constant time. ErrToken.
func (s *Service) Authenticate(ctx context.Context, bearer secret.String) (Token, error) {
	presented, err := secret.Parse(secret.APIToken, bearer.Reveal())
	if err != nil {
		return Token{}, ErrToken.Because(err)
	}
	t, err := s.store.Token(ctx, presented.ID)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return Token{}, ErrToken.Because(err)
	case err != nil:
		return Token{}, fmt.Errorf("read API token: %w", err)
	case !secret.SameHash(t.Hash, presented.Hash) || !t.RevokedAt.IsZero():
		return Token{}, ErrToken
	}
	return t, nil
}

const maxName = 100 // characters

// Create makes an API token; its value is shown this once. By is the actor.
func (s *Service) Create(ctx context.Context, t tenant.ID, by, name string) (Token, secret.String, error) {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	if n := utf8.RuneCountInString(name); n == 0 || n > maxName || !utf8.ValidString(name) || strings.IndexFunc(name, unprintable) >= 0 {
		return Token{}, secret.String{}, fault.New(fault.Invalid, "invalid_name", "a token's name is 1 to %d printable characters", maxName)
	}
	minted := secret.Mint(secret.APIToken)
	token := Token{ID: minted.ID, Tenant: t, Name: name, Hash: minted.Hash, CreatedAt: s.now().UTC()}
	if err := s.store.CreateToken(ctx, token, s.fact(t, by, "token.create", token)); err != nil {
		return Token{}, secret.String{}, fmt.Errorf("create API token: %w", err)
	}
	s.logger.InfoContext(ctx, "API token created", "token", token.ID, "by", by)
	return token, minted.Value, nil
}

// Tokens returns the tenant's tokens, revoked ones too.
func (s *Service) Tokens(ctx context.Context, t tenant.ID) ([]Token, error) {
	return s.store.Tokens(ctx, t)
}

// Revoke ends a token; it is refused from the next call on. ErrNotFound;
// ErrLast for the last one of tenant.Default, because nobody could make another;
// other tenants' can be made with one of that.
func (s *Service) Revoke(ctx context.Context, t tenant.ID, by, id string) error {
	token, err := s.store.Token(ctx, id) // for its name
	if err != nil {
		return fmt.Errorf("revoke API token: %w", err)
	}
	if err := s.store.RevokeToken(ctx, t, id, s.now().UTC(), s.fact(t, by, "token.revoke", token)); err != nil {
		return fmt.Errorf("revoke API token: %w", err)
	}
	s.logger.InfoContext(ctx, "API token revoked", "token", id, "by", by)
	return nil
}

func (s *Service) fact(t tenant.ID, by, action string, token Token) audit.Fact {
	return audit.Fact{Tenant: t, At: s.now().UTC(), Actor: by, Action: action, Subject: token.ID, Detail: map[string]string{"name": token.Name}}
}
