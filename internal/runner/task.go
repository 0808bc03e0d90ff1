package runner

import (
	"context"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/policy"
)

// Task is what a Runner carries out: one attempt at one goal.
type Task struct {
	ID      string
	Attempt int
	Goal    string
	Budgets Budgets
	AppLock []string // packages that may be acted on; empty: any
	Policy  policy.Document
}

// Budgets bound one attempt. Zero means the default of a field.
type Budgets struct {
	Steps    int           // the one that finishes included; default DefaultSteps
	WallTime time.Duration // default DefaultWallTime
	// Tokens of input and output together; zero: no limit. A decision whose
	// input or output count the provider did not report is charged
	// UnknownTokens for what is missing, since unknown is not zero.
	Tokens int64
}

// Defaults and the charge for what a provider does not report.
const (
	DefaultSteps    = 30
	DefaultWallTime = 10 * time.Minute
	UnknownTokens   = 8_000
)

// Host is what a Runner asks of whoever holds the task's lease.
type Host interface {
	// Permit is called right before each device action and each wait. It
	// refreshes the lease where needed, marks the attempt as acting before
	// the first mutating action, and fences itself off when the lease is
	// doubtful. Nothing is done to the device unless it returns nil; after a
	// slow answer the screen is looked at again, and the action may then be
	// dropped as stale. An error that wraps ErrLeaseLost or ErrCancelled ends the attempt so; any
	// other ends it as failed(not_permitted).
	Permit(ctx context.Context, p Permission) error

	// Record keeps one step event. The Runner calls it even when ctx was
	// cancelled, with a context that is not. Its errors end the attempt like
	// those of Permit, the last as failed(not_recorded).
	Record(ctx context.Context, e StepEvent) error
}

// The ends that come from outside, matched with errors.Is in what Permit and
// Record return and in the cause of a cancelled context.
var (
	ErrLeaseLost = fault.New(fault.Conflict, "lease_lost", "the lease on this task was lost, so the device is not touched any more")
	ErrCancelled = fault.New(fault.Conflict, "cancelled", "the task was cancelled")
)

// Permission is what the Runner asks leave for.
type Permission struct {
	Step       int    // from 1
	Tool       string // the proposal's tool
	Mutating   bool   // false for a wait
	ActionHash string // hex SHA-256 over tool, arguments and scene hash: one exact proposal
}

// StepEvent is the record of one decision and what became of it. It holds no
// prompt, argument, screen text or picture.
type StepEvent struct {
	Step      int    // from 1; proposals that were turned down share the step of the one that follows
	Decision  int    // from 0, the ordinal of the decision within the attempt
	Tool      string // the proposed tool
	Verdict   policy.Verdict
	Outcome   Outcome
	Detail    string        // why it was turned down or what failed: a stable code, or ""
	Duration  time.Duration // from the observation before the decision to the outcome
	SceneHash string        // of the scene that the decision was made on
	StepIndex int           // the decision's place in the log; -1 unless one is kept
	Provider  string
	Model     string
	Usage     llm.Usage
	At        time.Time // UTC, when the outcome was known
}

// Outcome is what became of a decision.
type Outcome string

// The outcomes.
const (
	Done         Outcome = "done"          // acted or waited
	TurnedDown   Outcome = "turned_down"   // by policy, scene binding or bounds: nothing was done
	Ended        Outcome = "ended"         // finish or fail
	Stopped      Outcome = "stopped"       // the task ended before the action: budget, loop stop, lease or cancel
	DeviceFailed Outcome = "device_failed" // the device failed and surely nothing was done
	Unclear      Outcome = "unclear"       // nobody can tell whether the action happened
)

// State is how an attempt ended. Every state is terminal.
type State string

// The states.
const (
	Succeeded       State = "succeeded"
	Infeasible      State = "infeasible"       // the model says that the goal can't be reached
	Failed          State = "failed"           // see Result.Reason
	Stuck           State = "stuck"            // the same again and again
	BudgetExhausted State = "budget_exhausted" // steps, wall_time or tokens
	Unverified      State = "unverified"       // the model claims success and nothing on the screen shows it
	Cancelled       State = "cancelled"
	LeaseLost       State = "lease_lost" // report nothing
	DeviceLost      State = "device_lost"
	Indeterminate   State = "indeterminate" // an action may or may not have happened
)

// Result is the end of an attempt.
type Result struct {
	State  State
	Reason string // a stable code within the state, e.g. "planner_timeout", "policy_denied"; may be ""
	// Summary is a sentence for a person. After finish and fail it is the
	// model's own words, so it goes to records and never to a log.
	Summary string
	Steps   int
	Acted   bool // an action was, or may have been, done to the device
	// Usage is the sum of what was reported; a count stays unknown if no
	// decision reported it. Unmetered is how many decisions left out their
	// input or output.
	Usage     llm.Usage
	Unmetered int
	// RetryAfter, where positive, is when the next attempt may start at the
	// earliest, in the words of the provider that failed this one.
	RetryAfter time.Duration
}
