// Package faultproxy is an HTTP proxy for tests that misbehaves on purpose: it
// stands between a client and a server and, where a rule says so, loses the
// request, loses the answer after the server has acted, cuts it in the middle,
// answers in the server's stead, or hangs. Only tests import it.
package faultproxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// Fault is what happens to one exchange.
type Fault uint8

// The faults.
const (
	None        Fault = iota // pass it through
	LoseRequest              // the server never sees it; the client's connection is reset
	LoseAnswer               // the server acts; the client's connection is reset before a byte of the answer
	CutAnswer                // the server acts; the client gets the head and half of the body, then a reset
	HTML                     // a middle box answers 502 with a page of its own; the server never sees it
	Hang                     // the server never sees it; nothing comes until the client gives up
)

// Proxy stands before one server.
type Proxy struct {
	URL    string
	target *url.URL
	client *http.Client

	mu   sync.Mutex
	rule func(*http.Request) Fault // guarded by mu
}

// Start proxies to target until the test ends, at first without faults.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	p := &Proxy{target: u, client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	p.Rule(func(*http.Request) Fault { return None })
	s := httptest.NewServer(p)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); transport.CloseIdleConnections() })
	p.URL = s.URL
	return p
}

// Rule sets which exchange suffers what; it is called once an exchange, by
// many goroutines.
func (p *Proxy) Rule(rule func(*http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// ServeHTTP is one exchange.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	rule := p.rule
	p.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reset(w)
		return
	}
	fault := rule(r)
	switch fault {
	case LoseRequest:
		reset(w)
		return
	case HTML:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html><body><h1>502 Bad Gateway</h1></body></html>")
		return
	case Hang:
		<-r.Context().Done()
		return
	}
	p.forward(w, r, body, fault)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, body []byte, fault Fault) {
	u := *p.target
	u.Path, u.RawQuery = r.URL.Path, r.URL.RawQuery
	out, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		reset(w)
		return
	}
	out.Header = r.Header.Clone()
	resp, err := p.client.Do(out)
	if err != nil {
		reset(w)
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || fault == LoseAnswer {
		reset(w)
		return
	}
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	if fault == CutAnswer {
		w.Header().Set("Content-Length", "1000000")
		w.WriteHeader(resp.StatusCode)
		w.Write(answer[:len(answer)/2])
		http.NewResponseController(w).Flush()
		reset(w)
		return
	}
	w.WriteHeader(resp.StatusCode)
	w.Write(answer)
}

// reset ends the client's connection with a TCP reset, as a crashed peer does.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}
