package serve

import (
	"net/http"
	"strings"

	"interlock/internal/fault"
)

// maxBearer is more than any token that we minted needs.
const maxBearer = 512

var errNoBearer = fault.New(fault.Unauthenticated, "no_credential", "send one credential as Authorization: Bearer TOKEN")

// Bearer returns the bearer credential of r, one that we minted. It proves
// nothing yet.
func Bearer(r *http.Request) (string, error) { return BearerUpTo(r, maxBearer) }

// BearerUpTo is Bearer for a door whose credentials have up to max bytes.
func BearerUpTo(r *http.Request, max int) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", errNoBearer
	}
	scheme, token, ok := strings.Cut(given[0], " ")
	if !ok || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > max {
		return "", errNoBearer
	}
	return token, nil
}
