package site

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"interlock/internal/fault"
)

// Refusals of a call. The caller of a token that was turned down is not told
// why: the reason is the cause, for the operator's log.
var (
	ErrToken       = fault.New(fault.Unauthenticated, "invalid_token", "the token is not valid here; sign a new one for each call with a key of the site that is in use, and check the site's clock")
	ErrRateLimited = fault.New(fault.Exhausted, "rate_limited", "this site makes more calls than it may; wait, then go on with new tokens")
)

// Why a token that is right in itself is turned down.
const (
	unknownSite  refusal = "there is no such site"
	unknownKey   refusal = "the site has no such key"
	unsigned     refusal = "the signature is not one of the key that kid names"
	siteDisabled refusal = "the site is disabled"
	keyDisabled  refusal = "the key is disabled"
	keyNotYet    refusal = "the key is not in use yet"
	keyOver      refusal = "the key is not in use any more"
	otherTenant  refusal = "sub is not the tenant of the site"
	spent        refusal = "it was used before"
)

// Authenticate checks a token entirely, spends it, and returns whom it speaks
// for. It blocks for one read and one write of the store.
//
// ErrToken: the token is not good, for whatever reason. ErrRateLimited, with
// the wait: the token is good and not spent. Else the store could not be asked;
// then the token is not good for this call, and may or may not be spent.
func (s *Service) Authenticate(ctx context.Context, compact string) (Caller, error) {
	t, err := parse(compact)
	if err != nil {
		return Caller{}, ErrToken.Because(err)
	}
	now := s.now()
	if err := t.claims.check(s.cfg.Audience, now); err != nil {
		return Caller{}, ErrToken.Because(err)
	}
	from, err := s.vouch(ctx, t, now)
	if err != nil {
		return Caller{}, err
	}
	if wait := s.rates.take(from, now); wait > 0 {
		return Caller{}, ErrRateLimited.Retry(wait)
	}
	fresh, err := s.store.SpendToken(ctx, from.ID, t.claims.ID, t.claims.Expires.Add(Skew))
	switch {
	case err != nil:
		return Caller{}, fmt.Errorf("spend token of site %s: %w", from.ID, err)
	case !fresh:
		return Caller{}, ErrToken.Because(spent)
	}
	return Caller{Tenant: from.Tenant, Site: from.ID, KID: t.kid, Scopes: strings.Split(t.claims.Scope, " ")}, nil
}

// vouch returns the site that the token is from, once it is sure of that.
//
// A site or key that is not there costs the same verification as one that is,
// against a key that nobody has, so that neither the answer nor its time tells
// a stranger which sites there are.
func (s *Service) vouch(ctx context.Context, t token, now time.Time) (Site, error) {
	from, err := s.store.Site(ctx, t.claims.Issuer)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Site{}, fmt.Errorf("read site %s: %w", t.claims.Issuer, err)
	}
	key, found := from.key(t.kid)
	if !found {
		key.Public = s.nobody
	}
	signed := t.signedBy(key.Public)
	var r refusal
	switch {
	case err != nil:
		r = unknownSite
	case !found:
		r = unknownKey
	case !signed:
		r = unsigned
	case !from.DisabledAt.IsZero():
		r = siteDisabled
	case !key.DisabledAt.IsZero():
		r = keyDisabled
	case now.Before(key.NotBefore):
		r = keyNotYet
	case !key.NotAfter.IsZero() && !now.Before(key.NotAfter):
		r = keyOver
	case t.claims.Subject != from.Tenant:
		r = otherTenant
	default:
		return from, nil
	}
	return Site{}, ErrToken.Because(r)
}

func (s Site) key(kid string) (Key, bool) {
	for _, k := range s.Keys {
		if k.KID == kid {
			return k, true
		}
	}
	return Key{}, false
}

// nobodysKey is a public key without a private half: its modulus is a random
// odd number. What it verifies is refused all the same.
func nobodysKey() *rsa.PublicKey {
	b := make([]byte, minModulus/8)
	rand.Read(b)
	b[0] |= 0x80
	b[len(b)-1] |= 1
	return &rsa.PublicKey{N: new(big.Int).SetBytes(b), E: minExponent}
}
