package docs_test

import (
	"slices"
	"strings"
	"testing"

	"interlock/internal/hostapi"
)

func TestEveryCallOfTheHostProtocolHasItsRow(t *testing.T) {
	t.Parallel()
	const page = "docs/protocol.md"
	var documented []string
	for _, r := range rows(read(t, page), "## Calls") {
		call := words(r[0])[0]
		verb, short := strings.CutPrefix(call, "…/")
		switch {
		case short:
			documented = append(documented, hostapi.PathTask+verb)
		case strings.HasPrefix(call, "/"):
			documented = append(documented, call)
		}
	}
	real := []string{hostapi.PathEnroll, hostapi.PathRotate, hostapi.PathHeartbeat, hostapi.PathPoll, hostapi.PathDecide}
	for _, verb := range []string{"ack", "renew", "events", "result", "release"} {
		real = append(real, hostapi.PathTask+verb)
	}
	slices.Sort(documented)
	wantSame(t, page, documented, real)
}
