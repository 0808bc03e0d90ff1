package site

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"

	"interlock/internal/tenant"
)

// Signer makes tokens as a site does, with the site's private key. It is the
// other side of Authenticate: the demo is a site with it.
type Signer struct {
	Key      *rsa.PrivateKey
	KID      string    // under which the public key is registered
	Issuer   ID        // the site
	Subject  tenant.ID // the site's tenant
	Audience string    // of the server
}

// signedFor is how long a token of ours lives: enough for one call, and for
// clocks that differ a little.
const signedFor = time.Minute

// Token returns a new token for one call, with scopes separated by spaces. It
// costs an RSA signature, about a millisecond.
func (s Signer) Token(scope string, now time.Time) (string, error) {
	key := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: s.Key, KeyID: s.KID}}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	payload, err := json.Marshal(struct {
		Issuer   ID        `json:"iss"`
		Subject  tenant.ID `json:"sub"`
		Audience string    `json:"aud"`
		IssuedAt int64     `json:"iat"`
		Expires  int64     `json:"exp"`
		ID       string    `json:"jti"`
		Scope    string    `json:"scope"`
	}{s.Issuer, s.Subject, s.Audience, now.Unix(), now.Add(signedFor).Unix(), rand.Text(), scope})
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed.CompactSerialize()
}

// PublicPEM is the public half of the key, as KeyInput.Text takes it.
func (s Signer) PublicPEM() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(&s.Key.PublicKey)
	if err != nil {
		return "", fmt.Errorf("encode public key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}
