package operators

import (
	"time"

	"interlock/internal/llm"
	"interlock/internal/policy"
)

// TaskSpec is the body of a submit, and part of every Task. A zero time or
// count is "not set".
type TaskSpec struct {
	Goal        string            `json:"goal" minLength:"1" doc:"what the device should look like, or have done, at the end"`
	Device      Selector          `json:"device,omitzero" doc:"which device may serve; empty: any"`
	Budgets     Budgets           `json:"budgets,omitzero"`
	Priority    *int              `json:"priority,omitempty" minimum:"0" maximum:"9" doc:"9 is served first; left out: 5"`
	Repeatable  bool              `json:"repeatable,omitzero" doc:"an attempt that already acted on the device may be tried again by itself"`
	AppLock     []string          `json:"app_lock,omitzero" doc:"packages that the task may act in; empty: any"`
	Policy      policy.Document   `json:"policy,omitzero"`
	NotBefore   time.Time         `json:"not_before,omitzero" doc:"not started earlier"`
	ExpiresAt   time.Time         `json:"expires_at,omitzero" doc:"still queued then: dead"`
	MaxAttempts int               `json:"max_attempts,omitzero" minimum:"0" doc:"acknowledged attempts; 0: the server's default"`
	Labels      map[string]string `json:"labels,omitzero" doc:"for finding the task again"`
}

// Selector says which device may serve: each field that is set must match.
type Selector struct {
	HostID   string            `json:"host_id,omitzero"`
	DeviceID string            `json:"device_id,omitzero"`
	Kind     string            `json:"kind,omitzero" doc:"sim, android, web or ios"`
	Labels   map[string]string `json:"labels,omitzero" doc:"each among the device's or the host's labels"`
}

// Budgets end an attempt; zero: no limit of that kind.
type Budgets struct {
	Steps      int   `json:"steps,omitzero" minimum:"0"`
	WallTimeMS int64 `json:"wall_time_ms,omitzero" minimum:"0"`
	Tokens     int64 `json:"tokens,omitzero" minimum:"0"`
}

// Task is one task with where it is now.
type Task struct {
	ID string `json:"id"`
	TaskSpec
	State   string `json:"state" enum:"queued,leased,running,cancelling,succeeded,failed,cancelled,dead"`
	Reason  string `json:"reason,omitzero" doc:"why it failed, was cancelled or is dead"`
	RetryOf string `json:"retry_of,omitzero" doc:"the task that this one runs again"`

	Attempt        int       `json:"attempt" doc:"number of the latest claim; 0 before the first"`
	Tries          int       `json:"tries" doc:"attempts that a host acknowledged"`
	LeaseMisses    int       `json:"lease_misses,omitzero" doc:"claims that no host acknowledged"`
	HostID         string    `json:"host_id,omitzero"`
	DeviceID       string    `json:"device_id,omitzero"`
	LeaseExpiresAt time.Time `json:"lease_expires_at,omitzero"`
	Acted          bool      `json:"acted,omitzero" doc:"the current attempt may have changed something on the device"`
	NextRunAt      time.Time `json:"next_run_at,omitzero" doc:"not claimed earlier"`

	Result            *TaskResult `json:"result,omitempty" doc:"of the attempt that ended it"`
	CreatedAt         time.Time   `json:"created_at"`
	UpdatedAt         time.Time   `json:"updated_at"`
	TerminalAt        time.Time   `json:"terminal_at,omitzero"`
	DecisionsPrunedAt time.Time   `json:"decisions_pruned_at,omitzero" doc:"when retention or a purge removed its decisions"`
}

// Ended reports whether the state is terminal.
func (t Task) Ended() bool {
	switch t.State {
	case "succeeded", "failed", "cancelled", "dead":
		return true
	}
	return false
}

// TaskResult is what a host reported for the attempt that ended a task.
type TaskResult struct {
	State   string    `json:"state" doc:"the runner's terminal state"`
	Reason  string    `json:"reason,omitzero"`
	Summary string    `json:"summary,omitzero" doc:"may be the model's words: untrusted text"`
	Steps   int       `json:"steps"`
	Acted   bool      `json:"acted"`
	Usage   llm.Usage `json:"usage"`
}

// TaskPage is one page of tasks, newest first. Query: state (repeatable),
// host_id, label (name=value, repeatable), limit, cursor.
type TaskPage struct {
	Tasks      []Task `json:"tasks"`
	NextCursor string `json:"next_cursor,omitzero" doc:"pass it as cursor for the next page; absent on the last one"`
}

// SubmitReply answers a submit or a retry.
type SubmitReply struct {
	Task     Task `json:"task"`
	Replayed bool `json:"replayed,omitzero" doc:"an earlier request with this idempotency key had made it"`
}

// CancelRequest is the body of a cancel.
type CancelRequest struct {
	Reason string `json:"reason,omitzero" maxLength:"500"`
}

// Attempt is one claim of a task.
type Attempt struct {
	Number    int       `json:"number"`
	HostID    string    `json:"host_id"`
	DeviceID  string    `json:"device_id"`
	ClaimedAt time.Time `json:"claimed_at"`
	AckedAt   time.Time `json:"acked_at,omitzero"`
	ActingAt  time.Time `json:"acting_at,omitzero" doc:"when the host announced its first action on the device"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	End       string    `json:"end,omitzero"`
	Reason    string    `json:"reason,omitzero"`
	Decisions int       `json:"decisions" doc:"decisions of this attempt in the log"`
}

// AttemptList is all attempts of a task, in order.
type AttemptList struct {
	Attempts []Attempt `json:"attempts"`
}

// Event is one thing that happened in an attempt, as its host reported it.
type Event struct {
	Attempt    int       `json:"attempt"`
	Seq        int       `json:"seq"`
	Kind       string    `json:"kind" enum:"step,acting"`
	Step       int       `json:"step"`
	Tool       string    `json:"tool,omitzero"`
	Effect     string    `json:"effect,omitzero" doc:"the policy's verdict"`
	Rule       string    `json:"rule,omitzero"`
	Revision   string    `json:"revision,omitzero"`
	Outcome    string    `json:"outcome,omitzero"`
	DurationMS int64     `json:"duration_ms,omitzero"`
	SceneHash  string    `json:"scene_hash,omitzero"`
	StepIndex  *int      `json:"step_index,omitempty" doc:"place of the decision in the log; absent if it is not there"`
	At         time.Time `json:"at"`
}

// EventPage is one page of an attempt's events, in order. Query: attempt
// (absent: the latest), limit, cursor.
type EventPage struct {
	Events     []Event `json:"events"`
	NextCursor string  `json:"next_cursor,omitzero"`
}

// The event names of a watch, which is a stream of server-sent events: for
// each change the new steps, from the first attempt on, then the task. After a
// task that has ended the server closes the stream. A WatchStep carries an id;
// a client that comes back with it as Last-Event-ID misses none and sees none
// twice. Comment lines are signs of life.
const (
	WatchTask = "task" // data: Task
	WatchStep = "step" // data: Event
)
