package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/problem"
)

// Failures of the kit itself.
var (
	errNoPath      = fault.New(fault.NotFound, "no_such_path", "there is nothing at this path; the API's paths are in its openapi.json")
	errMethod      = fault.New(fault.Invalid, "method_not_allowed", "this path does not take that method; the Allow header lists those that it takes")
	errClientGone  = fault.New(fault.Unavailable, "request_cancelled", "the request was cancelled before it was answered").Retry(0)
	errTookTooLong = fault.New(fault.Unavailable, "deadline_exceeded", "the answer took too long; try again").Retry(0)
	errDraining    = fault.New(fault.Unavailable, "server_draining", "this server is shutting down; try again, another one or the next will answer").Retry(0)
)

// Problem is the wire form of err for the request of ctx. The operator's half of
// err, its cause, is logged here with the request id.
func Problem(ctx context.Context, logger *slog.Logger, err error) problem.Problem {
	err = classify(err)
	p := problem.From(err)
	p.RequestID = RequestID(ctx)
	logCause(ctx, logger, err)
	return p
}

// Refuse is the wire form of a refusal that has no cause to log.
func Refuse(ctx context.Context, refusal *fault.Error) problem.Problem {
	p := problem.From(refusal)
	p.RequestID = RequestID(ctx)
	return p
}

// classify gives the errors of a context that ended a kind: they are nobody's
// defect.
func classify(err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known), errors.Is(err, llm.ErrUnavailable):
		return err
	case errors.Is(err, context.Canceled):
		return errClientGone
	case errors.Is(err, context.DeadlineExceeded):
		return errTookTooLong
	}
	return err
}

// logCause logs what the caller isn't told. A decision that failed is logged
// by its service.
func logCause(ctx context.Context, logger *slog.Logger, err error) {
	if errors.Is(err, llm.ErrUnavailable) {
		return
	}
	e := fault.Of(err)
	switch {
	case e.Kind == fault.Internal:
		logger.ErrorContext(ctx, "request failed", KeyRequest, RequestID(ctx), KeyCode, e.Code, KeyCause, err.Error())
	case e.Unwrap() != nil:
		level := slog.LevelDebug // what strangers send must not fill the log
		if e.Kind == fault.Unavailable || e.Kind == fault.Exhausted {
			level = slog.LevelWarn
		}
		logger.Log(ctx, level, "request refused", KeyRequest, RequestID(ctx), KeyCode, e.Code, KeyCause, e.Unwrap().Error())
	}
}

// Fail answers r with the problem that err is. Nothing may have been written
// before.
func Fail(w http.ResponseWriter, r *http.Request, logger *slog.Logger, err error) {
	p := Problem(r.Context(), logger, err)
	SetProblemHeaders(w.Header(), p)
	body, err := json.Marshal(p)
	if err != nil { // a Problem is strings and numbers
		panic(err)
	}
	w.Header().Set("Content-Type", problem.MediaType)
	w.WriteHeader(p.Status)
	w.Write(body)
}

// SetProblemHeaders sets the headers that go with p: Retry-After where the
// caller should wait, and the challenge of a 401.
func SetProblemHeaders(h http.Header, p problem.Problem) {
	if p.RetryAfterMS > 0 {
		h.Set("Retry-After", strconv.FormatInt((p.RetryAfterMS+999)/1000, 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="interlock"`)
	}
}

// Reply answers with v as JSON.
func Reply(w http.ResponseWriter, r *http.Request, logger *slog.Logger, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		Fail(w, r, logger, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
