package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/serve"
)

// pipes is a listener within the process, so that time can be a bubble's.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// talk sends raw to a server with the given route, all in one bubble, and
// returns the answer's status (0: the connection was cut) and when it came.
func talk(t *testing.T, raw string, route http.HandlerFunc) (status int, took time.Duration) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	m := serve.NewMux(log)
	m.HandleFunc("/thing", route)
	p := pipes{make(chan net.Conn), make(chan struct{})}
	server := &serve.Server{Listeners: []serve.Listener{{Listener: p, Handler: serve.Kit{Logger: log}.Wrap(m)}}, Logger: log}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	client, far := net.Pipe()
	p.dialled <- far
	start := time.Now()
	go io.WriteString(client, raw)
	if res, err := http.ReadResponse(bufio.NewReader(client), nil); err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		if status = res.StatusCode; err != nil {
			status = 0
		}
	}
	took = time.Since(start)
	client.Close()
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run returned %v", err)
	}
	return status, took
}

func TestNobodyHoldsARequestOpenForLongerThanItMay(t *testing.T) {
	t.Parallel()
	const whole = "GET /thing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	const half = "POST /thing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{"
	after := func(d time.Duration, hold bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if hold {
				serve.Hold(w, 2*d)
			}
			<-time.After(d) // the handler works
			io.WriteString(w, "done")
		}
	}
	read := func(w http.ResponseWriter, r *http.Request) {
		if err := serve.ReadBody(new(bytes.Buffer), w, r, 100); err != nil {
			serve.Fail(w, r, slog.New(slog.DiscardHandler), err)
		}
	}
	for _, c := range []struct {
		name, raw string
		route     http.HandlerFunc
		status    int
		within    time.Duration
	}{
		{"headers that never end", "GET /thing HTTP/1.1\r\nHost:", read, 0, 10 * time.Second},
		{"a body that never ends", half, read, 400, 30 * time.Second},
		{"an answer in time", whole, after(59*time.Second, false), 200, 59 * time.Second},
		{"an answer that takes too long", whole, after(61*time.Second, false), 0, 61 * time.Second},
		{"an answer that is held on purpose", whole, after(10*time.Minute, true), 200, 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if status, took := talk(t, c.raw, c.route); status != c.status || took != c.within {
					t.Errorf("got status %d after %s, want %d after %s", status, took, c.status, c.within)
				}
			})
		})
	}
}

// net/http lifts the read deadline when the body has been read; one that
// outlived it would look like a client that left.
func TestAHandlerOutlivesTheDeadlineOfItsBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const raw = "POST /thing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
		status, _ := talk(t, raw, func(w http.ResponseWriter, r *http.Request) {
			var in struct{}
			if err := serve.Decode(w, r, 100, &in); err != nil {
				t.Error(err)
			}
			serve.Hold(w, time.Hour)
			select {
			case <-time.After(10 * time.Minute):
			case <-r.Context().Done():
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		if status != http.StatusOK {
			t.Errorf("got status %d, want 200", status)
		}
	})
}
