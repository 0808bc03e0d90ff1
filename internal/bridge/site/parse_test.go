package site

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

// FuzzParse: whatever is taken has one form and keeps within every limit, and
// no input makes the parser fail otherwise than with a refusal.
func FuzzParse(f *testing.F) {
	enc := base64.RawURLEncoding.EncodeToString
	header := enc([]byte(`{"alg":"RS256","typ":"JWT","kid":"k"}`))
	claims := enc([]byte(`{"iss":"site_0123456789abcdef","sub":"t","aud":["a"],"iat":1,"nbf":1,"exp":61,"jti":"j","scope":"a b","client_id":"site_0123456789abcdef"}`))
	signature := strings.Repeat("A", 342)
	good := header + "." + claims + "." + signature
	if _, err := parse(good); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{good, "", "..", good + "=", good[:40] + "\n" + good[40:], header + ".e30." + signature, header + "." + enc([]byte(`{"exp":1e400}`)) + "." + signature,
		enc([]byte(`{"alg":"none"}`)) + "." + claims + ".", enc([]byte(`{"alg":"RS256","alg":"none"}`)) + "." + claims + "." + signature} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parse(s)
		if err != nil {
			if _, ok := err.(refusal); !ok {
				t.Fatalf("refused with %T: %v", err, err)
			}
			return
		}
		parts := strings.Split(s, ".")
		if len(s) > MaxToken || len(parts) != 3 {
			t.Fatalf("taken with %d bytes and %d parts", len(s), len(parts))
		}
		for _, p := range parts {
			if b, err := base64.RawURLEncoding.Strict().DecodeString(p); err != nil || enc(b) != p {
				t.Fatalf("a part with a second form: %q", p)
			}
		}
		c := got.claims
		if life := c.Expires.Sub(c.IssuedAt.Time); life <= 0 || life > MaxLife || c.Expires.After(time.Unix(maxSeconds, 0)) {
			t.Fatalf("a life of %v that ends at %v", life, c.Expires)
		}
		if !isID(got.kid) || !isID(c.ID) || !c.Issuer.wellFormed() || c.Subject == "" || !isScope(c.Scope) {
			t.Fatalf("taken with %+v", got)
		}
	})
}
