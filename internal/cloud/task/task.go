// Package task runs the life of a task: submitted, claimed by a host as an
// attempt under a lease, reported, retried or ended.
//
// The states are queued, leased, running and cancelling, then succeeded,
// failed, cancelled or dead, which are terminal and absorbing. The attempt
// number grows with each claim and is the fencing token: every change is
// guarded by (id, attempt, state) in the statement that makes it, the reaper's
// too. Lease time is the store's own clock; hosts get relative times only.
//
// A claim that the host never acknowledges, or that it was gone before it heard
// of, goes back to the queue without spending one of the task's tries; it is a
// miss, and the task is dead after a few. An acknowledged attempt whose lease ends
// is tried again if nothing had acted on the device or the task is
// repeatable; else the task ends failed(indeterminate) for a person to look
// at. A device is leased with the task and stays taken for a grace after a
// lease ran out, longer than a host takes to fence itself.
//
// No state lasts for ever by itself. A queued task expires; a claim has a
// moment to be acknowledged, which no renewal extends; a cancelled attempt that
// its host does not end is ended without it, and its renewals are lost from
// then on. A running one lasts as long as its host renews it, until somebody
// cancels.
//
// The store is authoritative, and the one queue. Held polls, signals and
// watchers live in memory and only save time: a submit wakes one host that can
// serve the task, a cancel reaches its host's poll at once. After a crash hosts
// poll again, heartbeats say what signals said, a sweep finds what nobody
// announced, and leases run on.
package task

import (
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/llm"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// ID names a task (UUIDv7).
type ID string

// State is where a task is in its life.
type State string

// The states.
const (
	Queued     State = "queued"
	Leased     State = "leased"
	Running    State = "running"
	Cancelling State = "cancelling"
	Succeeded  State = "succeeded"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
	Dead       State = "dead"
)

// Terminal reports whether the state is absorbing.
func (s State) Terminal() bool {
	return s == Succeeded || s == Failed || s == Cancelled || s == Dead
}

// Held reports whether a host holds the task.
func (s State) Held() bool { return s == Leased || s == Running || s == Cancelling }

// Spec is what an operator asks for. Limits are checked by Service.Submit.
type Spec struct {
	Goal        string
	Selector    Selector
	Budgets     Budgets
	Priority    int  // 0 to 9, 9 first; default 5
	Repeatable  bool // an attempt that acted may be tried again by itself
	AppLock     []string
	Policy      policy.Document
	NotBefore   time.Time // zero: at once
	ExpiresAt   time.Time // a task still queued then is dead
	MaxAttempts int       // acknowledged attempts; default 3
	Labels      map[string]string
}

// Selector says which device may serve: each field that is set must match.
type Selector struct {
	Host   fleet.HostID      `json:"host_id,omitzero"`
	Device string            `json:"device,omitzero"` // a device id
	Kind   string            `json:"kind,omitzero"`   // a device kind
	Labels map[string]string `json:"labels,omitzero"` // each among the device's or the host's labels, the device's winning
}

// Matches reports whether a device of a host serves.
func (s Selector) Matches(h fleet.HostID, hostLabels map[string]string, d fleet.Device) bool {
	if (s.Host != "" && s.Host != h) || (s.Device != "" && s.Device != d.ID) || (s.Kind != "" && s.Kind != d.Kind) {
		return false
	}
	for k, want := range s.Labels {
		got, ok := d.Labels[k]
		if !ok {
			got, ok = hostLabels[k]
		}
		if !ok || got != want {
			return false
		}
	}
	return true
}

// Budgets end an attempt; zero: no limit of that kind.
type Budgets struct {
	Steps    int
	WallTime time.Duration
	Tokens   int64
}

// Task is one task with where it is now.
type Task struct {
	ID      ID
	Tenant  tenant.ID
	Spec    Spec
	State   State
	Reason  string // why it failed, was cancelled or is dead
	RetryOf ID     // the task that this one runs again

	Attempt      int // of the latest claim, 0 before the first
	Tries        int // acknowledged attempts
	LeaseMisses  int // claims that were never acknowledged
	Host         fleet.HostID
	Device       string
	LeaseExpires time.Time // the store's clock; zero when not held
	Acted        bool      // the current attempt may have changed something on the device
	NextRun      time.Time // not claimed before

	Result     *Result // of the attempt that ended it
	CreatedAt  time.Time
	UpdatedAt  time.Time
	TerminalAt time.Time // zero until terminal
	PrunedAt   time.Time // when retention removed its decisions
}

// Result is what a host reported for one attempt.
type Result struct {
	State      string // the runner's terminal state
	Reason     string
	Summary    string
	Steps      int
	Acted      bool
	Usage      llm.Usage
	RetryAfter time.Duration
}

// Attempt is one claim of a task, for people.
type Attempt struct {
	Task      ID
	Number    int
	Host      fleet.HostID
	Device    string
	ClaimedAt time.Time
	AckedAt   time.Time
	ActingAt  time.Time
	EndedAt   time.Time
	End       string // "succeeded", "failed", "cancelled", "released", "lease_expired", …
	Reason    string
	Steps     int // decisions in the log
}

// Event is one thing that happened in an attempt, as the host reported it.
type Event struct {
	Seq       int
	Kind      string // hostapi's kinds
	Step      int
	Tool      string
	Effect    string
	Rule      string
	Revision  string
	Outcome   string
	Duration  time.Duration
	SceneHash string
	StepIndex int // -1: the decision is not in the log
	At        time.Time
}
