package serve_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"interlock/internal/serve"
)

func TestARequestIDIsKeptOnlyFromATrustedProxyAndOnlyIfSane(t *testing.T) {
	t.Parallel()
	loopback, err := serve.ParseProxies("10.0.0.0/8, 127.0.0.1, ::1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		proxies serve.Proxies
		given   string
		kept    bool
	}{
		{"a stranger's id", nil, "abc-1", false},
		{"a trusted proxy's id", loopback, "abc-1", true},
		{"the longest id", loopback, strings.Repeat("x", 64), true},
		{"an id that is too long", loopback, strings.Repeat("x", 65), false},
		{"an id with a space", loopback, "a b", false},
		{"an id that would forge a log line", loopback, `a" level=ERROR`, false},
		{"no id", loopback, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, log := front(t, c.proxies, func(m *serve.Mux, _ *slog.Logger) {
				m.HandleFunc("GET /id", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(serve.RequestID(r.Context()))) })
			})
			res, inContext := send(t, "GET", server.URL+"/id", "", serve.RequestIDHeader, c.given)
			got := res.Header.Get(serve.RequestIDHeader)
			if kept := got == c.given; kept != c.kept {
				t.Fatalf("got id %q for %q, want kept %v", got, c.given, c.kept)
			}
			if id, err := uuid.Parse(got); !c.kept && (err != nil || id.Version() != 7) {
				t.Errorf("a new id is a UUIDv7, not %q", got)
			}
			server.Close() // the line is written after the answer
			if inContext != got || !strings.Contains(log.String(), got) {
				t.Errorf("the header says %q, the context %q, the log:\n%s", got, inContext, log)
			}
		})
	}
}

func TestAWrongProxyListNamesEveryWrongEntry(t *testing.T) {
	t.Parallel()
	_, err := serve.ParseProxies("10.0.0.0/8,nonsense,,10.0.0.300")
	if err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "10.0.0.300") {
		t.Errorf("got %v, want both wrong entries", err)
	}
}

func TestTheClientIsTheLastAddressThatNoTrustedProxyVouchesBeyond(t *testing.T) {
	t.Parallel()
	trusted, err := serve.ParseProxies("127.0.0.1,::1,10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		proxies serve.Proxies
		chain   string
		want    string
	}{
		{"nobody is trusted", nil, "203.0.113.9", "127.0.0.1"},
		{"one trusted proxy", trusted, "203.0.113.9", "203.0.113.9"},
		{"a client that forges a longer chain", trusted, "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{"two trusted proxies", trusted, "203.0.113.9, 10.1.2.3", "203.0.113.9"},
		{"a chain that is no address", trusted, "evil", "127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, log := front(t, c.proxies, func(*serve.Mux, *slog.Logger) {})
			send(t, "GET", server.URL+"/", "", "X-Forwarded-For", c.chain)
			server.Close()
			if want := "client=" + c.want + " "; !strings.Contains(log.String(), want) {
				t.Errorf("want %q in the log:\n%s", want, log)
			}
		})
	}
}

func TestTheRequestLogHoldsTheRouteAndNoneOfWhatTheClientWrote(t *testing.T) {
	t.Parallel()
	server, log := front(t, nil, func(m *serve.Mux, l *slog.Logger) {
		m.HandleFunc("POST /things/{id}", func(w http.ResponseWriter, r *http.Request) {
			serve.SetCaller(r.Context(), "token:abc")
			var in struct{ Secret string }
			if err := serve.Decode(w, r, 1000, &in); err != nil {
				serve.Fail(w, r, l, err)
			}
		})
	})
	const canary = "canary-7f3a"
	headers := []string{"Authorization", "Bearer " + canary, "Cookie", canary, "User-Agent", canary, "Content-Type", "application/json"}
	for _, body := range []string{`{"Secret":"` + canary + `"}`, `{"Secret":["` + canary + `"]}`, canary, `{"` + canary + `":1,"` + canary + `":2}`} {
		send(t, "POST", server.URL+"/things/"+canary+"?q="+canary, body, headers...)
	}
	send(t, "GET", server.URL+"/"+canary+"?q="+canary, "", headers...)
	send(t, "DELETE", server.URL+"/things/"+canary, "", headers...)
	server.Close()
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log repeats what the client wrote:\n%s", log)
	}
	for _, want := range []string{`route="POST /things/{id}"`, "status=200", "status=400", "status=404", "status=405", "caller=token:abc", "duration_ms=", "method=POST"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, log)
		}
	}
}

func TestAPathOrMethodWithoutARouteIsAProblem(t *testing.T) {
	t.Parallel()
	server, _ := front(t, nil, func(m *serve.Mux, _ *slog.Logger) {
		m.HandleFunc("GET /thing", func(http.ResponseWriter, *http.Request) {})
		m.HandleFunc("PUT /thing", func(http.ResponseWriter, *http.Request) {})
	})
	res, body := send(t, "GET", server.URL+"/elsewhere", "")
	if p := problemOf(t, res, body); p.Status != 404 || p.Code != "no_such_path" {
		t.Errorf("got %d %s, want 404 no_such_path", p.Status, p.Code)
	}
	res, body = send(t, "POST", server.URL+"/thing", "")
	if p := problemOf(t, res, body); p.Status != 405 || res.Header.Get("Allow") != "GET, PUT" {
		t.Errorf("got %d with Allow %q, want 405 with GET, PUT", p.Status, res.Header.Get("Allow"))
	}
}

// A redirect would make a client send its credential and body again.
func TestNothingIsRedirected(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 20)
	server, _ := front(t, nil, func(m *serve.Mux, logger *slog.Logger) {
		m.HandleFunc("POST /a/b", func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path })
		m.HandleFunc("POST /named/{name}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
		m.HandleRest("/own/", func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, "own "+r.Pattern, http.StatusTeapot)
		})
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]int{
		"/a/b": 200, "//a/b": 404, "/a//b": 404, "/a/./b": 404, "/a/x/../b": 404, "/a/b/": 404, "/a/b//": 404, "/../a/b": 404, "/a%2Fb": 404,
		"/named/..%2Fa%2Fb": 202, "/named/%2e%2e": 202, "/named/a%2F%2Fb": 202,
		"/own/x": 418, "/own": 418, "/own/": 418, "/own//x": 418, "//own/x": 418, "/own/../own/x": 418, "/own/../a/b": 404,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = "//" + req.URL.Host + path // as it stands
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || res.Header.Get("Location") != "" {
			t.Errorf("%s: got %d to %q, want %d", path, res.StatusCode, res.Header.Get("Location"), want)
		}
	}
	if n := len(reached); n != 1 {
		t.Errorf("the handler was reached %d times, want once", n)
	}
}

func TestAPanicFailsItsRequestAlone(t *testing.T) {
	t.Parallel()
	server, log := front(t, nil, func(m *serve.Mux, _ *slog.Logger) {
		m.HandleFunc("GET /early", func(http.ResponseWriter, *http.Request) { panic("canary") })
		m.HandleFunc("GET /late", func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("half"))
			http.NewResponseController(w).Flush()
			panic("canary")
		})
		m.HandleFunc("GET /index", func(w http.ResponseWriter, r *http.Request) {
			var none []int
			w.Write([]byte{byte(none[len(r.URL.Path)])})
		})
	})
	res, body := send(t, "GET", server.URL+"/early", "")
	if p := problemOf(t, res, body); p.Status != 500 || p.Code != "internal" {
		t.Errorf("got %d %s, want 500 internal", p.Status, p.Code)
	}
	send(t, "GET", server.URL+"/index", "")
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/late", nil)
	if err != nil {
		t.Fatal(err)
	}
	late, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		_, err = late.Body.Read(make([]byte, 100))
		for err == nil {
			_, err = late.Body.Read(make([]byte, 100))
		}
		late.Body.Close()
	}
	if err.Error() == "EOF" {
		t.Error("an answer that panicked half-way looks whole")
	}
	server.Close()
	if strings.Contains(log.String(), "canary") || !strings.Contains(log.String(), "index out of range") {
		t.Errorf("want the runtime's own text and no other in the log:\n%s", log)
	}
}

func TestEveryAnswerForbidsBrowsersToRenderKeepOrFrameIt(t *testing.T) {
	t.Parallel()
	server, _ := front(t, nil, func(*serve.Mux, *slog.Logger) {})
	res, _ := send(t, "OPTIONS", server.URL+"/", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		"Referrer-Policy": "no-referrer", "Access-Control-Allow-Origin": ""} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestBearerAndKeyTakeOneSaneValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		headers []string
		bearer  bool
		key     bool
	}{
		{"both", []string{"Authorization", "bearer abc", "Idempotency-Key", "k"}, true, true},
		{"none", nil, false, false},
		{"two credentials and two keys", []string{"Authorization", "Bearer a", "Authorization", "Bearer b", "Idempotency-Key", "a", "Idempotency-Key", "b"}, false, false},
		{"another scheme and a key with a line of its own", []string{"Authorization", "Basic abc", "Idempotency-Key", "\u00e9"}, false, false},
		{"an endless credential and key", []string{"Authorization", "Bearer " + strings.Repeat("a", 513), "Idempotency-Key", strings.Repeat("k", 201)}, false, false},
		{"the longest key", []string{"Authorization", "Bearer", "Idempotency-Key", strings.Repeat("k", 200)}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: http.Header{}}
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Add(c.headers[i], c.headers[i+1])
			}
			if got, err := serve.Bearer(r); (err == nil) != c.bearer {
				t.Errorf("bearer: got %q, %v, want one: %v", got, err, c.bearer)
			}
			if got, err := serve.IdempotencyKey(r); (err == nil) != c.key {
				t.Errorf("key: got %q, %v, want one: %v", got, err, c.key)
			}
		})
	}
}
