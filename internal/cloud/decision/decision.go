// Package decision is the cloud side of planning: one provider call for a host
// that holds the attempt, and the log of what was decided.
//
// A decision is answered only after its row is committed: system prompt, user
// prompt, tool, arguments, usage and a step index that is gapless from 0
// within (task, attempt). The index is assigned when the provider has
// answered, so a failed call leaves no row and no gap; its usage is metered.
// One decide runs per attempt at a time. A repeat with the same key gets the
// first answer and is billed once. Screenshots are hashed, measured, sent to
// the provider and forgotten: no type of this room's store can hold one.
//
// A decide belongs to the service, not to the connection that asked: if the host
// goes away the provider's answer is still recorded, and the host's repeat gets
// it. A crash between the provider's answer and the commit loses the answer,
// which nobody saw; the repeat asks, and pays, again. The attempt may end while
// the provider works: then the call is cut, metered and leaves no row.
//
// Decisions go when their task has been terminal for longer than the
// retention window, and never before. If the log reaches its byte budget, new
// decides are refused; nothing that must stay is removed.
package decision

import (
	"context"
	"encoding/json"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

// Row is one decision in the log.
type Row struct {
	Tenant    tenant.ID
	Task      task.ID
	Attempt   int
	StepIndex int
	Host      fleet.HostID

	Key      string   // the host's idempotency key
	BodyHash [32]byte // of the request, so that a key is not used for another

	SystemPrompt string
	UserPrompt   string
	Tools        []tool.Spec
	Tool         string
	Arguments    json.RawMessage
	Screenshot   *llm.Evidence // what is left of the picture; nil: there was none

	Usage             llm.Usage
	Provider          string
	Model             string
	ProviderRequestID string
	RequestID         string // ours
	At                time.Time
	Latency           time.Duration
}

// Named failures of the log. Decide itself fails with *llm.Unavailable.
var (
	ErrKeyReused = fault.New(fault.Conflict, "idempotency_conflict", "that idempotency key was used before with another request; use a new key")
	ErrNotFound  = fault.New(fault.NotFound, "decision_not_found", "there is no such decision; it may have been pruned: list with: interlock decision list TASK")
)

// Standing is what the store knows when a decide arrives.
type Standing struct {
	Replay    *Row  // the key's earlier answer, without prompts and tools
	Decisions int   // of this attempt
	Tokens    int64 // input and output reported for the task so far, over all attempts and failures
	Stop      usage.Stop
}

// Size is how much the log holds.
type Size struct {
	Rows  int64
	Bytes int64 // stored bytes of rows and blobs, compressed, without the engine's overhead
}

// Pruned is what one step of pruning removed.
type Pruned struct {
	Tasks     int
	Decisions int
	Blobs     int
	More      bool // there is more to do at once
}

// Store keeps the log. Each method is one transaction.
type Store interface {
	// Standing checks that f holds the attempt (else task.ErrStaleAttempt,
	// task.ErrLeaseLost, task.ErrCancelled or task.ErrNotFound) and reads what a
	// decide must know. ErrKeyReused if key was used with another body hash.
	Standing(ctx context.Context, f task.Fence, key string, body [32]byte) (Standing, error)
	// Record stores r with the attempt's next step index, and e in the usage,
	// and returns the index. It checks the fence again: if the attempt was
	// lost during the provider call, the error is as from Standing, and e is
	// metered all the same. A key that has a row gets that row's index.
	Record(ctx context.Context, r Row, e usage.Entry) (int, error)
	// MeterFailure adds the usage of a call that gave no decision.
	MeterFailure(ctx context.Context, e usage.Entry) error

	// Decisions returns rows of a task in (attempt, step) order behind the
	// given place; attempt 0 means all. Without bodies, prompts and tools are
	// left out.
	Decisions(ctx context.Context, q Query) ([]Row, error)
	Decision(ctx context.Context, t tenant.ID, id task.ID, attempt, step int) (Row, error) // ErrNotFound

	// Size is cheap: it reads counters.
	Size(ctx context.Context) (Size, error)
	// Prune removes the decisions of at most limit tasks that became terminal
	// before `before`, guarded in the statement, marks those tasks pruned,
	// and removes blobs that nothing uses any more in the same pass.
	Prune(ctx context.Context, before time.Time, limit int) (Pruned, error)
	// NextPrune returns when the oldest unpruned terminal task became
	// terminal; zero: none.
	NextPrune(ctx context.Context) (time.Time, error)
	// Purge removes all decisions of one terminal task now, with their blobs.
	// task.ErrNotFound, task.ErrNotTerminal.
	Purge(ctx context.Context, t tenant.ID, id task.ID, f audit.Fact) (Pruned, error)
	// Reclaim gives freed space back to the file system and clears what a
	// removed row left in the engine's logs; it may take a while.
	Reclaim(ctx context.Context) error
}

// Query selects decisions of one task.
type Query struct {
	Tenant       tenant.ID
	Task         task.ID
	Attempt      int // 0: all
	AfterAttempt int // together with AfterStep: the last row seen; 0 and -1 at the start
	AfterStep    int
	Limit        int
	Bodies       bool
}
