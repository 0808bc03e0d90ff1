package credential

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

const (
	keySize   = 32 // bytes: AES-256
	nonceSize = 12
	tagSize   = 16
)

// Keyset is the keys that seal credentials: one of them, the primary, seals;
// each opens what it has sealed. It never changes, so it is safe for concurrent
// use, and it never prints a key.
type Keyset struct {
	primary string
	keys    []key // by age, each with an id of its own
}

type key struct {
	id        string
	value     secret.String // keySize bytes
	createdAt time.Time
}

// NewKeyset returns a keyset of one new key that is in no file: what it seals
// can't be opened once it is gone.
func NewKeyset(now time.Time) *Keyset {
	k := newKey(now)
	return &Keyset{primary: k.id, keys: []key{k}}
}

// newKey makes a key with a random id: two keysets that were made apart never
// have one id for different keys.
func newKey(now time.Time) key {
	var id [4]byte
	value := make([]byte, keySize)
	rand.Read(id[:])
	rand.Read(value)
	return key{id: "key_" + hex.EncodeToString(id[:]), value: secret.New(string(value)), createdAt: now.UTC().Truncate(time.Second)}
}

// with returns k and one more key, its primary.
func (k *Keyset) with(next key) *Keyset {
	return &Keyset{primary: next.id, keys: append(append([]key(nil), k.keys...), next)}
}

// Primary is the id of the key that seals.
func (k *Keyset) Primary() string { return k.primary }

func (k *Keyset) aead(id string) (cipher.AEAD, error) {
	for _, key := range k.keys {
		if key.id != id {
			continue
		}
		block, err := aes.NewCipher([]byte(key.value.Reveal()))
		if err != nil {
			return nil, err
		}
		return cipher.NewGCM(block)
	}
	return nil, errNoKey
}

// Why a credential does not open.
var (
	errNoKey    = errors.New("the keyset has not the key that sealed it")
	errTampered = errors.New("it was sealed for another tenant, app or revision, or was changed since")
)

// seal fills in KeyID, Nonce and Ciphertext of s, whose place is set already.
func (k *Keyset) seal(s Sealed, value secret.String) (Sealed, error) {
	aead, err := k.aead(k.primary)
	if err != nil {
		return Sealed{}, err
	}
	s.KeyID, s.Nonce = k.primary, make([]byte, nonceSize)
	rand.Read(s.Nonce)
	s.Ciphertext = aead.Seal(nil, s.Nonce, []byte(value.Reveal()), place(s.Tenant, s.App, s.Revision))
	return s, nil
}

func (k *Keyset) open(s Sealed) (secret.String, error) {
	aead, err := k.aead(s.KeyID)
	if err != nil {
		return secret.String{}, err
	}
	if len(s.Nonce) != nonceSize {
		return secret.String{}, errTampered
	}
	value, err := aead.Open(nil, s.Nonce, s.Ciphertext, place(s.Tenant, s.App, s.Revision))
	if err != nil {
		return secret.String{}, errTampered
	}
	return secret.New(string(value)), nil
}

// place is what a secret is bound to: fields with their lengths before them,
// so that no two places share an encoding.
func place(t tenant.ID, app catalog.AppID, revision int64) []byte {
	var b []byte
	for _, field := range []string{"interlock credential v1", string(t), string(app)} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(field)))
		b = append(b, field...)
	}
	return binary.BigEndian.AppendUint64(b, uint64(revision))
}
