package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"interlock/internal/fault"
)

// Attribute keys of log lines.
const (
	KeyRequest  = "request_id"
	KeyCaller   = "caller"
	KeyClient   = "client"
	KeyMethod   = "method"
	KeyRoute    = "route"
	KeyStatus   = "status"
	KeyBytes    = "bytes"
	KeyDuration = "duration_ms"
	KeyCode     = "code"
	KeyCause    = "cause"
)

// bodyTimeout bounds how long a body may take to arrive, also one that nobody
// reads; answerTimeout an ordinary request from its headers to the last byte
// of its answer, where Hold says nothing else.
const (
	bodyTimeout   = 30 * time.Second
	answerTimeout = 60 * time.Second
)

// Kit is what all doors share. Logger must be set.
type Kit struct {
	Logger  *slog.Logger
	Proxies Proxies
	Metrics *Metrics // nil: none are kept
}

// Wrap puts the promises of the package around a door's handler, which should
// be a Mux so that routes can be told apart.
func (k Kit) Wrap(door http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &record{id: chooseID(r, k.Proxies)}
		r = r.WithContext(context.WithValue(r.Context(), recordKey{}, rec))
		out := &writer{ResponseWriter: w}
		setHeaders(w.Header(), rec.id)
		Hold(out, answerTimeout)
		if r.ContentLength != 0 {
			http.NewResponseController(out).SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		defer func() { k.ended(r, rec, out, time.Since(start)) }()
		defer k.recover(out, r)
		door.ServeHTTP(out, r)
	})
}

// setHeaders sets what every answer says: no answer is for a browser to
// render, frame, sniff or keep.
func setHeaders(h http.Header, id string) {
	h.Set(RequestIDHeader, id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// Hold gives the request d more from now until the last byte of its answer.
func Hold(w http.ResponseWriter, d time.Duration) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d)) // a transport without deadlines keeps its own
}

// recover turns a panic into a failure of this request alone. One that has
// begun its answer is cut, so that the client can't take it for whole.
func (k Kit) recover(w *writer, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	k.Logger.ErrorContext(r.Context(), "handler panicked", KeyRequest, RequestID(r.Context()), KeyRoute, r.Pattern,
		KeyCause, describe(cause), "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if rec := recordOf(r.Context()); rec.fail != nil {
		rec.fail(w, r, fault.ErrInternal)
		return
	}
	Fail(w, r, k.Logger, fault.ErrInternal)
}

// describe names the panic. Only the runtime's own texts are shown: any other
// value might hold what a log must not.
func describe(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}

// ended writes the one line of the request log.
func (k Kit) ended(r *http.Request, rec *record, w *writer, took time.Duration) {
	k.Metrics.observe(r.Pattern, w.sent(), took)
	level := slog.LevelInfo
	if rec.quiet && w.sent() < 400 {
		level = slog.LevelDebug
	}
	k.Logger.LogAttrs(r.Context(), level, "request",
		slog.String(KeyRequest, rec.id), slog.String(KeyCaller, rec.caller), slog.String(KeyClient, k.Proxies.client(r)),
		slog.String(KeyMethod, r.Method), slog.String(KeyRoute, r.Pattern), slog.Int(KeyStatus, w.sent()),
		slog.Int64(KeyBytes, w.bytes), slog.Float64(KeyDuration, float64(took.Microseconds())/1000))
}

// writer notes what was answered.
type writer struct {
	http.ResponseWriter
	status int // 0: nothing yet
	bytes  int64
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the transport.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// sent is the status that the client sees.
func (w *writer) sent() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}
