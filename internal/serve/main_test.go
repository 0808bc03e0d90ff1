package serve_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"interlock/internal/logtest"
	"interlock/internal/problem"
	"interlock/internal/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// front serves routes behind the kit over real HTTP.
func front(t *testing.T, proxies serve.Proxies, routes func(*serve.Mux, *slog.Logger)) (*httptest.Server, *logtest.Log) {
	t.Helper()
	log := &logtest.Log{}
	m := serve.NewMux(log.Logger())
	routes(m, log.Logger())
	s := httptest.NewServer(serve.Kit{Logger: log.Logger(), Proxies: proxies}.Wrap(m))
	t.Cleanup(s.Close)
	return s, log
}

// send makes one request and reads its answer.
func send(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res, out.String()
}

// problemOf reads a problem and checks what every problem has.
func problemOf(t *testing.T, res *http.Response, body string) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("status %d with a body that is no problem: %v\n%s", res.StatusCode, err, body)
	}
	if got := res.Header.Get("Content-Type"); got != problem.MediaType {
		t.Errorf("problem sent as %q, want %q", got, problem.MediaType)
	}
	if p.Status != res.StatusCode {
		t.Errorf("problem says status %d, the answer %d", p.Status, res.StatusCode)
	}
	if p.RequestID == "" || p.RequestID != res.Header.Get(serve.RequestIDHeader) {
		t.Errorf("problem has request id %q, the answer %q", p.RequestID, res.Header.Get(serve.RequestIDHeader))
	}
	if p.Detail == "" || p.Code == "" {
		t.Errorf("problem without code or sentence: %+v", p)
	}
	return p
}
