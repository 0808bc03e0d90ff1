// Package fault names the kinds of failure that callers act on.
//
// An Error has two audiences: Detail is one sentence fit for the caller that
// says what to do, and the wrapped cause is for the operator's log. Only
// package serve turns one into an HTTP answer and only cmd into an exit code;
// an error that carries no fault.Error anywhere in its chain is Internal, and
// its text never reaches a caller.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is a class of failure. Kinds are appended, never renumbered or reworded.
type Kind uint8

// The kinds. The zero value is Internal: what nobody classified is our fault.
const (
	Internal        Kind = iota // a defect or a broken invariant of ours
	Invalid                     // the request can't be right, whoever sends it
	Forbidden                   // known caller, not allowed
	NotFound                    // no such thing, or not visible to this caller
	Conflict                    // the thing is in another state than the caller thinks
	Exhausted                   // a limit, quota or budget is used up
	Unavailable                 // something outside us failed, or we are too busy
	Unauthenticated             // no credential, or not a valid one
)

var kindNames = [...]string{"internal", "invalid", "forbidden", "not_found", "conflict", "exhausted", "unavailable", "unauthenticated"}

// String returns the kind's stable name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is a classified failure. Build one with New, so that Code and Detail
// are never empty.
type Error struct {
	Kind Kind
	// Code is the stable machine name within the kind, e.g. "stale_attempt".
	Code string
	// Detail is for the caller: one sentence, no secret, no model text, no
	// provider body, and what to do about it.
	Detail string
	// Retryable says that the same request may succeed later.
	Retryable bool
	// RetryAfter, where positive, is the earliest sensible wait.
	RetryAfter time.Duration
	cause      error
}

// New returns a final (not retryable) error.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Retry returns a copy that invites the caller to repeat the request, no
// sooner than after d (zero: at the caller's own pace).
func (e *Error) Retry(after time.Duration) *Error {
	c := *e
	c.Retryable, c.RetryAfter = true, after
	return &c
}

// Because returns a copy with the operator's cause attached.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Error is the operator's text: code, detail and cause.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Code + ": " + e.Detail + ": " + e.cause.Error()
	}
	return e.Code + ": " + e.Detail
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is matches another *Error by code, so that sentinels built with New work
// with errors.Is whatever their detail says.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// ErrInternal is all that a caller hears of a defect of ours.
var ErrInternal = New(Internal, "internal", "something went wrong on our side; the log has the cause beside this request id")

// Of returns the first *Error in the chain, or an Internal one that wraps err
// and tells the caller nothing about it. Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return ErrInternal.Because(err)
}

// KindOf returns the kind of err, Internal where it is unclassified.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
