package serve_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"interlock/internal/logtest"
	"interlock/internal/serve"
)

// house is a server that Run serves, with what tests need to talk to it.
type house struct {
	url  string
	stop context.CancelFunc // begins the drain
	done <-chan error       // Run's answer
	log  *logtest.Log
}

// raise runs a server on loopback with a health check and the given routes.
func raise(t *testing.T, grace time.Duration, ready func(context.Context) error, routes func(*serve.Mux)) house {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &logtest.Log{}
	registry := prometheus.NewRegistry()
	kit := serve.Kit{Logger: log.Logger(), Metrics: serve.NewMetrics(registry)}
	health := &serve.Health{Ready: ready, Metrics: registry, Logger: log.Logger()}
	m := serve.NewMux(log.Logger())
	health.Mount(m)
	routes(m)
	server := &serve.Server{Listeners: []serve.Listener{{Listener: listener, Handler: kit.Wrap(m)}}, Health: health, Grace: grace, Logger: log.Logger()}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() { stop(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	return house{"http://" + listener.Addr().String(), stop, done, log}
}

func TestHealthSaysThatItLivesAndWhetherItIsReady(t *testing.T) {
	t.Parallel()
	broken := make(chan error, 1)
	broken <- errors.New("canary: the store does not answer")
	h := raise(t, 0, func(context.Context) error {
		select {
		case err := <-broken:
			return err
		default:
			return nil
		}
	}, func(*serve.Mux) {})
	if res, body := send(t, "GET", h.url+"/healthz", ""); res.StatusCode != 200 || body != "alive\n" {
		t.Errorf("healthz: got %d %q", res.StatusCode, body)
	}
	res, body := send(t, "GET", h.url+"/readyz", "")
	if p := problemOf(t, res, body); p.Status != 503 || p.Code != "not_ready" || !p.Retryable || len(body) > 500 {
		t.Errorf("readyz with a broken store: got %+v", p)
	}
	if res, body := send(t, "GET", h.url+"/readyz", ""); res.StatusCode != 200 || body != "ready\n" {
		t.Errorf("readyz: got %d %q", res.StatusCode, body)
	}
	if _, body := send(t, "GET", h.url+"/metrics", ""); !strings.Contains(body, `interlock_http_requests_total{route="GET /readyz",status="503"} 1`) {
		t.Errorf("metrics do not count the failed probe:\n%s", body)
	}
	h.stop()
	if err := <-h.done; err != nil {
		t.Errorf("an ordinary stop returned %v", err)
	}
	if strings.Count(h.log.String(), "level=INFO") != 1 {
		t.Errorf("only the probe that failed is logged above debug, got:\n%s", h.log)
	}
}

func TestAShutdownAnswersHeldRequestsAndFinishesThoseInFlight(t *testing.T) {
	t.Parallel()
	held, working, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := raise(t, time.Minute, nil, func(m *serve.Mux) {
		m.HandleFunc("GET /poll", func(w http.ResponseWriter, r *http.Request) {
			ctx, stop := serve.UntilDrain(r.Context())
			defer stop()
			close(held)
			<-ctx.Done()
			if errors.Is(context.Cause(ctx), serve.ErrDraining) {
				w.WriteHeader(http.StatusNoContent)
			}
		})
		m.HandleFunc("GET /work", func(w http.ResponseWriter, r *http.Request) {
			close(working)
			select {
			case <-finish:
				io.WriteString(w, "done")
			case <-r.Context().Done():
			}
		})
	})
	poll, work := later(h.url+"/poll"), later(h.url+"/work")
	<-held
	<-working
	h.stop()
	if got := <-poll; got.status != http.StatusNoContent {
		t.Errorf("the held poll got %+v, want 204 at once", got)
	}
	select {
	case err := <-h.done:
		t.Fatalf("the server stopped with a request in flight: %v", err)
	default:
	}
	close(finish)
	if got := <-work; got.body != "done" {
		t.Errorf("the request in flight got %+v, want its answer", got)
	}
	if err := <-h.done; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestARequestThatOutlastsTheGraceIsCut(t *testing.T) {
	t.Parallel()
	working, cause := make(chan struct{}), make(chan error, 1)
	h := raise(t, time.Millisecond, nil, func(m *serve.Mux) {
		m.HandleFunc("GET /work", func(_ http.ResponseWriter, r *http.Request) {
			close(working)
			<-r.Context().Done()
			cause <- context.Cause(r.Context())
		})
	})
	work := later(h.url + "/work")
	<-working
	h.stop()
	if err := <-h.done; err != nil {
		t.Errorf("Run returned %v", err)
	}
	if err := <-cause; !errors.Is(err, serve.ErrDraining) && !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended because of %v", err)
	}
	<-work
}

func TestReadinessIsRefusedBeforeTheListenerCloses(t *testing.T) {
	t.Parallel()
	health := &serve.Health{Logger: slog.New(slog.DiscardHandler)}
	server, _ := front(t, nil, func(m *serve.Mux, _ *slog.Logger) { health.Mount(m) })
	health.Drain()
	res, body := send(t, "GET", server.URL+"/readyz", "")
	if p := problemOf(t, res, body); p.Status != 503 || p.Code != "server_draining" || !p.Retryable {
		t.Errorf("got %+v, want 503 draining", p)
	}
}

func TestAListenerThatBreaksEndsRun(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	server := &serve.Server{Listeners: []serve.Listener{{Listener: listener, Handler: http.NotFoundHandler()}}, Logger: slog.New(slog.DiscardHandler)}
	if err := server.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want the listener's error", err)
	}
}

// outcome is what a request in the background got.
type outcome struct {
	status int
	body   string
	err    error
}

// later sends a GET in the background, on a connection of its own.
func later(url string) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Get(url)
		if err != nil {
			out <- outcome{err: err}
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		out <- outcome{res.StatusCode, string(body), err}
	}()
	return out
}
