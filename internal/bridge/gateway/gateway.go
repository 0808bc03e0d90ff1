// Package gateway is the only way to an app. It trusts nobody: whatever a
// resolution said, it checks tenant, subscription, enablement, operation,
// scope, idempotency, arguments, policy and confirmation by itself, in this
// order, and each refusal has its own code.
//
// A call is logged before it is made: its record and its quota unit are
// committed in one transaction, and a call that can't be logged is not made.
// The record is closed after it, with the verdict and the time it took. Values
// of arguments are in it only where the app's author marked them safe.
//
// Quotas are exact: a unit is taken by one conditional statement, so no number
// of processes together exceeds a limit. A refusal before the quota costs
// nothing; a call that failed for want of a credential or of the service
// behind the app gives its unit back, in the transaction that closes it.
//
// An idempotency key makes a repeat the same call: it gets the first one's
// answer and costs nothing, as long as that is kept (KeepReplies), provided
// that who repeats it may still call the operation. A repeat that comes while
// the call is under way in this process waits for it; one that another process
// has under way is refused for the moment. Failures are not remembered: a
// repeat of one is made anew.
//
// A crash in the middle of a call leaves its record open, and so does a store
// that takes no closing; the answer is given all the same. Run closes such a
// record as interrupted, with its unit, and a repeat of its key is made anew
// where the operation only reads, else refused for good.
//
// Times are this process's clock, those of quotas' windows too. Where several
// share a store, one whose clock is half a minute ahead takes the others' calls
// for interrupted while they are under way: their callers get their answers,
// but their keys are not remembered and their units are not given back.
package gateway

import (
	"context"
	"encoding/json"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/site"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// App runs the operations of one published app. It is safe for concurrent use.
type App interface {
	// Describe is what it publishes, always the same.
	Describe() catalog.App
	// Check refuses, with a fault of kind Invalid, arguments that satisfy the
	// operation's schema and still can't be right.
	Check(operation string, arguments json.RawMessage) error
	// Invoke makes the call, and returns soon after ctx ends: nothing but ctx
	// cuts it off. Its faults are credential_rejected and upstream_unavailable;
	// anything else is a defect, a panic too, and fails this call alone. The
	// credential is empty for an app that needs none.
	Invoke(ctx context.Context, operation string, arguments json.RawMessage, credential secret.String) (json.RawMessage, error)
}

// Record is one call in the log.
type Record struct {
	ID        string // ours, UUIDv7, by time
	Tenant    tenant.ID
	Site      site.ID
	App       catalog.AppID
	Operation string
	RequestID string
	Key       string   // the caller's idempotency key, also once it is free again; "": none
	BodyHash  [32]byte // of operation and arguments, so that a key is not used for another call
	// Arguments holds the values that the app marked safe, as a JSON object;
	// nil: none.
	Arguments json.RawMessage
	Revision  string // of the policy
	OpenedAt  time.Time

	// Verdict is Open, OK, Interrupted or the code of the refusal.
	Verdict  string
	Duration time.Duration   // of the whole call, once it is closed
	Reply    json.RawMessage // the result, kept for repeats of Key; nil: none, or no longer
	Charged  bool            // it has a unit of the quota
}

// Verdicts that are not codes of refusals.
const (
	Open        = "open"
	OK          = "ok"
	Interrupted = "interrupted"
)

// Exceeded is the code of the one refusal that OpenCall records by itself.
const Exceeded = "quota_exceeded"

// Meter is a tenant's use of a quota in one window.
type Meter struct {
	Quota    catalog.Quota
	Used     int64
	ResetsAt time.Time // the end of the window
}

// Remaining is how many calls are left in the window.
func (m Meter) Remaining() int64 { return max(0, m.Quota.Limit-m.Used) }

// Opened says what became of an opening.
type Opened struct {
	// Before is the record that has the key already, if one has: then nothing
	// was written.
	Before *Record
	// Exceeded says that the quota had no unit left: the record was committed
	// closed, with the verdict Exceeded.
	Exceeded bool
	Used     int64 // of the quota's window, after this call
}

// Closing ends an open call.
type Closing struct {
	Tenant   tenant.ID
	ID       string
	Verdict  string // OK or a code; not Open
	Duration time.Duration
	Reply    json.RawMessage // kept only with a key
	Refund   bool            // give the unit back
}

// Query selects records of one tenant, newest first.
type Query struct {
	Tenant  tenant.ID
	Site    site.ID       // "": any
	App     catalog.AppID // "": any
	Verdict string        // "": any
	Before  string        // an ID; "": from the newest
	Limit   int
}

// Store keeps the log and the quotas' meters. A key is one of (tenant, site).
type Store interface {
	// Keyed reads the record that holds the key: one that is Open, OK or
	// Interrupted and not forgotten. found is false where there is none.
	Keyed(ctx context.Context, t tenant.ID, s site.ID, key string) (r Record, found bool, err error)
	// OpenCall commits r, open, and takes a unit of q in the window of
	// r.OpenedAt, in one transaction: see Opened. The unit is counted against
	// (tenant, app, window, start of the window).
	OpenCall(ctx context.Context, r Record, q catalog.Quota) (Opened, error)
	// ReopenCall opens an Interrupted record that holds its key again for a
	// repeat of it, with the unit that it has; its OpenedAt becomes at. false:
	// it is not Interrupted any more, or its key is forgotten.
	ReopenCall(ctx context.Context, t tenant.ID, id string, at time.Time) (bool, error)
	// CloseCall ends an open call; one that is not open stays as it is, and
	// gives no unit back. A verdict that is not OK frees the key.
	CloseCall(ctx context.Context, c Closing) error
	// RefuseCall commits the record of a call that was refused before it was
	// opened, closed, with its verdict.
	RefuseCall(ctx context.Context, r Record) error
	// Meter reads the use of q in the window of at.
	Meter(ctx context.Context, t tenant.ID, app catalog.AppID, q catalog.Quota, at time.Time) (Meter, error)
	// Calls lists records, without their replies.
	Calls(ctx context.Context, q Query) ([]Record, error)

	// InterruptCalls closes up to limit calls as Interrupted that were opened
	// before at and are still open.
	InterruptCalls(ctx context.Context, at time.Time, limit int) (int, error)
	// ForgetReplies removes the replies of up to limit closed calls that hold
	// their keys and were opened before at, and frees the keys.
	ForgetReplies(ctx context.Context, at time.Time, limit int) (int, error)
	// PruneCalls removes up to limit things: closed records of calls that were
	// opened before at, then meters whose window ended by then. It returns how
	// many; fewer than limit: nothing is left.
	PruneCalls(ctx context.Context, at time.Time, limit int) (int, error)
	// Reclaim gives back the space of what was removed, so that no reply is
	// left in a file. It looks at the whole store: once a pruning, not a step.
	Reclaim(ctx context.Context) error
}
