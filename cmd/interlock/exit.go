package main

import (
	"context"
	"errors"
	"slices"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/store"
)

// The exit codes, which scripts rely on (docs/cli.md).
const (
	exitOK           = 0
	exitFailed       = 1   // the task or the operation failed
	exitUsage        = 2   // wrong usage, or wrong settings
	exitUnauthorised = 3   // no credential, a bad one, or one that may not do this
	exitNotFound     = 4   // no such thing
	exitUnavailable  = 5   // the server or the provider can't be reached, or is too busy
	exitStorage      = 6   // disk full, database locked or damaged, or open in another server
	exitInterrupted  = 130 // ended by a signal
)

// errInterrupted is the cause of a run that a signal cancelled.
var errInterrupted = errors.New("interrupted")

// reported ends a command with this exit code whose output has said why
// already.
type reported int

func (reported) Error() string { return "the output said why" }

const errReported = reported(exitFailed)

// ourFault is the sentence for what nobody classified.
const ourFault = "something went wrong on our side; run it again with --log-level debug and report its last lines"

func usageError(format string, args ...any) error {
	return fault.New(fault.Invalid, "usage", format, args...)
}

// storage are the failures of a disk or a database, here or at the server.
var storage = []error{store.ErrFull, store.ErrLocked, store.ErrInUse, store.ErrNotDatabase, store.ErrNewer, store.ErrPlace, store.ErrNetworkDisk,
	fault.New(fault.Unavailable, "host_storage", "")}

// interrupted reports whether a signal cancelled the run, whatever it managed
// to do.
func interrupted(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errInterrupted) }

// verdict turns the error of a command into its exit code and its sentence.
func verdict(ctx context.Context, err error) (code int, sentence string) {
	if interrupted(ctx) {
		return exitInterrupted, "interrupted"
	}
	var said reported
	if errors.As(err, &said) {
		return int(said), ""
	}
	f := fault.Of(err)
	if f.Code == "internal" {
		return exitFailed, ourFault
	}
	return exitOf(f), f.Detail
}

func exitOf(f *fault.Error) int {
	if slices.ContainsFunc(storage, f.Is) {
		return exitStorage
	}
	switch f.Kind {
	case fault.Invalid:
		return exitUsage
	case fault.Forbidden, fault.Unauthenticated:
		return exitUnauthorised
	case fault.NotFound:
		return exitNotFound
	case fault.Unavailable:
		return exitUnavailable
	default:
		return exitFailed
	}
}

// exitOfReason is the exit code of a task that failed for want of a decision.
func exitOfReason(r llm.Reason) int {
	switch r {
	case llm.StorageFull:
		return exitStorage
	case llm.Auth, llm.HostUnauthorized, llm.PlannerForbidden:
		return exitUnauthorised
	case llm.PlannerNotConfigured:
		return exitUsage
	case llm.Timeout, llm.Transport, llm.ProviderError, llm.Overloaded, llm.RateLimited:
		return exitUnavailable
	default:
		return exitFailed
	}
}
