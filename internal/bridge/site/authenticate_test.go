package site_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// R-BRIDGE-1
func TestATokenSpeaksForItsSiteOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, err := w.signer.Token("platform:agent:invoke app:abn_lookup:lookup_v1", w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	got := w.wantGood("a new token", token)
	if got.Site != w.site.ID || got.Tenant != tenant.Default || got.KID != kid ||
		!slices.Equal(got.Scopes, []string{"platform:agent:invoke", "app:abn_lookup:lookup_v1"}) {
		t.Errorf("got %+v", got)
	}
	if !got.Has("platform:agent:invoke") || got.Has("platform:agent:invoke2") || got.Has("platform:agent") || got.Has("") {
		t.Errorf("scopes are not compared as whole words: %v", got.Scopes)
	}
	w.wantRefused("the same again", token, "used before")

	again := w.claims().with("jti", "again")
	w.wantGood("a token with an id of its own", forge(w.header(), again, rs256(siteKey())))
	w.wantRefused("another token with that id", forge(w.header(), again.with("scope", "other"), rs256(siteKey())), "used before")
	other, signer := w.addSite(kid, otherKey())
	if caller := w.wantGood("that id from another site", forge(w.header(), again.with("iss", string(other.ID)), rs256(signer.Key))); caller.Site != other.ID {
		t.Errorf("it speaks for %s, not %s", caller.Site, other.ID)
	}
}

// A spent token is one in the store: another process, or this one after a
// crash, refuses it too.
func TestASpentTokenIsSpentInEveryProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(w.signer)
	w.wantGood("a new token", token)
	var err error
	if w.Service, err = site.New(w.store, site.Config{Audience: audience, Now: w.clock.Now, Logger: w.log.Logger()}); err != nil {
		t.Fatal(err)
	}
	w.wantRefused("the same at another process", token, "used before")
}

// The note that a token is spent stays for as long as the token is good: the
// forgiven difference of the clocks is part of that.
func TestANoteStaysAsLongAsItsTokenIsGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(w.signer)
	w.wantGood("a new token", token)
	w.clock.Advance(time.Minute + site.Skew - time.Second)
	if n, err := w.store.ForgetTokens(t.Context(), w.clock.Now(), 10); err != nil || n != 0 {
		t.Errorf("%d forgotten, %v", n, err)
	}
	w.wantRefused("the same in its last second", token, "used before")
	w.clock.Advance(time.Second)
	w.wantRefused("the same a second on", token, "expired")
}

// R-BRIDGE-1, R-BRIDGE-5
func TestOnlyAnActiveKeyOfTheSiteItselfSigns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	sign, by := rs256(siteKey()), w.header()
	other, theirs := w.addSite("theirs", otherKey())
	now := w.clock.Now()
	next := newKey(2048)
	w.addKey(w.site.ID, site.KeyInput{Text: publicPEM(t, next), KID: "next", NotBefore: now.Add(time.Hour), NotAfter: now.Add(2 * time.Hour)})

	w.wantRefused("another key under the site's kid", forge(by, w.claims(), rs256(otherKey())), "not one of the key")
	w.wantRefused("another site's kid, with that site's key", forge(by.with("kid", "theirs"), w.claims(), rs256(otherKey())), "no such key")
	w.wantRefused("the site's key in the name of another site", forge(by, w.claims().with("iss", string(other.ID)), sign), "no such key")
	w.wantRefused("a kid that leads elsewhere", forge(by.with("kid", "../../../etc/passwd"), w.claims(), sign), "no such key")
	w.wantRefused("a site that is not there", forge(by, w.claims().with("iss", "site_0123456789abcdef"), sign), "no such site")
	w.wantRefused("the tenant of nobody", forge(by, w.claims().with("sub", "acme"), sign), "sub is not the tenant")
	w.wantGood("the other site's own token", w.token(theirs))

	coming := w.signer
	coming.Key, coming.KID = next, "next"
	w.wantRefused("a key an hour before its time", w.token(coming), "not in use yet")
	w.clock.Advance(time.Hour)
	w.wantGood("from its first moment on", w.token(coming))
	w.wantGood("the old one beside it", w.token(w.signer))
	w.clock.Advance(time.Hour - time.Second)
	last := w.token(coming)
	w.wantGood("until its last second", w.token(coming))
	w.clock.Advance(time.Second)
	w.wantRefused("a token that was made in time, when the key's time is over", last, "not in use any more")

	unused := w.token(w.signer)
	if err := w.DisableKey(ctx, tenant.Default, operator, w.site.ID, kid); err != nil {
		t.Fatal(err)
	}
	w.wantRefused("a token of a key that was disabled after it was made", unused, "key is disabled")
	if _, err := w.DisableSite(ctx, tenant.Default, operator, other.ID); err != nil {
		t.Fatal(err)
	}
	w.wantRefused("a disabled site", w.token(theirs), "site is disabled")
	if _, err := w.EnableSite(ctx, tenant.Default, operator, other.ID); err != nil {
		t.Fatal(err)
	}
	w.wantGood("the site when it is enabled again", w.token(theirs))
}

// R-BRIDGE-5: the tenant comes from the site's record.
func TestATokenCannotNameAnotherTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.facts("site.create")[0]
	f.Tenant = "acme"
	if err := w.store.CreateTenant(t.Context(), catalog.Tenant{ID: "acme", Name: "Acme", CreatedAt: w.clock.Now()}, catalog.Subscription{}, f); err != nil {
		t.Fatal(err)
	}
	w.wantRefused("a tenant that is there, and not the site's", forge(w.header(), w.claims().with("sub", "acme"), rs256(siteKey())), "sub is not the tenant")
	theirs, err := w.Create(t.Context(), "acme", operator, site.NewSite{Name: "acme's"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddKey(t.Context(), "acme", operator, theirs.ID, site.KeyInput{Text: publicPEM(t, siteKey()), KID: kid}); err != nil {
		t.Fatal(err)
	}
	c := w.claims().with("iss", string(theirs.ID))
	w.wantRefused("its site in the name of the first tenant", forge(w.header(), c, rs256(siteKey())), "sub is not the tenant")
	if got := w.wantGood("its site in its own name", forge(w.header(), c.with("sub", "acme"), rs256(siteKey()))); got.Tenant != "acme" {
		t.Errorf("it speaks for %q", got.Tenant)
	}
}

// R-BRIDGE-1: fifty requests at once with one token are one call.
func TestOneTokenAtManyDoorsIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(w.signer)
	var taken, refused atomic.Int32
	start := make(chan struct{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			<-start
			switch _, err := w.Authenticate(t.Context(), token); {
			case err == nil:
				taken.Add(1)
			case errors.Is(err, site.ErrToken):
				refused.Add(1)
			default:
				t.Errorf("neither taken nor refused: %v", err)
			}
		})
	}
	close(start)
	all.Wait()
	if taken.Load() != 1 || refused.Load() != 49 {
		t.Errorf("taken %d times, refused %d times", taken.Load(), refused.Load())
	}
}

// R-BRIDGE-1: a token has one form only.
func TestAnyChangeOfAByteIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.token(w.signer)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(good)-1).Draw(t, "at")
		b := rapid.Byte().Filter(func(b byte) bool { return b != good[at] }).Draw(t, "byte")
		bad := rapid.SampledFrom([]string{
			good[:at] + string([]byte{b}) + good[at+1:],
			good[:at] + string([]byte{b}) + good[at:],
			good[:at] + good[at+1:],
		}).Draw(t, "bad")
		if caller, err := w.Authenticate(context.Background(), bad); !errors.Is(err, site.ErrToken) {
			t.Fatalf("%q at %d: got %+v, %v", b, at, caller, err)
		}
	})
	w.wantGood("the token itself", good)
}

// full is a store that has no room for another spent token.
type full struct{ site.Store }

var errFull = fault.New(fault.Unavailable, "storage_full", "the disk is full")

func (full) SpendToken(context.Context, site.ID, string, time.Time) (bool, error) {
	return false, errFull
}

// R-BRIDGE-1: what can't be spent is not accepted.
func TestATokenThatCannotBeSpentIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := site.New(full{w.store}, site.Config{Audience: audience, Now: w.clock.Now, Logger: w.log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	token := w.token(w.signer)
	if caller, err := s.Authenticate(t.Context(), token); !errors.Is(err, errFull) || caller.Site != "" {
		t.Errorf("a full disk: got %+v, %v", caller, err)
	}
	w.wantGood("the same where there is room", token)

	token = w.token(w.signer)
	w.store.Close()
	if caller, err := w.Authenticate(t.Context(), token); fault.KindOf(err) != fault.Unavailable || caller.Site != "" {
		t.Errorf("a closed store: got %+v, %v", caller, err)
	}
}

// R-BRIDGE-1
func TestASiteHasItsRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	set := func(perMinute, burst int) {
		t.Helper()
		if _, err := w.Change(ctx, tenant.Default, operator, w.site.ID, site.Change{PerMinute: &perMinute, Burst: &burst}); err != nil {
			t.Fatal(err)
		}
	}
	wantLimited := func(what, token string, wait time.Duration) {
		t.Helper()
		_, err := w.Authenticate(ctx, token)
		if e := fault.Of(err); !errors.Is(err, site.ErrRateLimited) || e.Kind != fault.Exhausted || !e.Retryable || e.RetryAfter != wait {
			t.Errorf("%s: got %v, after %v; want rate_limited after %v", what, err, e.RetryAfter, wait)
		}
	}
	_, other := w.addSite(kid, otherKey())

	set(30, 3) // one each two seconds, three at once
	for range 3 {
		w.wantGood("within the burst", w.token(w.signer))
	}
	fourth := w.token(w.signer)
	wantLimited("beyond the burst", fourth, 2*time.Second)
	w.clock.Advance(1500 * time.Millisecond)
	wantLimited("too early: refusals take nothing and the wait shrinks", fourth, 500*time.Millisecond)
	w.wantRefused("a bad token meanwhile", " "+fourth, "three parts")
	w.wantGood("another site meanwhile", w.token(other))
	w.clock.Advance(500 * time.Millisecond)
	w.wantGood("in time, with the token that was not spent", fourth)
	wantLimited("and then again", w.token(w.signer), 2*time.Second)

	for range 10 { // what strangers send is no call of the site
		w.wantRefused("a stranger's token", forge(w.header(), w.claims(), rs256(otherKey())), "not one of the key")
	}
	w.clock.Advance(2 * time.Second)
	w.wantGood("after a stranger's tokens", w.token(w.signer))

	set(60, 1)
	w.wantGood("with the new rate", w.token(w.signer))
	wantLimited("beyond the new burst", w.token(w.signer), time.Second)
}

func TestAnAudienceIsRequired(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "https://x\n", strings.Repeat("x", 513)} {
		if _, err := site.New(nil, site.Config{Audience: bad}); fault.Of(err).Code != "invalid_settings" {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
