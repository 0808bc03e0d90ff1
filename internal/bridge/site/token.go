package site

import (
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/tenant"
)

// Limits of a token.
const (
	MaxToken = 8 << 10 // bytes
	MaxLife  = 5 * time.Minute
	// Skew is how far a site's clock may be from ours, both ways.
	Skew  = 30 * time.Second
	maxID = 128 // bytes of a kid or a jti
)

// refusal is why a token was turned down, for the operator alone. It holds no
// word of the token.
type refusal string

func (r refusal) Error() string { return string(r) }

// What a token can be without anybody having looked a key up.
const (
	notCompact   refusal = "it is not three parts of base64url within the size limit, each in its one encoding"
	badHeader    refusal = "the header is not exactly alg, typ and kid, each a string once"
	badAlgorithm refusal = "alg is not RS256"
	badType      refusal = "typ is neither at+jwt nor JWT"
	badKID       refusal = "kid is not 1 to 128 printable ASCII characters"
	badSignature refusal = "the signature does not have the length that one of an RSA key has"
	badClaims    refusal = "the claims are not a JSON object with the known names, each once and of its type"
	badAudience  refusal = "aud is not one string"
	badTime      refusal = "a time is not a number of whole seconds between 1970 and 9999"
	badIssuer    refusal = "iss is not the id of a site"
	badClientID  refusal = "client_id is not the site"
	badSubject   refusal = "sub is missing"
	badTokenID   refusal = "jti is not 1 to 128 printable ASCII characters"
	badScope     refusal = "scope is not a list of words with one space between them"
	noTimes      refusal = "iat or exp is missing"
	badLife      refusal = "exp is not within 300 seconds after iat"
)

// token is what a compact JWS says, well-formed, and vouched for by nobody yet.
type token struct {
	compact string
	kid     string
	claims  claims
}

// parse reads a token without any cryptography. Of all the strings that a
// lenient decoder takes for the same token it accepts one, so that a token has
// no second form.
func parse(compact string) (token, error) {
	if len(compact) > MaxToken || strings.Count(compact, ".") != 2 {
		return token{}, notCompact
	}
	first, rest, _ := strings.Cut(compact, ".")
	second, third, _ := strings.Cut(rest, ".")
	head, headOK := decodePart(first)
	body, bodyOK := decodePart(second)
	signature, signatureOK := decodePart(third)
	if !headOK || !bodyOK || !signatureOK {
		return token{}, notCompact
	}
	kid, err := parseHeader(head)
	if err != nil {
		return token{}, err
	}
	if n := len(signature) * 8; n < minModulus || n > maxModulus {
		return token{}, badSignature
	}
	c, err := parseClaims(body)
	return token{compact: compact, kid: kid, claims: c}, err
}

// decodePart decodes base64url without padding. What would encode to other
// text (line breaks, spare bits) is refused.
func decodePart(s string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return b, err == nil && base64.RawURLEncoding.EncodeToString(b) == s
}

// parseHeader returns the kid. A header with anything besides alg, typ and kid
// is refused: what it would ask for (a key of its own, an encoding, an
// extension that must be understood) is nothing that a site may choose.
//
// Both types are taken as RFC 9068 and RFC 7519 write them: the signers are
// our sites, so there is no spelling to be lenient with.
func parseHeader(b []byte) (kid string, err error) {
	var h struct {
		Algorithm string `json:"alg"`
		Type      string `json:"typ"`
		KID       string `json:"kid"`
	}
	switch err := json.Unmarshal(b, &h, json.RejectUnknownMembers(true)); {
	case err != nil:
		return "", badHeader
	case h.Algorithm != string(jose.RS256):
		return "", badAlgorithm
	case h.Type != "at+jwt" && h.Type != "JWT":
		return "", badType
	case !isID(h.KID):
		return "", badKID
	}
	return h.KID, nil
}

// isID reports whether s is 1 to maxID printable ASCII characters but spaces.
func isID(s string) bool {
	return len(s) >= 1 && len(s) <= maxID && strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}

// claims are those of RFC 9068. The set is closed: a name that we don't know
// would be one that its author believes to be honoured.
type claims struct {
	Issuer    ID        `json:"iss"`
	Subject   tenant.ID `json:"sub"`
	Audience  audience  `json:"aud"`
	IssuedAt  instant   `json:"iat"`
	NotBefore instant   `json:"nbf"`
	Expires   instant   `json:"exp"`
	ID        string    `json:"jti"`
	Scope     string    `json:"scope"`
	ClientID  ID        `json:"client_id"`
}

func parseClaims(b []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(b, &c, json.RejectUnknownMembers(true)); err != nil {
		var r refusal
		if !errors.As(err, &r) {
			r = badClaims
		}
		return claims{}, r
	}
	life := c.Expires.Sub(c.IssuedAt.Time)
	switch {
	case !c.Issuer.wellFormed():
		return claims{}, badIssuer
	case c.Subject == "":
		return claims{}, badSubject
	case c.ClientID != "" && c.ClientID != c.Issuer:
		return claims{}, badClientID
	case !isID(c.ID):
		return claims{}, badTokenID
	case !isScope(c.Scope):
		return claims{}, badScope
	case c.IssuedAt.IsZero() || c.Expires.IsZero():
		return claims{}, noTimes
	case life <= 0 || life > MaxLife:
		return claims{}, badLife
	}
	return c, nil
}

// isScope reports whether s is scope tokens of RFC 6749 with single spaces
// between them, at least one.
func isScope(s string) bool {
	for word := range strings.SplitSeq(s, " ") {
		if word == "" || strings.IndexFunc(word, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) >= 0 {
			return false
		}
	}
	return true
}

// audience is the one receiver of a token: a string, or a list of exactly one.
type audience string

// UnmarshalJSONFrom refuses everything else with badAudience.
func (a *audience) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var list []string
	switch d.PeekKind() {
	case '"':
		list = make([]string, 1)
		if err := json.UnmarshalDecode(d, &list[0]); err != nil {
			return badAudience
		}
	case '[':
		if err := json.UnmarshalDecode(d, &list); err != nil {
			return badAudience
		}
	}
	if len(list) != 1 {
		return badAudience
	}
	*a = audience(list[0])
	return nil
}

// instant is a NumericDate of whole seconds. Zero: it is not there.
type instant struct{ time.Time }

// maxSeconds is the last second of the year 9999.
const maxSeconds = 253402300799

// UnmarshalJSONFrom refuses null, strings, fractions, exponents and times out
// of range with badTime.
func (i *instant) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return badTime
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 1 || n > maxSeconds {
		return badTime
	}
	i.Time = time.Unix(n, 0).UTC()
	return nil
}

// What is wrong with a well-formed token here and now.
const (
	otherAudience refusal = "aud names another receiver"
	expired       refusal = "it has expired"
	notYet        refusal = "it is not valid yet: iat or nbf lies ahead of our clock"
)

// check holds the claims against who we are and what time it is.
func (c claims) check(audience string, now time.Time) error {
	switch {
	case string(c.Audience) != audience:
		return otherAudience
	case !now.Before(c.Expires.Add(Skew)):
		return expired
	case now.Before(c.IssuedAt.Add(-Skew)), now.Before(c.NotBefore.Add(-Skew)):
		return notYet
	}
	return nil
}

// signedBy reports whether the key's owner made the token: RS256, whatever
// else the key could be used for.
func (t token) signedBy(k *rsa.PublicKey) bool {
	jws, err := jose.ParseSignedCompact(t.compact, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return false
	}
	_, err = jws.Verify(k)
	return err == nil
}
