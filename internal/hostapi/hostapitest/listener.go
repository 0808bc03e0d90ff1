package hostapitest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Loopback serves on a loopback port until the test ends, and returns the URL.
func (s *Server) Loopback(t testing.TB) string {
	t.Helper()
	srv := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		s.closeAll()
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// InMemory serves on a listener without sockets until close is called, and
// returns a URL and the dialer that reaches it. Inside a bubble close must be
// called before the bubble ends.
func (s *Server) InMemory() (url string, dial func(ctx context.Context, network, address string) (net.Conn, error), close func()) {
	l := &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: s.handler()}
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(l) })
	return "http://127.0.0.1:1", l.dial, func() {
		s.closeAll()
		srv.Close()
		serving.Wait()
	}
}

// memoryListener hands the server one end of a net.Pipe for each dial.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next dial.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and further dials.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is of no network.
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }
