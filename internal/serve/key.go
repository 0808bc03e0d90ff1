package serve

import (
	"net/http"

	"interlock/internal/fault"
)

// KeyHeader carries a call's idempotency key.
const KeyHeader = "Idempotency-Key"

var errKey = fault.New(fault.Invalid, "invalid_idempotency_key", "send an Idempotency-Key header of 1 to 200 printable ASCII characters, new for each request and the same for its repeats")

// IdempotencyKey returns the key of a call that changes something.
func IdempotencyKey(r *http.Request) (string, error) {
	given := r.Header.Values(KeyHeader)
	if len(given) != 1 || !saneKey(given[0]) {
		return "", errKey
	}
	return given[0], nil
}

// saneKey reports whether key may be an idempotency key.
func saneKey(key string) bool {
	if len(key) == 0 || len(key) > 200 {
		return false
	}
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
