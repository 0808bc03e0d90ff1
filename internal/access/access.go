// Package access says who may use the operators' door: API tokens, stored
// only as hashes. The first one is made when a database is new.
package access

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/tenant"
)

// Token is one API token's record.
type Token struct {
	ID        string // public part of the token
	Tenant    tenant.ID
	Name      string
	Hash      [32]byte
	CreatedAt time.Time
	RevokedAt time.Time // zero: live
}

// Store keeps API tokens.
type Store interface {
	// CreateFirst stores t only if the tenant has no token at all, also none
	// revoked, and reports whether it did.
	CreateFirst(ctx context.Context, t Token, f audit.Fact) (bool, error)
	CreateToken(ctx context.Context, t Token, f audit.Fact) error
	Token(ctx context.Context, id string) (Token, error) // ErrNotFound
	Tokens(ctx context.Context, t tenant.ID) ([]Token, error)
	// RevokeToken ends a live token. ErrNotFound, also for one that is revoked
	// already; ErrLast for the last live one of tenant.Default: of its last two,
	// revoked at the same moment, one stays.
	RevokeToken(ctx context.Context, t tenant.ID, id string, at time.Time, f audit.Fact) error
}
