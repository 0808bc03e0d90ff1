// Package runner carries out one attempt at one task, step by step: observe,
// plan, ask the policy, bind to the screen, ask the host's leave, act, record.
// The planner proposes; whether anything happens is decided here.
//
// # A step
//
// The screen is observed and the planner proposes one call for it. The policy
// gives its verdict on every call. A call that acts is bound to the scene that
// it was made on: the screen is glanced at again, until the target stands still
// where the driver says that it moves, and the target must be there, the same
// and at the same place, with nothing new above it and nothing that came or
// went under its names; else the call is stale and another is planned. Then the
// host's Permit is asked, and only then is the device touched, once. The scene
// is spent with that: no other decision is made on it, whatever came of it.
// What changed on the settled screen goes into the next prompt.
//
// # A commit
//
// An action that can't be taken back, or of which nobody has said that it can
// (policy.Classify), is a commit. It is in the Ledger before Permit is asked,
// and its effect must be seen: where the screen stays as it was for a bounded
// time, or the device fails before anybody could look, the attempt ends as
// indeterminate. One that is known to be irreversible is not done a second time
// on the same screen. A Runner whose Ledger holds a commit of an earlier process
// that was not seen ends at once, without a touch.
//
// A call that policy, binding or bounds turn down is told to the model, which
// may propose another: at most twice in a step and five times in a task. There
// are no other second chances. No decision (llm.ErrUnavailable) ends the
// attempt at once.
//
// # Ends
//
// A Result has one of the ten States. Nothing is retried after an end; whether
// there is another attempt is the control plane's business. Steps, wall time
// and tokens are checked before each decision, so a task can use one decision
// more of tokens than its budget says. Wall time also cuts a hanging call; an
// action cut that way is indeterminate. The same call on the same scene earns
// a warning the third time and ends the task as stuck the fifth, and so do
// eight steps in a row that changed nothing; a screen that never rests, such as
// one with a running clock, hides both, and there the budgets are what ends. A
// claim of success counts only if its evidence is on the screen at that moment.
//
// # What is authoritative
//
// The lease is the host's: Permit and the cause of the context (ErrLeaseLost,
// ErrCancelled) are believed. An action whose outcome nobody knows ends the
// attempt as indeterminate and is never repeated. The Runner keeps nothing on
// disk itself; after a crash its host knows from Permit, Record and its Ledger
// how far it came.
// Times in events are of the injected clock, which also tells when the wall
// time is used up; the cut of a hanging call is by the process's own timer. No
// other machine's clock plays a part, so skew can't matter here.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"interlock/internal/device"
	"interlock/internal/planner"
)

// MaxGoalRunes bounds the goal of a task.
const MaxGoalRunes = 4000

// Options are the parts of a Runner. Driver, Planner and Host must be there.
type Options struct {
	Driver  device.Driver
	Planner planner.Planner
	Host    Host
	Ledger  Ledger           // nil: commits are remembered as long as Run lasts
	Clock   func() time.Time // nil: time.Now
	Logger  *slog.Logger     // nil: discard
}

// Runner carries out tasks on one device, one at a time.
type Runner struct {
	driver  device.Driver
	planner planner.Planner
	host    Host
	ledger  Ledger
	clock   func() time.Time
	log     *slog.Logger
}

// New returns a Runner. It does not close the driver.
func New(o Options) *Runner {
	r := &Runner{driver: o.Driver, planner: o.Planner, host: o.Host, ledger: o.Ledger, clock: o.Clock, log: o.Logger}
	if r.clock == nil {
		r.clock = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r
}

// errWallTime is the cause of a context that the wall time budget ended.
var errWallTime = errors.New("wall time used up")

// Run carries out t and blocks until it has ended. It always returns a Result
// with a State. Cancel ctx with a cause to say why (context.WithCancelCause):
// ErrLeaseLost ends as lease_lost, anything else as cancelled.
func (r *Runner) Run(ctx context.Context, t Task) Result {
	a := newAttempt(r, t)
	ctx, stop := context.WithTimeoutCause(ctx, a.task.Budgets.WallTime, errWallTime)
	defer stop()
	log := r.log.With("task", t.ID, "attempt", t.Attempt)
	log.InfoContext(ctx, "task started", "revision", t.Policy.Revision)

	end := a.run(ctx)
	result := a.result(end)
	attrs := []any{"state", result.State, "reason", result.Reason, "steps", result.Steps, "acted", result.Acted}
	if end.cause != nil {
		attrs = append(attrs, "error", end.cause)
	}
	log.InfoContext(ctx, "task ended", attrs...)
	return result
}
