package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Timeouts that hold whatever a handler does.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	// DefaultGrace outlasts a decide with the default planner timeout, so that
	// a paid decision is answered.
	DefaultGrace = 75 * time.Second
)

// Listener is one address and what is served there.
type Listener struct {
	net.Listener
	Handler http.Handler
}

// Server serves its listeners until it is told to stop.
type Server struct {
	Listeners   []Listener
	Certificate *Certificate  // nil: plain HTTP
	Health      *Health       // told when the drain begins; may be nil
	Grace       time.Duration // how long requests in flight may take to finish; zero: DefaultGrace
	Logger      *slog.Logger
}

// Run serves until ctx ends, then drains as the package comment says, closes
// the listeners and returns nil; requests that outlast the grace are cut. It
// returns early with the error of a listener that broke.
func (s *Server) Run(ctx context.Context) error {
	drain, beginDrain := context.WithCancel(context.Background())
	defer beginDrain()
	// Requests must outlive ctx: its end begins the drain, not their end.
	base, cut := context.WithCancelCause(withDrain(context.WithoutCancel(ctx), drain))
	defer cut(nil)

	group, broken := errgroup.WithContext(ctx)
	var servers []*http.Server
	for _, l := range s.Listeners {
		server := s.httpServer(base, l.Handler)
		servers = append(servers, server)
		listener := net.Listener(l.Listener)
		if s.Certificate != nil {
			server.TLSConfig = s.Certificate.Config()
			listener = tls.NewListener(listener, server.TLSConfig)
		}
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
			return nil
		})
	}
	<-broken.Done()
	if s.Health != nil {
		s.Health.Drain()
	}
	beginDrain()
	s.shutdown(servers, cut)
	return group.Wait()
}

func (s *Server) httpServer(base context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug), // what strangers do to the socket
	}
}

// shutdown lets requests finish, then cuts those that don't.
func (s *Server) shutdown(servers []*http.Server, cut context.CancelCauseFunc) {
	grace := s.Grace
	if grace <= 0 {
		grace = DefaultGrace
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	var group errgroup.Group
	for _, server := range servers {
		group.Go(func() error { return server.Shutdown(ctx) })
	}
	if err := group.Wait(); err == nil {
		return
	}
	s.Logger.Warn("requests outlasted the grace and are cut", "grace", grace)
	cut(ErrDraining)
	for _, server := range servers {
		server.Close()
	}
}
