package serve

import (
	"net/http"

	"interlock/internal/fault"
)

var errKey = fault.New(fault.Invalid, "idempotency_key", "send an Idempotency-Key header of 1 to 200 printable ASCII characters, new for each request and the same for its repeats")

// IdempotencyKey returns the key of a call that changes something.
func IdempotencyKey(r *http.Request) (string, error) {
	given := r.Header.Values("Idempotency-Key")
	if len(given) != 1 || !SaneKey(given[0]) {
		return "", errKey
	}
	return given[0], nil
}

// SaneKey reports whether key may be an idempotency key.
func SaneKey(key string) bool {
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
