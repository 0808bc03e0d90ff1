package site

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/fault"
)

// Bounds of an RSA key that a site may use.
const (
	minModulus  = 2048 // bits
	maxModulus  = 8192
	minExponent = 65537
	maxKeyText  = 16 << 10 // bytes
)

// ErrPrivateKey refuses a key that should never have left its site.
var ErrPrivateKey = fault.New(fault.Invalid, "private_key", "that is a private key: it must never leave the site, so take it for known to others, make a new pair there, and register the public key alone")

// KeyInput is a public key as an operator hands it in.
type KeyInput struct {
	// Text is a PEM block ("PUBLIC KEY" or "RSA PUBLIC KEY") or a JWK.
	Text string
	// KID is what the site's tokens will name; "": the JWK's own, else the
	// key's thumbprint.
	KID       string
	NotBefore time.Time // zero: good at once
	NotAfter  time.Time // exclusive; zero: open
}

// Thumbprint is the RFC 7638 thumbprint of a key, by SHA-256, in base64url: a
// name for it that both sides can work out.
func Thumbprint(k *rsa.PublicKey) string {
	sum, err := (&jose.JSONWebKey{Key: k}).Thumbprint(crypto.SHA256)
	if err != nil {
		panic("thumbprint of an RSA key: " + err.Error()) // it has one always
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// read checks the input and returns the key that it describes, registered at
// now. Faults private_key and invalid_site_key.
func (in KeyInput) read(now time.Time) (Key, error) {
	public, kid, err := readPublic(in.Text)
	if err != nil {
		return Key{}, err
	}
	k := Key{KID: in.KID, Public: public, NotBefore: in.NotBefore.UTC(), NotAfter: in.NotAfter.UTC(), CreatedAt: now}
	if k.KID == "" {
		k.KID = kid
	}
	if k.KID == "" {
		k.KID = Thumbprint(public)
	}
	wrong := publicProblems(public)
	wrong.Require(isID(k.KID), "its kid is not 1 to %d printable ASCII characters without spaces", maxID)
	wrong.Require(k.NotAfter.IsZero() || k.NotAfter.After(now), "its end of use has passed")
	wrong.Require(k.NotAfter.IsZero() || k.NotAfter.After(k.NotBefore), "its use ends before it starts")
	return k, wrong.Refuse("invalid_site_key", "the key")
}

func publicProblems(k *rsa.PublicKey) (wrong fault.Problems) {
	bits := k.N.BitLen()
	wrong.Require(bits >= minModulus && bits <= maxModulus, "it has %d bits, not %d to %d", bits, minModulus, maxModulus)
	wrong.Require(k.N.Bit(0) == 1, "its modulus is even")
	wrong.Require(k.E >= minExponent && k.E <= math.MaxInt32 && k.E%2 == 1, "its exponent is not an odd number from %d to %d", minExponent, math.MaxInt32)
	return wrong
}

func invalidKey(why string) error {
	return fault.New(fault.Invalid, "invalid_site_key", "correct the key: %s", why)
}

func readPublic(text string) (k *rsa.PublicKey, kid string, err error) {
	text = strings.TrimSpace(text)
	switch {
	case len(text) > maxKeyText:
		return nil, "", invalidKey("it is longer than a public key can be")
	case HoldsPrivate(text):
		return nil, "", ErrPrivateKey
	case strings.HasPrefix(text, "-----BEGIN "):
		k, err = readPEM(text)
		return k, "", err
	case strings.HasPrefix(text, "{"):
		return readJWK(text)
	}
	return nil, "", invalidKey("it is neither a PEM block, which begins with -----BEGIN PUBLIC KEY-----, nor a JWK, which is a JSON object")
}

// HoldsPrivate reports whether there is the private half of a key in the text: a
// PEM block of one, or a member of a JWK, also of one within a set. Who hands a
// key in asks before it leaves the machine.
func HoldsPrivate(text string) bool {
	var doc any
	return strings.Contains(text, "PRIVATE KEY") || json.Unmarshal([]byte(text), &doc, jsontext.AllowDuplicateNames(true)) == nil && hasSecret(doc)
}

func hasSecret(doc any) bool {
	switch doc := doc.(type) {
	case []any:
		return slices.ContainsFunc(doc, hasSecret)
	case map[string]any:
		for name, value := range doc {
			if slices.Contains(secretMembers, name) || hasSecret(value) {
				return true
			}
		}
	}
	return false
}

func readPEM(text string) (*rsa.PublicKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, invalidKey("it is not one whole PEM block")
	}
	var k any
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		k, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		k, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		return nil, invalidKey("it is a certificate; export its public key: openssl x509 -in FILE -noout -pubkey")
	default:
		return nil, invalidKey("its PEM block is neither a PUBLIC KEY nor an RSA PUBLIC KEY")
	}
	if err != nil {
		return nil, invalidKey("its PEM block is damaged, or holds a kind of key that is not known here")
	}
	public, ok := k.(*rsa.PublicKey)
	if !ok {
		return nil, invalidKey("it is not an RSA key, and RS256 needs one")
	}
	return public, nil
}

// Members of a JWK (RFC 7518): those that hold a secret, and those that the
// public key of a site may have.
var (
	secretMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"}
	publicMembers = []string{"kty", "n", "e", "kid", "alg", "use", "key_ops", "ext"}
)

func readJWK(text string) (*rsa.PublicKey, string, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return nil, "", invalidKey("it is not one JSON object with each name once")
	}
	for name := range members {
		if !slices.Contains(publicMembers, name) {
			return nil, "", invalidKey("a JWK has kty, n and e here, and besides them at most kid, alg, use, key_ops and ext")
		}
	}
	var jwk struct {
		Type       string   `json:"kty"`
		Modulus    string   `json:"n"`
		Exponent   string   `json:"e"`
		KID        string   `json:"kid"`
		Algorithm  *string  `json:"alg"`
		Use        *string  `json:"use"`
		Operations []string `json:"key_ops"`
		Exportable bool     `json:"ext"`
	}
	if err := json.Unmarshal([]byte(text), &jwk); err != nil {
		return nil, "", invalidKey("a member of the JWK has the wrong type")
	}
	n, modulusOK := readInteger(jwk.Modulus)
	e, exponentOK := readInteger(jwk.Exponent)
	var wrong fault.Problems
	wrong.Require(jwk.Type == "RSA", "kty is not RSA")
	wrong.Require(modulusOK, "n is not an integer in base64url")
	wrong.Require(exponentOK && e.BitLen() < 32, "e is not a small integer in base64url")
	wrong.Require(jwk.Algorithm == nil || *jwk.Algorithm == string(jose.RS256), "alg is not RS256")
	wrong.Require(jwk.Use == nil || *jwk.Use == "sig", "use is not sig")
	wrong.Require(jwk.Operations == nil || slices.Equal(jwk.Operations, []string{"verify"}), "key_ops is not verify alone")
	if err := wrong.Refuse("invalid_site_key", "the key"); err != nil {
		return nil, "", err
	}
	return &rsa.PublicKey{N: n, E: int(e.Int64())}, jwk.KID, nil
}

// readInteger reads a Base64urlUInt of RFC 7518: no padding, no leading zero.
func readInteger(s string) (*big.Int, bool) {
	b, ok := decodePart(s)
	return new(big.Int).SetBytes(b), ok && len(b) > 0 && b[0] != 0
}
