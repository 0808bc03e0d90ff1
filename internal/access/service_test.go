package access_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/access"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const operator = "token:0011223344556677"

func newService(t *testing.T) (*access.Service, *sqlite.Store) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "access.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return access.New(store, time.Now, slog.New(slog.DiscardHandler)), store
}

// R-GOV-4
func TestTheFirstTokenIsMadeOnce(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	first, made, err := s.First(t.Context(), tenant.Default)
	if err != nil || !made || first.Empty() {
		t.Fatalf("made %v, %v", made, err)
	}
	token, err := s.Authenticate(t.Context(), first)
	if err != nil || token.Tenant != tenant.Default {
		t.Fatalf("the first token: %+v, %v", token, err)
	}
	if value, made, err := s.First(t.Context(), tenant.Default); err != nil || made || !value.Empty() {
		t.Errorf("again: made %v, %v", made, err)
	}
	next, value, err := s.Create(t.Context(), tenant.Default, operator, "next")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(t.Context(), tenant.Default, operator, token.ID); err != nil {
		t.Fatal(err)
	}
	if _, made, err := s.First(t.Context(), tenant.Default); err != nil || made {
		t.Errorf("after the first was revoked: made %v, %v", made, err)
	}
	if got, err := s.Authenticate(t.Context(), value); err != nil || got.ID != next.ID || got.Name != "next" {
		t.Errorf("the next token: %+v, %v", got, err)
	}
}

// R-GOV-4
func TestOnlyALiveTokenIsGood(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	if _, _, err := s.First(t.Context(), tenant.Default); err != nil {
		t.Fatal(err)
	}
	token, value, err := s.Create(t.Context(), tenant.Default, operator, "ci")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(t.Context(), tenant.Default, operator, token.ID); err != nil {
		t.Fatal(err)
	}
	for name, bearer := range map[string]secret.String{
		"a revoked token":                value,
		"one with its id, another value": secret.New("ilk_api_" + token.ID + "_" + strings.Repeat("A", 43)),
		"one that was never made":        secret.Mint(secret.APIToken).Value,
		"a host's credential":            secret.Mint(secret.HostCredential).Value,
		"nothing":                        {},
	} {
		if _, err := s.Authenticate(t.Context(), bearer); !errors.Is(err, access.ErrToken) && !errors.Is(err, secret.ErrMalformed) {
			t.Errorf("%s: got %v, want ErrToken", name, err)
		} else if fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("%s: kind %v", name, fault.KindOf(err))
		}
	}
}

func TestTheLastLiveTokenStays(t *testing.T) {
	t.Parallel()
	s, store := newService(t)
	first, _, err := s.First(t.Context(), tenant.Default)
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Authenticate(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(t.Context(), tenant.Default, operator, token.ID); !errors.Is(err, access.ErrLast) {
		t.Errorf("revoking the last one: %v", err)
	}
	if err := s.Revoke(t.Context(), tenant.Default, operator, "no-such-token"); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("revoking an unknown one: %v", err)
	}
	if err := s.Revoke(t.Context(), "other", operator, token.ID); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("revoking another tenant's: %v", err)
	}
	for _, name := range []string{"", strings.Repeat("x", 101), "a\nb", "\xff"} {
		if _, _, err := s.Create(t.Context(), tenant.Default, operator, name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("name %q: %v, want Invalid", name, err)
		}
	}
	entries, err := store.Facts(t.Context(), tenant.Default, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Fact.Action != "token.create" || entries[0].Fact.Actor != "system" {
		t.Errorf("facts %+v, %v; want the first token's alone", entries, err)
	}
}

// R-GOV-4
func TestTheLastTwoTokensAreNeverBothRevoked(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	if _, _, err := s.First(t.Context(), tenant.Default); err != nil {
		t.Fatal(err)
	}
	for round := range 50 {
		if _, _, err := s.Create(t.Context(), tenant.Default, operator, "another"); err != nil {
			t.Fatal(err)
		}
		tokens, err := s.Tokens(t.Context(), tenant.Default)
		if err != nil {
			t.Fatal(err)
		}
		outcome := make(chan error, 2)
		for _, token := range tokens {
			if token.RevokedAt.IsZero() {
				go func() { outcome <- s.Revoke(t.Context(), tenant.Default, operator, token.ID) }()
			}
		}
		first, second := <-outcome, <-outcome
		if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), access.ErrLast) {
			t.Fatalf("round %d: %v and %v, want one revoked and one refused as the last", round, first, second)
		}
	}
}
