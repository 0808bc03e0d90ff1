package operators_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"testing"

	"interlock/internal/serve"
	"interlock/internal/serve/operators"
)

var update = flag.Bool("update", false, "rewrite golden files")

// document is what the door serves at its openapi.json, with no room behind it.
func document(t *testing.T) []byte {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	m := serve.NewMux(log)
	if err := operators.New(operators.Config{Logger: log}).Mount(m); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", operators.PathOpenAPI, nil))
	return w.Body.Bytes()
}

func TestTheAPIIsDescribedAsItWas(t *testing.T) {
	t.Parallel()
	got := append(document(t), '\n')
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the document differs from %s: programs in the field keep to the old one; rewrite it with -update if that is meant", file)
	}
}

func TestEveryOperationIsDescribedWithItsAnswerItsProblemAndItsCredential(t *testing.T) {
	t.Parallel()
	var doc struct {
		OpenAPI  string
		Security []map[string][]string
		Paths    map[string]map[string]struct {
			OperationID string
			Summary     string
			Responses   map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(document(t), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || len(doc.Security) != 1 {
		t.Errorf("got version %q and security %v, want 3.1.0 and the bearer scheme", doc.OpenAPI, doc.Security)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.OperationID == "" || op.Summary == "" || len(op.Responses) != 2 || op.Responses["default"] == nil {
				t.Errorf("%s %s is described by half: %+v", method, path, op)
			}
		}
	}
}
