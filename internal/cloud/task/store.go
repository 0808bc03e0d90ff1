package task

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Named failures of tasks. Each 409 that they become says that it is final.
var (
	ErrNotFound          = fault.New(fault.NotFound, "task_not_found", "there is no such task; list them with: interlock task list")
	ErrStaleAttempt      = fault.New(fault.Conflict, "stale_attempt", "this attempt is over; another one may be running: stop and drop it")
	ErrLeaseLost         = fault.New(fault.Conflict, "lease_lost", "this attempt's lease is lost: stop touching the device and report nothing")
	ErrTerminalDifferent = fault.New(fault.Conflict, "already_terminal_different", "this attempt was already ended with another result, which stands")
	ErrTerminal          = fault.New(fault.Conflict, "task_terminal", "the task has already ended")
	ErrNotTerminal       = fault.New(fault.Conflict, "task_not_terminal", "the task has not ended yet; cancel it first or wait")
	ErrKeyReused         = fault.New(fault.Conflict, "idempotency_conflict", "that idempotency key was used before with another request; use a new key")
	ErrEventsFull        = fault.New(fault.Exhausted, "events_full", "this attempt has as many events as one may have; end it")
	ErrCancelled         = fault.New(fault.Conflict, "cancelled", "the task is being cancelled: stop at the next step boundary and report it cancelled")
)

// Timing is what the store needs to know of leases.
type Timing struct {
	Lease        time.Duration // how long a claim or renewal lasts
	AckWithin    time.Duration // a claim not acknowledged by then has missed
	DeviceGrace  time.Duration // a device stays taken so long after a lease ran out
	CancelWithin time.Duration // a cancelled attempt that its host has not ended by then is ended without it
	MaxMisses    int           // claims that may miss before the task is dead
	Backoff      func(tries int) time.Duration
}

// ClaimRequest is one host that waits for work.
type ClaimRequest struct {
	Tenant  tenant.ID
	Host    fleet.HostID
	Labels  map[string]string
	Devices []fleet.Device // idle ones, as the host says
	Max     int
	Key     string // the poll's idempotency key
}

// Fence names who speaks for which attempt.
type Fence struct {
	Tenant  tenant.ID
	Host    fleet.HostID
	Task    ID
	Attempt int
}

// Finish ends an attempt. The service has mapped the runner's end already.
type Finish struct {
	Fence
	Hash   [32]byte // of the result as sent; the same again is a replay
	Result Result
	State  State  // Succeeded, Failed or Cancelled; or Queued for another try, which a cancelling task never gets: it ends Cancelled
	Reason string // of a Failed or Cancelled task, and of the attempt
	// NextRun is the earliest next try after now, for State Queued; if no try
	// is left the task ends Dead with Reason.
	NextRun time.Duration
}

// Renewal is the fate of one renewed lease.
type Renewal struct {
	Fence
	Lost   bool
	Cancel bool
}

// Reaped is one task that the reaper moved.
type Reaped struct {
	Tenant  tenant.ID
	Task    ID
	Attempt int
	Host    fleet.HostID
	State   State
	Reason  string
}

// Filter selects tasks of one tenant, newest first.
type Filter struct {
	Tenant tenant.ID
	States []State
	Host   fleet.HostID
	Labels map[string]string
	Before ID // only ids smaller than this; "" from the newest
	Limit  int
}

// Store keeps tasks. Each method is one transaction, and every guarded change
// is one statement over (id, attempt, state). "Now" is the store's own clock.
type Store interface {
	// Submit stores t (State Queued). With a key that the tenant used before it
	// returns that task and true if the body hash is equal, else ErrKeyReused;
	// the empty key is no key and never matches. A zero fact Action commits none.
	Submit(ctx context.Context, t Task, key string, body [32]byte, f audit.Fact) (Task, bool, error)
	// Submitted returns the task that Submit with that key and body would
	// return again, and whether there is one; ErrKeyReused as there.
	Submitted(ctx context.Context, t tenant.ID, key string, body [32]byte) (Task, bool, error)
	// ForgetKeys removes at most limit keys that Submit took before `before`,
	// and returns how many. The tasks stay.
	ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error)
	Task(ctx context.Context, t tenant.ID, id ID) (Task, error) // ErrNotFound
	Tasks(ctx context.Context, f Filter) ([]Task, error)
	Attempts(ctx context.Context, t tenant.ID, id ID) ([]Attempt, error)
	// Count returns how many tasks of the tenant are in each state.
	Count(ctx context.Context, t tenant.ID) (map[State]int, error)

	// Claim serves every waiting host in one transaction, answer i for request
	// i: highest priority first (a queued task gains one level per 5 minutes),
	// then oldest, each on a device that its selector matches and that nobody
	// holds. It sets Leased, attempt+1, the lease (Timing.AckWithin until
	// acknowledged) and the device's lease. A request whose (host, key) was
	// served within the last minute gets the same tasks again, those of them
	// that it still holds; if it holds none of them, it is served anew. A task
	// past ExpiresAt is never claimed.
	Claim(ctx context.Context, tm Timing, reqs []ClaimRequest) ([][]Task, error)
	// NextRun returns when the earliest queued task that is not ready yet
	// becomes ready; zero: none.
	NextRun(ctx context.Context) (time.Time, error)

	// Ack makes a leased attempt running and starts its full lease; again is a
	// renewal. The errors of a fence: ErrStaleAttempt if a later attempt
	// exists or the task is terminal, ErrLeaseLost if the attempt is not held
	// by this host or its time to stop is over, ErrNotFound. cancel is true
	// when the task is cancelling.
	Ack(ctx context.Context, tm Timing, f Fence) (cancel bool, err error)
	// Renew extends each held lease from now; an expired lease that the reaper
	// has not taken yet is renewed too. Two are not extended, so that no host
	// keeps a task for ever: that of a claim that was not acknowledged stays as
	// it is, and an attempt that did not end within Timing.CancelWithin of its
	// cancel is lost. The answer is in the order of fs.
	Renew(ctx context.Context, tm Timing, fs []Fence) ([]Renewal, error)
	// AppendEvents stores the events whose Seq continues the attempt's
	// (earlier ones are repeats and ignored), notes the acting mark, and
	// returns the next Seq. A gap is a fault Conflict "events_gap".
	AppendEvents(ctx context.Context, f Fence, events []Event) (next int, cancel bool, err error)
	Events(ctx context.Context, t tenant.ID, id ID, attempt, after, limit int) ([]Event, error)
	// Finish ends an attempt. The same hash again returns the task and true. A
	// result for an attempt that expired but was not claimed again is taken,
	// also after the reaper queued the task. ErrStaleAttempt,
	// ErrTerminalDifferent, ErrNotFound. It frees the device at once.
	Finish(ctx context.Context, f Finish) (Task, bool, error)
	// Release gives an attempt back: queued again (a try is not spent if it
	// was never acknowledged), or by the reaper's rule if it acted. Again is
	// a no-op. It frees the device at once.
	Release(ctx context.Context, f Fence, acted bool, reason string) (Task, error)
	// TakeBack ends a claim whose host had gone before it could be told of it,
	// as a miss: the task is queued again, ready at once after its first miss
	// and after Timing.Backoff of the earlier ones from then on, or Dead after
	// Timing.MaxMisses. It frees the device at once. An attempt that was
	// acknowledged after all, or is over, is left alone. ErrNotFound.
	TakeBack(ctx context.Context, tm Timing, f Fence) (Task, error)
	// Cancel makes a queued task cancelled and a held one cancelling, for at
	// most Timing.CancelWithin; again while cancelling is a no-op. ErrTerminal,
	// ErrNotFound.
	Cancel(ctx context.Context, tm Timing, t tenant.ID, id ID, reason string, f audit.Fact) (Task, error)
	// Reap moves at most limit tasks whose lease or time to stop ran out, or
	// that expired in the queue, by the rules of the package comment.
	Reap(ctx context.Context, tm Timing, limit int) ([]Reaped, error)
	// FailHost ends the leases of a revoked host now, by the reaper's rule.
	FailHost(ctx context.Context, tm Timing, host fleet.HostID) ([]Reaped, error)
}
