// Package site knows the callers of the Bridge: sites, their public keys, and
// the short-lived tokens that they sign. It is the only room that knows JOSE.
//
// A token is one use: its id (jti) is spent in the store before anything is
// done for it, and stays spent until the token would have expired anyway, so a
// captured one is worth nothing. The key is looked up inside the site's own
// record, by the site that the token claims to be from; the tenant comes from
// that record too, and the token's subject must agree with it. Disabling a
// site or a key works from the next call on, over all processes.
//
// A token is read strictly before any key is looked up, so that it has one form
// and garbage costs no cryptography; then come its signature, the site's rate,
// and last the note that it is spent. Whoever sends a bad one hears one
// sentence, whatever is wrong with it. A site's rate is kept by each process
// for itself, and a rate that is used up spends no token.
//
// Times in tokens are seconds of the signer's clock: up to Skew of difference
// from ours is forgiven, both ways. When a key is in use is by our clock alone.
// A crash forgets no spent token.
package site

import (
	"context"
	"crypto/rsa"
	"slices"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// ID names a site; it is the issuer (iss) of the site's tokens. "site_" and 16
// hex digits.
type ID string

// Site is one installation that sends instructions.
type Site struct {
	ID     ID
	Tenant tenant.ID
	Name   string
	// PerMinute is how many calls a minute the site may make, and Burst how
	// many at once.
	PerMinute, Burst int
	CreatedAt        time.Time
	DisabledAt       time.Time // zero: it may call
	Keys             []Key     // by creation, the last MaxKeys of them, disabled ones included
}

// MaxActiveKeys is how many keys of a site may be in use: the present one, and
// the next or the previous one.
const MaxActiveKeys = 2

// MaxKeys is how many keys a site is remembered with, those in use among them.
// Each call of the site reads them all, also one with a forged token.
const MaxKeys = 50

// Key is a public key of a site, for RS256 only.
type Key struct {
	KID       string // what the header of the site's tokens names; unique within the site
	Public    *rsa.PublicKey
	NotBefore time.Time
	NotAfter  time.Time // exclusive; zero: open
	CreatedAt time.Time
	// DisabledAt is when an operator withdrew it; zero: never.
	DisabledAt time.Time
}

// Over reports whether the key can't be used any more at that time.
func (k Key) Over(at time.Time) bool {
	return !k.DisabledAt.IsZero() || !k.NotAfter.IsZero() && !k.NotAfter.After(at)
}

// Caller is who a valid token speaks for.
type Caller struct {
	Tenant tenant.ID
	Site   ID
	KID    string
	Scopes []string
}

// Has reports whether the token carries the whole scope.
func (c Caller) Has(scope string) bool { return slices.Contains(c.Scopes, scope) }

// Change sets the fields that are not nil.
type Change struct {
	Name             *string
	PerMinute, Burst *int
	DisabledAt       *time.Time // zero time: it may call again
}

// Failures that callers act on.
var (
	ErrNotFound    = fault.New(fault.NotFound, "site_not_found", "there is no such site; list them with: interlock site list")
	ErrKeyNotFound = fault.New(fault.NotFound, "site_key_not_found", "that site has no such key; show it with: interlock site show")
	ErrKeyExists   = fault.New(fault.Conflict, "site_key_exists", "that site has a key of that id already; give the new key another kid")
	ErrTooManyKeys = fault.New(fault.Conflict, "too_many_site_keys", "a site has at most two keys in use; disable one of them first")
)

// Store keeps sites and spent tokens. Each change commits its fact with it.
type Store interface {
	CreateSite(ctx context.Context, s Site, f audit.Fact) error // its tenant must be there: tenant_not_found
	// Site reads one with all its keys. ErrNotFound.
	Site(ctx context.Context, id ID) (Site, error)
	// Sites lists up to limit of a tenant's sites with ids behind after, by id,
	// with their keys.
	Sites(ctx context.Context, t tenant.ID, after ID, limit int) ([]Site, error)
	ChangeSite(ctx context.Context, t tenant.ID, id ID, c Change, f audit.Fact) (Site, error) // ErrNotFound
	// AddKey adds a key. Where there would be more than MaxKeys, it forgets the
	// oldest of those that are over at k.CreatedAt; their tokens stay refused.
	// ErrNotFound, ErrKeyExists (also for a key of that id that is over and not
	// forgotten), ErrTooManyKeys when MaxActiveKeys are not over.
	AddKey(ctx context.Context, t tenant.ID, id ID, k Key, f audit.Fact) error
	// DisableKey withdraws a key; one that is withdrawn already stays as it is.
	// ErrKeyNotFound.
	DisableKey(ctx context.Context, t tenant.ID, id ID, kid string, at time.Time, f audit.Fact) error

	// SpendToken notes that the site's token of that id was used, durably, and
	// reports whether it was the first time. The note is kept until expires.
	SpendToken(ctx context.Context, id ID, jti string, expires time.Time) (fresh bool, err error)
	// ForgetTokens removes up to limit notes that expired before at.
	ForgetTokens(ctx context.Context, at time.Time, limit int) (int, error)
}
