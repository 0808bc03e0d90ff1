// Package secret holds values that never print, even those that travel, and
// mints the bearer tokens that we hand out and store only as hashes.
package secret

import (
	"crypto/subtle"
	"log/slog"
)

const redacted = "[redacted]"

// String is a secret that every printer, JSON encoder and slog handler shows
// as "[redacted]", also as a field of a struct. The zero value is empty.
type String struct{ p *string }

// New wraps s.
func New(s string) String {
	if s == "" {
		return String{}
	}
	return String{&s}
}

// Reveal is the one way out: a search for it lists every use of a secret.
func (s String) Reveal() string {
	if s.p == nil {
		return ""
	}
	return *s.p
}

// Empty reports whether there is no secret.
func (s String) Empty() bool { return s.p == nil }

// Equal compares in constant time for values of one length.
func (s String) Equal(o String) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(o.Reveal())) == 1
}

// The printers below never show the value.
func (s String) String() string               { return redacted }
func (s String) GoString() string             { return redacted }
func (s String) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (s String) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s String) MarshalText() ([]byte, error) { return []byte(redacted), nil }
