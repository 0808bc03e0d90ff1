package serve

import (
	"net/http"
	"strings"

	"interlock/internal/fault"
)

// maxBearer is more than any token of ours needs.
const maxBearer = 512

var errNoBearer = fault.New(fault.Unauthenticated, "no_credential", "send one credential as Authorization: Bearer TOKEN")

// Bearer returns the bearer credential of r. It proves nothing yet.
func Bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", errNoBearer
	}
	scheme, token, ok := strings.Cut(given[0], " ")
	if !ok || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > maxBearer {
		return "", errNoBearer
	}
	return token, nil
}
