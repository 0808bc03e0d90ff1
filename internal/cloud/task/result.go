package task

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
)

// The runner's terminal states, as a host reports them.
const (
	endSucceeded       = "succeeded"
	endInfeasible      = "infeasible"
	endFailed          = "failed"
	endStuck           = "stuck"
	endBudgetExhausted = "budget_exhausted"
	endUnverified      = "unverified"
	endCancelled       = "cancelled"
	endLeaseLost       = "lease_lost"
	endDeviceLost      = "device_lost"
	endIndeterminate   = "indeterminate"
)

// rule is what becomes of a task whose attempt ended in some way.
type rule struct {
	state  State
	reason string // "": the one that the host gave, else the end's own name
	// again means another try, if nothing had acted or the task is
	// repeatable; where that is not so, state and reason hold.
	again bool
}

// ends is the one table of how an attempt's end becomes a task's state. An end
// that is not here can't be reported.
var ends = map[string]rule{
	endSucceeded:       {state: Succeeded},
	endInfeasible:      {state: Failed, reason: endInfeasible},
	endFailed:          {state: Failed},
	endStuck:           {state: Failed, reason: endStuck},
	endBudgetExhausted: {state: Failed, reason: endBudgetExhausted},
	endUnverified:      {state: Failed, reason: endUnverified},
	endIndeterminate:   {state: Failed, reason: endIndeterminate},
	endDeviceLost:      {state: Failed, reason: endIndeterminate, again: true},
	endCancelled:       {state: Cancelled},
}

// transient are the reasons of a decision that may be gone at the next try.
var transient = map[string]bool{
	llm.RateLimited.TaskReason():   true,
	llm.Overloaded.TaskReason():    true,
	llm.Timeout.TaskReason():       true,
	llm.Transport.TaskReason():     true,
	llm.ProviderError.TaskReason(): true,
	llm.StorageFull.TaskReason():   true,
}

// settle maps a result to the task's next state and reason. Queued means
// another try, which the store makes Dead if none is left.
func settle(r Result, acted, repeatable bool) (State, string, error) {
	rl, ok := ends[r.State]
	if !ok {
		return "", "", fault.New(fault.Invalid, "invalid_result", "a result's state is one of those that a runner ends with, and lease_lost is never reported")
	}
	if r.State == endFailed && transient[r.Reason] {
		rl.again = true
	}
	reason := rl.reason
	switch {
	case rl.again && (!acted || repeatable):
		if reason = r.Reason; r.State == endDeviceLost {
			reason = endDeviceLost
		}
		return Queued, reason, nil
	case reason == "" && rl.state != Succeeded:
		if reason = r.Reason; reason == "" {
			reason = r.State
		}
	}
	return rl.state, reason, nil
}

// Limits of a result.
const (
	maxSummary   = 2_000 // characters
	maxCode      = 64    // bytes of a reason
	maxStepCount = 1_000_000
	// maxRetryAfter is the longest wait that is kept; a longer one, which a
	// provider may well ask for, is taken as this.
	maxRetryAfter = 24 * time.Hour
)

// check refuses what a runner can't have ended with.
func (r Result) check() error {
	var wrong fault.Problems
	wrong.Require(codeLike(r.Reason), "reason is not a code of at most %d of a-z, 0-9 and '_'", maxCode)
	wrong.Require(text(r.Summary, maxSummary), "summary is longer than %d characters or not UTF-8 text", maxSummary)
	wrong.Require(r.Steps >= 0 && r.Steps <= maxStepCount, "steps is not between 0 and %d", maxStepCount)
	wrong.Require(r.RetryAfter >= 0, "retry_after is negative")
	return wrong.Refuse("invalid_result", "the result")
}

// codeLike reports whether s may be the code of a reason, or is empty.
func codeLike(s string) bool {
	return len(s) <= maxCode && strings.IndexFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' }) < 0
}

// Finish ends an attempt with what its host reports. The same result again
// returns the task and true; ErrTerminalDifferent for another one,
// ErrStaleAttempt for an older attempt, ErrNotFound, fault Invalid.
func (s *Service) Finish(ctx context.Context, f Fence, r Result) (Task, bool, error) {
	if err := r.check(); err != nil {
		return Task{}, false, err
	}
	t, err := s.store.Task(ctx, f.Tenant, f.Task)
	if err != nil {
		return Task{}, false, fmt.Errorf("finish attempt: %w", err)
	}
	// The mark belongs to the attempt that t shows; if that is not f's, the
	// fence of the store refuses what follows.
	state, reason, err := settle(r, r.Acted || t.Acted, t.Spec.Repeatable)
	if err != nil {
		return Task{}, false, err
	}
	done, replayed, err := s.store.Finish(ctx, Finish{Fence: f, Hash: r.hash(), Result: r, State: state, Reason: reason,
		NextRun: max(Backoff(t.Tries), min(r.RetryAfter, maxRetryAfter))})
	if err != nil {
		return Task{}, false, fmt.Errorf("finish attempt: %w", err)
	}
	if !replayed {
		s.cfg.Logger.InfoContext(ctx, "attempt ended", "task", f.Task, "attempt", f.Attempt, "host", f.Host, "end", r.State, "state", done.State, "reason", done.Reason)
		s.changed(changeOf(done))
		s.freed(done, f)
	}
	return done, replayed, nil
}

// hash identifies a result as it was sent.
func (r Result) hash() [32]byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("task: a result has no JSON form: " + err.Error())
	}
	return sha256.Sum256(b)
}
