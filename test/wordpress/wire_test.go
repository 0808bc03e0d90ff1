package wordpress_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// wire stands in front of a server and keeps all that passes, byte for byte.
// Answers pass uncompressed, so that they can be searched.
type wire struct {
	URL string

	mu     sync.Mutex
	passed []exchange // guarded by mu

	meeting meeting
}

// meeting holds requests of one path back until so many have come. Later ones
// pass.
type meeting struct {
	path string // "": none is held back
	want int
	here int           // guarded by the wire's mu
	all  chan struct{} // closed when all are here
}

// meet holds the next n requests of the path back until they are all there, so
// that they are under way at the same time. Call it once, while nothing passes.
func (w *wire) meet(path string, n int) {
	w.meeting = meeting{path: path, want: n, all: make(chan struct{})}
}

// waiting is how many requests have come to the meeting.
func (w *wire) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meeting.here
}

// attend takes part in the meeting if r is held back for it.
func (w *wire) attend(r *http.Request) {
	if r.URL.Path != w.meeting.path {
		return
	}
	w.mu.Lock()
	w.meeting.here++
	if w.meeting.here == w.meeting.want {
		close(w.meeting.all)
	}
	w.mu.Unlock()
	select {
	case <-w.meeting.all:
	case <-r.Context().Done():
	}
}

// exchange is one request and its answer.
type exchange struct {
	Method, Path   string // path with its query
	Header         http.Header
	Body           []byte
	Status         int
	AnsweredHeader http.Header
	Answered       []byte
}

// newWire leads to the server at target until the test ends.
func newWire(t testing.TB, target string) *wire {
	w := &wire{}
	transport := &http.Transport{DisableCompression: true}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if err := w.pass(rw, r, transport, target); err != nil {
			// Whoever asked sees a cut connection, as it would without the wire.
			panic(http.ErrAbortHandler)
		}
	}))
	w.URL = server.URL
	t.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	return w
}

func (w *wire) pass(rw http.ResponseWriter, r *http.Request, transport http.RoundTripper, target string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	e := exchange{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	w.attend(r)
	out, err := http.NewRequestWithContext(r.Context(), r.Method, target+e.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	out.Header, out.Host = r.Header.Clone(), r.Host
	out.Header.Del("Accept-Encoding")
	answer, err := transport.RoundTrip(out)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	e.Status, e.AnsweredHeader = answer.StatusCode, answer.Header
	if e.Answered, err = io.ReadAll(answer.Body); err != nil {
		return err
	}
	w.mu.Lock()
	w.passed = append(w.passed, e)
	w.mu.Unlock()
	for name, values := range answer.Header {
		if name != "Content-Length" && name != "Connection" {
			rw.Header()[name] = values
		}
	}
	rw.WriteHeader(e.Status)
	_, err = rw.Write(e.Answered)
	return err
}

// exchanges returns what passed whose path begins so.
func (w *wire) exchanges(path string) (out []exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.passed {
		if strings.HasPrefix(e.Path, path) {
			out = append(out, e)
		}
	}
	return out
}

// forget returns what passed since the last time, or the beginning.
func (w *wire) forget() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.passed
	w.passed = nil
	return out
}

// bytes is the whole exchange as one text.
func (e exchange) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(e.Method + " " + e.Path + "\n")
	e.Header.Write(&b)
	b.Write(e.Body)
	b.WriteString("\n")
	e.AnsweredHeader.Write(&b)
	b.Write(e.Answered)
	return b.Bytes()
}

// tokenLike is what a token looks like: the first part, which is JSON that
// begins with a name, and the dot behind it. Three letters alone also stand in
// a public key or a cookie by chance.
var tokenLike = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]`)

// tells reports which of the texts, and what like a token, was in anything that
// passed, by the path of the exchange.
func (w *wire) tells(secrets map[string]string) (found []string) {
	for _, e := range w.exchanges("") {
		all, at := e.bytes(), " in "+e.Method+" "+e.Path
		if tokenLike.Match(all) {
			found = append(found, "what looks like a token"+at)
		}
		for name, text := range secrets {
			if bytes.Contains(all, []byte(text)) {
				found = append(found, name+at)
			}
		}
	}
	return found
}
