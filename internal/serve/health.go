package serve

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"interlock/internal/fault"
)

// Health answers what watches the process: /healthz says that it lives,
// /readyz whether it should get requests, /metrics what it has counted.
//
// None of the three needs a credential, because probes and scrapers have none;
// they tell no id, name or text of a tenant's. They are on the operators'
// listener only: give that one its own address to keep them from hosts.
type Health struct {
	// Ready, where set, is asked at each /readyz within a second; its error is
	// logged, not shown.
	Ready   func(context.Context) error
	Metrics prometheus.Gatherer // nil: there is no /metrics
	Logger  *slog.Logger

	draining atomic.Bool
}

// readyTimeout bounds one readiness check: a probe must not hang.
const readyTimeout = time.Second

// Mount adds the three paths to m.
func (h *Health) Mount(m *Mux) {
	m.HandleQuiet("GET /healthz", func(w http.ResponseWriter, r *http.Request) { say(w, "alive\n") })
	m.HandleQuiet("GET /readyz", h.ready)
	if h.Metrics != nil {
		m.HandleQuiet("GET /metrics", promhttp.HandlerFor(h.Metrics, promhttp.HandlerOpts{}).ServeHTTP)
	}
}

// Drain makes /readyz refuse from now on.
func (h *Health) Drain() { h.draining.Store(true) }

func (h *Health) ready(w http.ResponseWriter, r *http.Request) {
	if h.draining.Load() {
		Fail(w, r, h.Logger, errDraining)
		return
	}
	if h.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := h.Ready(ctx); err != nil {
			Fail(w, r, h.Logger, fault.New(fault.Unavailable, "not_ready", "this server can't serve requests now; its log has the cause beside this request id").Retry(time.Second).Because(err))
			return
		}
	}
	say(w, "ready\n")
}

func say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte(text))
}
