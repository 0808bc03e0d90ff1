package serve_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/serve"
)

var update = flag.Bool("update", false, "rewrite golden files")

// rows are one failure of each kind, each code with a status of its own, and
// each reason of a decision that did not come.
func rows() map[string]error {
	out := map[string]error{}
	for k := fault.Internal; k <= fault.Unauthenticated; k++ {
		out["kind "+k.String()] = fault.New(k, "some_"+k.String(), "do this")
	}
	for code, kind := range map[string]fault.Kind{"idempotency_conflict": fault.Conflict, "body_too_large": fault.Invalid,
		"unsupported_media_type": fault.Invalid, "method_not_allowed": fault.Invalid, "protocol_version": fault.Invalid, "storage_full": fault.Unavailable} {
		out["code "+code] = fault.New(kind, code, "do this")
	}
	for _, r := range llm.Reasons {
		out["reason "+string(r)] = fmt.Errorf("decide: %w", &llm.Unavailable{Reason: r, Detail: "do this", RetryAfter: 1500 * time.Millisecond})
	}
	out["unclassified"] = errors.New("canary")
	out["client gone"] = fmt.Errorf("read: %w", context.Canceled)
	out["deadline"] = fmt.Errorf("read: %w", context.DeadlineExceeded)
	return out
}

func TestEveryKindOfFailureHasItsStatusAndType(t *testing.T) {
	t.Parallel()
	failures := rows()
	server, _ := front(t, nil, func(m *serve.Mux, log *slog.Logger) {
		m.HandleFunc("GET /fail", func(w http.ResponseWriter, r *http.Request) {
			serve.Fail(w, r, log, failures[r.URL.Query().Get("row")])
		})
	})
	var table strings.Builder
	for name := range failures {
		res, body := send(t, "GET", server.URL+"/fail?row="+strings.ReplaceAll(name, " ", "%20"), "")
		p := problemOf(t, res, body)
		if strings.Contains(body, "canary") {
			t.Errorf("%s: the cause reached the caller: %s", name, body)
		}
		fmt.Fprintf(&table, "%-32s %d %-45s retryable=%-5v Retry-After=%q challenge=%v\n", name, p.Status, p.Type, p.Retryable,
			res.Header.Get("Retry-After"), res.Header.Get("WWW-Authenticate") != "")
	}
	golden(t, "testdata/problems.golden", sortedLines(table.String()))
}

func TestTheCauseOfAFailureOfOursIsLoggedBesideTheRequestID(t *testing.T) {
	t.Parallel()
	server, log := front(t, nil, func(m *serve.Mux, l *slog.Logger) {
		m.HandleFunc("GET /fail", func(w http.ResponseWriter, r *http.Request) {
			serve.Fail(w, r, l, errors.New("the disk is gone"))
		})
	})
	res, _ := send(t, "GET", server.URL+"/fail", "")
	id := res.Header.Get(serve.RequestIDHeader)
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "the disk is gone") && strings.Contains(line, id) {
			return
		}
	}
	t.Errorf("no line has both the cause and request id %s:\n%s", id, log)
}

func sortedLines(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// golden compares got with a file, or rewrites it under -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; rewrite it with -update if that is meant\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}
