package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"interlock/internal/fault"
)

// Family is the kind of a minted token, shown as its prefix so that a scanner
// of leaked secrets (and a person) can tell what they found.
type Family string

// The families of bearer tokens.
const (
	EnrolToken     Family = "ilk_enr"  // one use, makes a host
	HostCredential Family = "ilk_host" // a host's bearer credential
	APIToken       Family = "ilk_api"  // an operator's API token
)

// Token is a minted bearer token: "<family>_<id>_<43 characters>". Only ID and
// Hash are ever stored; Value is shown once.
type Token struct {
	ID    string   // 16 hex digits, public, the record's key
	Value String   // the whole token, 256 random bits behind the id
	Hash  [32]byte // SHA-256 of the whole token
}

// Mint returns a new token of the family.
func Mint(f Family) Token {
	var id [8]byte
	var key [32]byte
	rand.Read(id[:]) // never fails: crypto/rand.Read aborts the program instead
	rand.Read(key[:])
	t := Token{ID: hex.EncodeToString(id[:])}
	v := string(f) + "_" + t.ID + "_" + base64.RawURLEncoding.EncodeToString(key[:])
	t.Value, t.Hash = New(v), sha256.Sum256([]byte(v))
	return t
}

// ErrMalformed is returned by Parse for anything that Mint did not shape.
var ErrMalformed = fault.New(fault.Unauthenticated, "invalid_token", "that token is not one of ours; copy it whole, with its prefix")

// Parse reads a presented token of the family: its id for the look-up and its
// hash for SameHash. It proves nothing about who holds it.
func Parse(f Family, presented string) (Token, error) {
	rest, ok := strings.CutPrefix(presented, string(f)+"_")
	if !ok || len(rest) != 16+1+43 || rest[16] != '_' {
		return Token{}, ErrMalformed
	}
	if b, err := hex.DecodeString(rest[:16]); err != nil || hex.EncodeToString(b) != rest[:16] {
		return Token{}, ErrMalformed
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(rest[17:]); err != nil {
		return Token{}, ErrMalformed
	}
	return Token{ID: rest[:16], Value: New(presented), Hash: sha256.Sum256([]byte(presented))}, nil
}

// SameHash compares two token hashes in constant time.
func SameHash(a, b [32]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
