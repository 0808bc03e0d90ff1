package serve

import (
	"context"
	"net/http"

	"github.com/google/uuid"
)

// RequestIDHeader carries the request id, both ways.
const RequestIDHeader = "X-Request-Id"

// record is what the kit knows of one request. Only the goroutine that serves
// the request writes to it.
type record struct {
	id     string
	caller string  // "host:<id>" or "token:<id>", once it is known
	quiet  bool    // succeeds too often to be worth a line above debug
	fail   Failure // nil: Fail
}

type recordKey struct{}

func recordOf(ctx context.Context) *record {
	rec, _ := ctx.Value(recordKey{}).(*record)
	return rec
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if rec := recordOf(ctx); rec != nil {
		return rec.id
	}
	return ""
}

// SetCaller notes who sent the request, for the request log. A door calls it
// once it has checked the credential.
func SetCaller(ctx context.Context, caller string) {
	if rec := recordOf(ctx); rec != nil {
		rec.caller = caller
	}
}

// Failure answers a request with what an error is in a door's own form.
type Failure func(w http.ResponseWriter, r *http.Request, err error)

// SetFailure says how the request of ctx fails if its handler panics. A door
// whose failures are not problems calls it first.
func SetFailure(ctx context.Context, f Failure) {
	if rec := recordOf(ctx); rec != nil {
		rec.fail = f
	}
}

// chooseID returns a trusted proxy's id if it is sane, else a new UUIDv7.
func chooseID(r *http.Request, proxies Proxies) string {
	if given := r.Header.Get(RequestIDHeader); saneID(given) && proxies.sent(r) {
		return given
	}
	return uuid.Must(uuid.NewV7()).String()
}

// saneID accepts 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-': nothing that
// could break a log line or a header.
func saneID(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
