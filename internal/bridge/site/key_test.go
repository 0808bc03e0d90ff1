package site_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func pkix(t *testing.T, k any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return block("PUBLIC KEY", der)
}

// integer is a number as a JWK writes it.
func integer(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }

func jwk(k *rsa.PublicKey) object {
	return object{"kty": "RSA", "n": integer(k.N), "e": integer(big.NewInt(int64(k.E)))}
}

// R-BRIDGE-1
func TestAKeyComesAsPEMOrJWK(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := &otherKey().PublicKey
	thumbprint := site.Thumbprint(k)
	public := jwk(k)
	for what, c := range map[string]struct {
		in  site.KeyInput
		kid string
	}{
		"PEM of any RSA key (PKIX)":              {site.KeyInput{Text: pkix(t, k)}, thumbprint},
		"PEM of an RSA key (PKCS 1)":             {site.KeyInput{Text: block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(k))}, thumbprint},
		"PEM with blank lines around":            {site.KeyInput{Text: "\n\n" + pkix(t, k) + "\r\n\r\n"}, thumbprint},
		"PEM under a kid of the operator's":      {site.KeyInput{Text: pkix(t, k), KID: "2026-12"}, "2026-12"},
		"a JWK without a kid":                    {site.KeyInput{Text: public.String()}, thumbprint},
		"a JWK with its kid":                     {site.KeyInput{Text: public.with("kid", "theirs").String()}, "theirs"},
		"a JWK under a kid of the operator's":    {site.KeyInput{Text: public.with("kid", "theirs").String(), KID: "ours"}, "ours"},
		"a JWK that says what it is for":         {site.KeyInput{Text: public.with("alg", "RS256").with("use", "sig").with("key_ops", []string{"verify"}).with("ext", true).String()}, thumbprint},
		"a JWK with an exponent of its own size": {site.KeyInput{Text: jwk(&rsa.PublicKey{N: k.N, E: 1<<31 - 1}).String(), KID: "large"}, "large"},
	} {
		made, err := w.Create(t.Context(), tenant.Default, operator, site.NewSite{Name: what})
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.AddKey(t.Context(), tenant.Default, operator, made.ID, c.in)
		if err != nil || got.KID != c.kid || got.Public.N.Cmp(k.N) != 0 {
			t.Errorf("%s: got kid %q, %v; want %q", what, got.KID, err, c.kid)
		}
	}
	// The example of RFC 7638, section 3.1.
	n, err := base64.RawURLEncoding.DecodeString("0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw")
	if err != nil {
		t.Fatal(err)
	}
	if got := site.Thumbprint(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}); got != "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" {
		t.Errorf("the thumbprint of RFC 7638's key is %s", got)
	}
}

// R-BRIDGE-1: what is no key for RS256, and what should never have been shown.
func TestOtherKeysAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	private := otherKey()
	k := &private.PublicKey
	public := jwk(k)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, k, private)
	if err != nil {
		t.Fatal(err)
	}
	sized := func(bits uint) *rsa.PublicKey {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
	}
	raw := func(from, to string) string { return strings.Replace(public.String(), from, to, 1) }
	now := w.clock.Now()
	const secret, wrong = "private_key", "invalid_site_key"
	for what, c := range map[string]struct {
		in         site.KeyInput
		code, says string
	}{
		"nothing":                        {site.KeyInput{}, wrong, "neither a PEM block"},
		"a fingerprint":                  {site.KeyInput{Text: "SHA256:abc"}, wrong, "neither a PEM block"},
		"a megabyte":                     {site.KeyInput{Text: strings.Repeat("-", 1<<20)}, wrong, "longer than"},
		"a private key (PKCS 1)":         {site.KeyInput{Text: block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private))}, secret, "that is a private key"},
		"a private key (PKCS 8)":         {site.KeyInput{Text: block("PRIVATE KEY", pkcs8)}, secret, "that is a private key"},
		"an encrypted private key":       {site.KeyInput{Text: block("ENCRYPTED PRIVATE KEY", pkcs8)}, secret, "that is a private key"},
		"a private key behind a public":  {site.KeyInput{Text: pkix(t, k) + block("PRIVATE KEY", pkcs8)}, secret, "that is a private key"},
		"a private JWK":                  {site.KeyInput{Text: public.with("d", integer(private.D)).String()}, secret, "that is a private key"},
		"a private JWK and more":         {site.KeyInput{Text: public.with("d", integer(private.D)).with("x", 1).String()}, secret, "that is a private key"},
		"a private JWK, a name twice":    {site.KeyInput{Text: `{"d":"AQ","d":"AQ"}`}, secret, "that is a private key"},
		"a private JWK in a set":         {site.KeyInput{Text: object{"keys": []any{public.with("d", "AQ")}}.String()}, secret, "that is a private key"},
		"half of a private JWK":          {site.KeyInput{Text: public.with("qi", "AQ").String()}, secret, "that is a private key"},
		"a shared secret as a JWK":       {site.KeyInput{Text: object{"kty": "oct", "k": "c2VjcmV0"}.String()}, secret, "that is a private key"},
		"a certificate":                  {site.KeyInput{Text: block("CERTIFICATE", certificate)}, wrong, "openssl x509"},
		"a request for a certificate":    {site.KeyInput{Text: block("CERTIFICATE REQUEST", certificate)}, wrong, "neither a PUBLIC KEY"},
		"a key of an elliptic curve":     {site.KeyInput{Text: pkix(t, &ec.PublicKey)}, wrong, "not an RSA key"},
		"an Ed25519 key":                 {site.KeyInput{Text: pkix(t, ed)}, wrong, "not an RSA key"},
		"two PEM blocks":                 {site.KeyInput{Text: pkix(t, k) + pkix(t, k)}, wrong, "one whole PEM block"},
		"half of a PEM block":            {site.KeyInput{Text: pkix(t, k)[:200]}, wrong, "one whole PEM block"},
		"a PEM block of nothing":         {site.KeyInput{Text: block("PUBLIC KEY", []byte("x"))}, wrong, "damaged"},
		"a PEM block under a wrong name": {site.KeyInput{Text: block("RSA PUBLIC KEY", []byte("x"))}, wrong, "damaged"},
		"1024 bits":                      {site.KeyInput{Text: jwk(sized(1024)).String()}, wrong, "it has 1024 bits"},
		"2047 bits":                      {site.KeyInput{Text: jwk(sized(2047)).String()}, wrong, "it has 2047 bits"},
		"8193 bits":                      {site.KeyInput{Text: jwk(sized(8193)).String()}, wrong, "it has 8193 bits"},
		"an even modulus":                {site.KeyInput{Text: jwk(&rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 65537}).String()}, wrong, "modulus is even"},
		"an exponent of 3":               {site.KeyInput{Text: jwk(&rsa.PublicKey{N: k.N, E: 3}).String()}, wrong, "exponent"},
		"an even exponent":               {site.KeyInput{Text: jwk(&rsa.PublicKey{N: k.N, E: 65538}).String()}, wrong, "exponent"},
		"an exponent of 32 bits":         {site.KeyInput{Text: public.with("e", "gAAAAQ").String()}, wrong, "e is not a small integer"},
		"an exponent of zero":            {site.KeyInput{Text: public.with("e", "AA").String()}, wrong, "e is not a small integer"},
		"no modulus":                     {site.KeyInput{Text: public.without("n").String()}, wrong, "n is not an integer"},
		"a modulus with a leading zero":  {site.KeyInput{Text: public.with("n", base64.RawURLEncoding.EncodeToString(append([]byte{0}, k.N.Bytes()...))).String()}, wrong, "n is not an integer"},
		"a modulus in standard base64":   {site.KeyInput{Text: public.with("n", integer(k.N)+"==").String()}, wrong, "n is not an integer"},
		"a modulus that is a number":     {site.KeyInput{Text: public.with("n", 17).String()}, wrong, "wrong type"},
		"a JWK of another kind":          {site.KeyInput{Text: public.with("kty", "EC").String()}, wrong, "kty is not RSA"},
		"a JWK without its kind":         {site.KeyInput{Text: public.without("kty").String()}, wrong, "kty is not RSA"},
		"a JWK for RS512":                {site.KeyInput{Text: public.with("alg", "RS512").String()}, wrong, "alg is not RS256"},
		"a JWK for encryption":           {site.KeyInput{Text: public.with("use", "enc").String()}, wrong, "use is not sig"},
		"a JWK to sign with":             {site.KeyInput{Text: public.with("key_ops", []string{"sign", "verify"}).String()}, wrong, "key_ops is not verify"},
		"a JWK with a chain":             {site.KeyInput{Text: public.with("x5c", []string{"MIIB"}).String()}, wrong, "at most kid, alg"},
		"a set of JWKs":                  {site.KeyInput{Text: object{"keys": []object{public}}.String()}, wrong, "at most kid, alg"},
		"a JWK with its kind twice":      {site.KeyInput{Text: raw(`{`, `{"kty":"RSA",`)}, wrong, "each name once"},
		"a JWK and more":                 {site.KeyInput{Text: public.String() + "{}"}, wrong, "each name once"},
		"a kid of 129 characters":        {site.KeyInput{Text: pkix(t, k), KID: strings.Repeat("k", 129)}, wrong, "its kid is not"},
		"a kid with a space":             {site.KeyInput{Text: public.with("kid", "a b").String()}, wrong, "its kid is not"},
		"a use that is over":             {site.KeyInput{Text: pkix(t, k), NotAfter: now}, wrong, "end of use has passed"},
		"a use that ends first": {site.KeyInput{Text: pkix(t, k), NotBefore: now.Add(2 * time.Hour), NotAfter: now.Add(time.Hour)},
			wrong, "ends before it starts"},
	} {
		_, err := w.AddKey(t.Context(), tenant.Default, operator, w.site.ID, c.in)
		if e := fault.Of(err); e.Kind != fault.Invalid || e.Code != c.code || !strings.Contains(e.Detail, c.says) {
			t.Errorf("%s: got %v; want %s with %q", what, err, c.code, c.says)
		}
		if secret := integer(private.D); err != nil && strings.Contains(err.Error(), secret[:16]) {
			t.Errorf("%s: the error quotes the private key", what)
		}
	}
	if got, err := w.Site(t.Context(), tenant.Default, w.site.ID); err != nil || len(got.Keys) != 1 {
		t.Errorf("the site has %d keys, %v; want its one", len(got.Keys), err)
	}
	if log := w.log.String(); strings.Contains(log, integer(private.D)[:16]) {
		t.Error("the log holds the private key")
	}
}

// R-BRIDGE-1
func TestASiteHasTwoKeysInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	add := func(kid string, until time.Time) error {
		_, err := w.AddKey(ctx, tenant.Default, operator, w.site.ID, site.KeyInput{Text: publicPEM(t, otherKey()), KID: kid, NotAfter: until})
		return err
	}
	if err := add("second", w.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := add("third", time.Time{}); !errors.Is(err, site.ErrTooManyKeys) {
		t.Errorf("a third key: %v", err)
	}
	w.clock.Advance(time.Hour)
	if err := add("third", time.Time{}); err != nil {
		t.Errorf("when the second's time is over: %v", err)
	}
	if err := w.DisableKey(ctx, tenant.Default, operator, w.site.ID, kid); err != nil {
		t.Fatal(err)
	}
	if err := add(kid, time.Time{}); !errors.Is(err, site.ErrKeyExists) {
		t.Errorf("the id of a disabled key: %v", err)
	}
	if err := add("fourth", time.Time{}); err != nil {
		t.Errorf("when the first is disabled: %v", err)
	}
	if err := w.DisableKey(ctx, tenant.Default, operator, w.site.ID, kid); err != nil {
		t.Errorf("to disable a key again: %v", err)
	}
	if err := w.DisableKey(ctx, tenant.Default, operator, w.site.ID, "fifth"); !errors.Is(err, site.ErrKeyNotFound) {
		t.Errorf("to disable a key that is not there: %v", err)
	}
	if err := w.DisableKey(ctx, "acme", operator, w.site.ID, "third"); !errors.Is(err, site.ErrKeyNotFound) {
		t.Errorf("to disable the key of another tenant's site: %v", err)
	}
	added, disabled := w.facts("site_key.add"), w.facts("site_key.disable")
	if len(added) != 4 || len(disabled) != 1 || added[1].Subject != string(w.site.ID) || added[1].Actor != operator || disabled[0].Detail["kid"] != kid {
		t.Fatalf("facts %+v and %+v", added, disabled)
	}
	want := map[string]string{"kid": "second", "thumbprint": site.Thumbprint(&otherKey().PublicKey), "bits": "2048", "not_after": "2026-11-30T13:00:00Z"}
	if got := added[1].Detail; len(got) != len(want) || got["kid"] != want["kid"] || got["thumbprint"] != want["thumbprint"] || got["bits"] != want["bits"] || got["not_after"] != want["not_after"] {
		t.Errorf("the fact says %v, want %v", got, want)
	}
}
