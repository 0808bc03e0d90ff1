package site_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"interlock/internal/audit"
	"interlock/internal/bridge/site"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/logtest"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const (
	operator = "token:0011223344556677"
	audience = "https://interlock.example/api"
	scope    = "platform:agent:invoke"
	kid      = "first"
)

// Keys take a while to make, so the tests share these: what a site signs with,
// and what somebody else has.
var (
	siteKey  = sync.OnceValue(func() *rsa.PrivateKey { return newKey(2048) })
	otherKey = sync.OnceValue(func() *rsa.PrivateKey { return newKey(2048) })
)

func newKey(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

// world is a service over a real store, and one site with one key.
type world struct {
	*site.Service
	t      testing.TB
	clock  *clocktest.Clock
	store  *sqlite.Store
	log    logtest.Log
	site   site.Site
	signer site.Signer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New()}
	w.store = openStore(t, w.clock.Now)
	var err error
	w.Service, err = site.New(w.store, site.Config{Audience: audience, Now: w.clock.Now, Logger: w.log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	w.site, w.signer = w.addSite(kid, siteKey())
	return w
}

func openStore(t testing.TB, now func() time.Time) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "site.db"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// addSite makes another site, with that key.
func (w *world) addSite(kid string, k *rsa.PrivateKey) (site.Site, site.Signer) {
	w.t.Helper()
	made, err := w.Create(w.t.Context(), tenant.Default, operator, site.NewSite{Name: "shop"})
	if err != nil {
		w.t.Fatal(err)
	}
	signer := site.Signer{Key: k, KID: kid, Issuer: made.ID, Subject: tenant.Default, Audience: audience}
	w.addKey(made.ID, site.KeyInput{Text: publicPEM(w.t, k), KID: kid})
	return made, signer
}

func (w *world) addKey(id site.ID, in site.KeyInput) site.Key {
	w.t.Helper()
	k, err := w.AddKey(w.t.Context(), tenant.Default, operator, id, in)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func publicPEM(t testing.TB, k *rsa.PrivateKey) string {
	t.Helper()
	text, err := site.Signer{Key: k}.PublicPEM()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w *world) token(s site.Signer) string {
	w.t.Helper()
	token, err := s.Token(scope, w.clock.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// object is a JSON object under construction.
type object map[string]any

func (o object) with(name string, value any) object {
	o = maps.Clone(o)
	o[name] = value
	return o
}

func (o object) without(name string) object {
	o = maps.Clone(o)
	delete(o, name)
	return o
}

func (o object) String() string {
	b, err := json.Marshal(map[string]any(o), json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// header and claims are those of a good token of the site, to be made worse.
func (w *world) header() object { return object{"alg": "RS256", "typ": "JWT", "kid": kid} }

func (w *world) claims() object {
	now := w.clock.Now().Unix()
	return object{"iss": string(w.site.ID), "sub": "default", "aud": audience, "iat": now, "exp": now + 60, "jti": rand.Text(), "scope": scope}
}

// forge makes a token of any two texts, with any signature of them.
func forge(header, claims fmt.Stringer, sign func(input string) []byte) string {
	enc := base64.RawURLEncoding.EncodeToString
	input := enc([]byte(header.String())) + "." + enc([]byte(claims.String()))
	return input + "." + enc(sign(input))
}

// text is JSON as it stands.
type text string

func (t text) String() string { return string(t) }

func rs256(k *rsa.PrivateKey) func(string) []byte {
	return func(input string) []byte {
		sum := sha256.Sum256([]byte(input))
		sig, err := rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
		if err != nil {
			panic(err)
		}
		return sig
	}
}

// wantRefused presents a token and wants the one answer that all bad tokens
// get, with the reason for the operator alone and no word of the token.
func (w *world) wantRefused(what, token, reason string) {
	w.t.Helper()
	caller, err := w.Authenticate(w.t.Context(), token)
	e := fault.Of(err)
	if !errors.Is(err, site.ErrToken) || e.Kind != fault.Unauthenticated || e.Detail != site.ErrToken.Detail || e.Retryable || caller.Site != "" {
		w.t.Errorf("%s: got %+v, %v; want ErrToken", what, caller, err)
		return
	}
	if cause := e.Unwrap(); cause == nil || !strings.Contains(cause.Error(), reason) {
		w.t.Errorf("%s: refused because %v; want %q", what, cause, reason)
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 && strings.Contains(err.Error(), part[:8]) {
			w.t.Errorf("%s: the error quotes the token: %v", what, err)
		}
	}
}

func (w *world) wantGood(what, token string) site.Caller {
	w.t.Helper()
	caller, err := w.Authenticate(w.t.Context(), token)
	if err != nil || caller.Site == "" {
		w.t.Errorf("%s: got %+v, %v", what, caller, err)
	}
	return caller
}

func (w *world) facts(action string) (out []audit.Fact) {
	w.t.Helper()
	entries, err := w.store.Facts(context.WithoutCancel(w.t.Context()), tenant.Default, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Fact.Action == action {
			out = append(out, e.Fact)
		}
	}
	return out
}
