package site_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"
	"time"
)

// Signatures of other kinds, over the same input.
func hs256(secret []byte) func(string) []byte {
	return func(input string) []byte {
		m := hmac.New(sha256.New, secret)
		m.Write([]byte(input))
		return m.Sum(nil)
	}
}

func ps256(k *rsa.PrivateKey) func(string) []byte {
	return func(input string) []byte {
		sum := sha256.Sum256([]byte(input))
		sig, err := rsa.SignPSS(rand.Reader, k, crypto.SHA256, sum[:], nil)
		if err != nil {
			panic(err)
		}
		return sig
	}
}

func rs512(k *rsa.PrivateKey) func(string) []byte {
	return func(input string) []byte {
		sum := sha512.Sum512([]byte(input))
		sig, err := rsa.SignPKCS1v15(nil, k, crypto.SHA512, sum[:])
		if err != nil {
			panic(err)
		}
		return sig
	}
}

func es256(input string) []byte {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte(input))
	sig, err := ecdsa.SignASN1(rand.Reader, k, sum[:])
	if err != nil {
		panic(err)
	}
	return sig
}

func always(sig []byte) func(string) []byte { return func(string) []byte { return sig } }

// R-BRIDGE-1, R-BRIDGE-5: the tokens that libraries were seen to take, or to
// fall over. Each is good but for what its name says, and each would be taken
// without that: the first row is the proof.
func TestHostileTokensAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := siteKey()
	h, c, sign := w.header(), w.claims, rs256(key)
	now := w.clock.Now().Unix()
	w.wantGood("the token that the others are made of", forge(h, c(), sign))

	pem := []byte(publicPEM(t, key))
	own := object{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(otherKey().N.Bytes()), "e": "AQAB"}
	good := forge(h, c(), sign)
	end := strings.LastIndexByte(good, '.') + 1
	expired := c().with("iat", now-400).with("exp", now-200)
	raw := func(o object, from, to string) text { return text(strings.Replace(o.String(), from, to, 1)) }
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range []struct{ id, what, token, reason string }{
		{"T-01", "alg none without a signature", forge(h.with("alg", "none"), c(), always(nil)), "alg is not RS256"},
		{"T-02", "HS256 with the public PEM as its secret", forge(h.with("alg", "HS256"), c(), hs256(pem)), "alg is not RS256"},
		{"T-03", "expired, with a claim EXP in the future", forge(h, expired.with("EXP", now+60), sign), "claims are not"},
		{"T-04", "SCOPE behind scope", forge(h, raw(c(), `"sub"`, `"SCOPE":"admin","sub"`), sign), "claims are not"},
		{"T-05", "scope twice", forge(h, raw(c(), `"sub"`, `"scope":"admin","sub"`), sign), "claims are not"},
		{"T-06", "an extension that must be understood (crit)", forge(h.with("crit", []string{"exp2"}).with("exp2", 1), c(), sign), "header is not exactly"},
		{"T-07", "b64 false, with crit", forge(h.with("crit", []string{"b64"}).with("b64", false), c(), sign), "header is not exactly"},
		{"T-08", "no exp", forge(h, c().without("exp"), sign), "iat or exp is missing"},
		{"T-09", "exp as a string", forge(h, c().with("exp", "9999999999"), sign), "a time is not"},
		{"T-10", "exp at 1e18", forge(h, raw(c(), `"exp":`, `"exp":1000000000000000000,"nbf":`), sign), "a time is not"},
		{"T-11", "no aud", forge(h, c().without("aud"), sign), "aud names another"},
		{"T-12", "iat an hour ahead", forge(h, c().with("iat", now+3600).with("exp", now+3660), sign), "not valid yet"},
		{"T-13", "scope as an array", forge(h, c().with("scope", []string{scope}), sign), "claims are not"},
		{"T-14", "typ of an identity token", forge(h.with("typ", "id+jwt"), c(), sign), "typ is neither"},
		{"T-15", "a header jwk with a key of its own", forge(h.with("jwk", own), c(), rs256(otherKey())), "header is not exactly"},
		{"T-16", "spare bits in the last character", good[:len(good)-1] + neighbour(good[len(good)-1]), "three parts of base64url"},
		{"T-17", "a line break inside the signature", good[:end+40] + "\n" + good[end+40:], "three parts of base64url"},
		{"T-18", "padding behind the signature", good + "==", "three parts of base64url"},
		{"T-19", "a second JSON value behind the claims", forge(h, text(c().String()+`{}`), sign), "claims are not"},
		{"T-20", "a million dots", strings.Repeat(".", 1_000_000), "three parts of base64url"},
		{"T-21", "a key of 1024 bits", forge(h, c(), rs256(small)), "length that one of an RSA key has"},
		{"T-22", "jku", forge(h.with("jku", "https://evil.example/keys"), c(), sign), "header is not exactly"},
		{"T-23", "x5u", forge(h.with("x5u", "https://evil.example/cert"), c(), sign), "header is not exactly"},
		{"T-24", "x5c", forge(h.with("x5c", []string{"MIIB"}), c(), sign), "header is not exactly"},
		{"T-25", "no kid", forge(h.without("kid"), c(), sign), "kid is not"},

		{"CVE-2025-30204", "as many parts as 8 KiB hold", strings.Repeat("a.", 4096), "three parts of base64url"},
		{"CVE-2025-27144", "dots behind a good token", good + strings.Repeat(".", 4000), "three parts of base64url"},
		{"CVE-2025-22868", "dots before the first part, beyond the limit", strings.Repeat(".", 1<<20) + good, "three parts of base64url"},
		{"WS-2023-0431", "a JWE with a billion rounds (PBES2 p2c), five parts", jwe(), "three parts of base64url"},
		{"CVE-2023-49290", "the same header on three parts", forge(h.with("alg", "PBES2-HS256+A128KW").with("p2c", 1_000_000_000), c(), sign), "header is not exactly"},
		{"CVE-2024-51744", "expired and wrongly signed: neither hides the other", forge(h, expired, rs256(otherKey())), "expired"},
		{"CVE-2020-26160", "an empty list of audiences", forge(h, c().with("aud", []string{}), sign), "aud is not one string"},
		{"CVE-2020-26160", "a list with null", forge(h, raw(c(), `"aud":"`+audience+`"`, `"aud":[null]`), sign), "aud names another"},
		{"CVE-2015-9235", "HS256 with the modulus as its secret", forge(h.with("alg", "HS256"), c(), hs256(key.N.Bytes())), "alg is not RS256"},
		{"jwt-go PR 34", "alg None", forge(h.with("alg", "None"), c(), always(nil)), "alg is not RS256"},
		{"jwt-go PR 252", "alg none with a good signature", forge(h.with("alg", "nOnE"), c(), sign), "alg is not RS256"},
		{"goiabada 81", "PS256 with the site's own key", forge(h.with("alg", "PS256"), c(), ps256(key)), "alg is not RS256"},
		{"goiabada 81", "PS256 under the name of RS256", forge(h, c(), ps256(key)), "not one of the key"},
		{"goiabada 81", "RS512 with the site's own key", forge(h.with("alg", "RS512"), c(), rs512(key)), "alg is not RS256"},
		{"goiabada 81", "RS512 under the name of RS256", forge(h, c(), rs512(key)), "not one of the key"},
		{"goiabada 81", "ES256 with a key of its own", forge(h.with("alg", "ES256"), c(), es256), "alg is not RS256"},
		{"CVE-2022-21449", "a signature of zeros", forge(h, c(), always(make([]byte, 256))), "not one of the key"},
		{"CVE-2022-21449", "a signature that is the number one", forge(h, c(), always(new(big.Int).SetInt64(1).FillBytes(make([]byte, 256)))), "not one of the key"},
		{"CVE-2022-21449", "a signature that is the modulus", forge(h, c(), always(key.N.Bytes())), "not one of the key"},
		{"CVE-2022-21449", "no signature", forge(h, c(), always(nil)), "length that one of an RSA key has"},
		{"CVE-2022-21449", "a signature of one byte", forge(h, c(), always([]byte{0})), "length that one of an RSA key has"},
		{"CVE-2022-21449", "a signature with a zero before it", forge(h, c(), func(in string) []byte { return append([]byte{0}, sign(in)...) }), "not one of the key"},
		{"CVE-2022-21449", "a signature with a zero behind it", forge(h, c(), func(in string) []byte { return append(sign(in), 0) }), "not one of the key"},
		{"CVE-2022-21449", "a signature longer than any key", forge(h, c(), always(bytes.Repeat([]byte{1}, 1025))), "length that one of an RSA key has"},
		{"CVE-2018-0114", "a jwk of its own, and the kid of the site's key", forge(h.with("jwk", own.with("kid", kid)), c(), rs256(otherKey())), "header is not exactly"},
	} {
		w.wantRefused(row.id+" "+row.what, row.token, row.reason)
	}
	if log := w.log.String(); strings.Contains(log, good[:20]) || strings.Contains(log, good[end:end+20]) {
		t.Errorf("the log holds a token:\n%s", log)
	}
	w.wantGood("what the altered ones were made of, not spent by them", good)
}

// neighbour is the base64url character whose value differs in the lowest bit:
// of 256 bytes, the last character has four bits to spare.
func neighbour(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

func jwe() string {
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"PBES2-HS256+A128KW","enc":"A128GCM","p2s":"c2FsdA","p2c":1000000000}`))
	return header + ".AA.AA.AA.AA"
}

// R-BRIDGE-1: what else a header or a claim can be.
func TestEachPartOfATokenIsStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h, c, sign := w.header(), w.claims(), rs256(siteKey())
	now := w.clock.Now().Unix()
	raw := func(o object, from, to string) text {
		if !strings.Contains(o.String(), from) {
			t.Fatalf("%s is not in %s", from, o)
		}
		return text(strings.Replace(o.String(), from, to, 1))
	}
	long := strings.Repeat("x", 129)
	for what, row := range map[string]struct{ token, reason string }{
		"nothing":                          {"", "three parts"},
		"two dots alone":                   {"..", "header is not exactly"},
		"a token beyond 8 KiB":             {forge(h, c.with("scope", strings.Repeat("x", 9000)), sign), "three parts"},
		"blanks around it":                 {" " + forge(h, c, sign), "three parts"},
		"standard base64":                  {strings.NewReplacer("-", "+", "_", "/").Replace(forge(h, c.with("scope", "???>>>~~~"), always(bytes.Repeat([]byte{0xfb}, 256)))), "three parts"},
		"a header that is an array":        {forge(text(`["RS256"]`), c, sign), "header is not exactly"},
		"a header that is not UTF-8":       {forge(text("{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"\xff\"}"), c, sign), "header is not exactly"},
		"alg twice":                        {forge(raw(h, `{`, `{"alg":"none",`), c, sign), "header is not exactly"},
		"ALG beside alg":                   {forge(h.with("ALG", "none"), c, sign), "header is not exactly"},
		"alg in lower case":                {forge(h.with("alg", "rs256"), c, sign), "alg is not RS256"},
		"no alg":                           {forge(h.without("alg"), c, sign), "alg is not RS256"},
		"no typ":                           {forge(h.without("typ"), c, sign), "typ is neither"},
		"typ in lower case":                {forge(h.with("typ", "jwt"), c, sign), "typ is neither"},
		"a kid that is a number":           {forge(h.with("kid", 1), c, sign), "header is not exactly"},
		"a kid of 129 characters":          {forge(h.with("kid", long), c, sign), "kid is not"},
		"a kid with a zero byte":           {forge(h.with("kid", "../../etc/passwd\x00"), c, sign), "kid is not"},
		"a kid with spaces":                {forge(h.with("kid", "' OR 1=1 --"), c, sign), "kid is not"},
		"compressed claims (zip)":          {forge(h.with("zip", "DEF"), c, sign), "header is not exactly"},
		"claims that are an array":         {forge(h, text(`[]`), sign), "claims are not"},
		"no claims":                        {forge(h, text(``), sign), "claims are not"},
		"claims that are null":             {forge(h, text(`null`), sign), "iss is not"},
		"a claim that is not known":        {forge(h, c.with("role", "admin"), sign), "claims are not"},
		"no iss":                           {forge(h, c.without("iss"), sign), "iss is not"},
		"an iss that is no site's id":      {forge(h, c.with("iss", "https://shop.example"), sign), "iss is not"},
		"an iss in upper case":             {forge(h, c.with("iss", strings.ToUpper(string(w.site.ID))), sign), "iss is not"},
		"an iss that is null":              {forge(h, c.with("iss", nil), sign), "iss is not"},
		"no sub":                           {forge(h, c.without("sub"), sign), "sub is missing"},
		"aud of another receiver":          {forge(h, c.with("aud", "https://other.example"), sign), "aud names another"},
		"aud with a slash more":            {forge(h, c.with("aud", audience+"/"), sign), "aud names another"},
		"a list of two audiences":          {forge(h, c.with("aud", []string{audience, "https://other.example"}), sign), "aud is not one string"},
		"the same audience twice":          {forge(h, c.with("aud", []string{audience, audience}), sign), "aud is not one string"},
		"aud as an object":                 {forge(h, c.with("aud", object{"x": audience}), sign), "aud is not one string"},
		"aud as null":                      {forge(h, c.with("aud", nil), sign), "aud is not one string"},
		"aud as a number":                  {forge(h, c.with("aud", 7), sign), "aud is not one string"},
		"no iat":                           {forge(h, c.without("iat"), sign), "iat or exp is missing"},
		"iat as null":                      {forge(h, c.with("iat", nil), sign), "a time is not"},
		"iat with a fraction":              {forge(h, c.with("iat", float64(now)+.5), sign), "a time is not"},
		"exp with an exponent":             {forge(h, raw(c, `"exp":`, `"exp":2e9,"nbf":`), sign), "a time is not"},
		"exp of zero":                      {forge(h, c.with("exp", 0), sign), "a time is not"},
		"exp below zero":                   {forge(h, c.with("exp", -now), sign), "a time is not"},
		"exp beyond 64 bits":               {forge(h, raw(c, `"exp":`, `"exp":99999999999999999999,"nbf":`), sign), "a time is not"},
		"nbf as a string":                  {forge(h, c.with("nbf", "0"), sign), "a time is not"},
		"nbf as null":                      {forge(h, c.with("nbf", nil), sign), "a time is not"},
		"a life of no time":                {forge(h, c.with("exp", now), sign), "within 300 seconds"},
		"a life that ends before it began": {forge(h, c.with("iat", now+10).with("exp", now+5), sign), "within 300 seconds"},
		"a life of 301 seconds":            {forge(h, c.with("exp", now+301), sign), "within 300 seconds"},
		"no jti":                           {forge(h, c.without("jti"), sign), "jti is not"},
		"an empty jti":                     {forge(h, c.with("jti", ""), sign), "jti is not"},
		"a jti of 129 characters":          {forge(h, c.with("jti", long), sign), "jti is not"},
		"a jti with a line break":          {forge(h, c.with("jti", "a\nb"), sign), "jti is not"},
		"a jti that is a number":           {forge(h, c.with("jti", 7), sign), "claims are not"},
		"no scope":                         {forge(h, c.without("scope"), sign), "scope is not"},
		"two blanks in the scope":          {forge(h, c.with("scope", "a  b"), sign), "scope is not"},
		"a blank before the scope":         {forge(h, c.with("scope", " a"), sign), "scope is not"},
		"a tab in the scope":               {forge(h, c.with("scope", "a\tb"), sign), "scope is not"},
		"a quote in the scope":             {forge(h, c.with("scope", `a"b`), sign), "scope is not"},
		"a client_id of another site":      {forge(h, c.with("client_id", "site_0000000000000000"), sign), "client_id is not"},
	} {
		w.wantRefused(what, row.token, row.reason)
	}
	for what, token := range map[string]string{
		"typ of RFC 9068":              forge(h.with("typ", "at+jwt"), w.claims(), sign),
		"a list of one audience":       forge(h, w.claims().with("aud", []string{audience}), sign),
		"a client_id that is the site": forge(h, w.claims().with("client_id", string(w.site.ID)), sign),
		"a life of 300 seconds":        forge(h, w.claims().with("exp", now+300), sign),
		"an nbf that has passed":       forge(h, w.claims().with("nbf", now-1), sign),
		"a jti of 128 characters":      forge(h, w.claims().with("jti", long[1:]), sign),
	} {
		w.wantGood(what, token)
	}
}

// R-BRIDGE-1: up to half a minute between the clocks is forgiven, both ways.
func TestATokenIsGoodForItsTimeAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.clock.Now().Unix()
	for what, row := range map[string]struct {
		iat, exp, nbf int64 // seconds from now; nbf 0: none
		reason        string
	}{
		"made now":                               {0, 60, 0, ""},
		"expired 29 seconds ago":                 {-89, -29, 0, ""},
		"expired 30 seconds ago":                 {-90, -30, 0, "expired"},
		"expired long ago":                       {-4000, -3940, 0, "expired"},
		"made by a clock that is 30 s ahead":     {30, 90, 0, ""},
		"made by a clock that is 31 s ahead":     {31, 91, 0, "not valid yet"},
		"not before a time that is 30 s ahead":   {0, 60, 30, ""},
		"not before a time that is 31 s ahead":   {0, 60, 31, "not valid yet"},
		"the longest life, at its end":           {-329, -29, 0, ""},
		"the longest life, before its beginning": {30, 330, 0, ""},
	} {
		c := w.claims().with("iat", now+row.iat).with("exp", now+row.exp)
		if row.nbf != 0 {
			c = c.with("nbf", now+row.nbf)
		}
		token := forge(w.header(), c, rs256(siteKey()))
		if row.reason == "" {
			w.wantGood(what, token)
		} else {
			w.wantRefused(what, token, row.reason)
		}
	}
	token := w.token(w.signer)
	w.clock.Advance(90 * time.Second)
	w.wantRefused("a token of ours when its minute and the forgiven half have passed", token, "expired")
}
