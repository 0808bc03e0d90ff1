// Package hostapi is the host protocol on the wire, version 1: paths, types
// and the mapping of a decision. The host and the door that serves it share
// this package and nothing else.
//
// Every call is a POST of JSON with "Interlock-Protocol: 1" and, but for
// enroll, "Authorization: Bearer <host credential>". Every call that changes
// something takes an Idempotency-Key; a repeat with the same key gets the
// first answer. A failure is a problem.Problem; its `retryable` says whether
// it is final. Durations are relative milliseconds: the two clocks are never
// compared.
package hostapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/policy"
	"interlock/internal/secret"
	"interlock/internal/tool"
)

// The header that carries the protocol version, and the version.
const (
	VersionHeader = "Interlock-Protocol"
	Version       = "1"
	KeyHeader     = "Idempotency-Key" // 1 to 200 printable ASCII characters
)

// Paths of the calls. Those with {id} and {n} are built by TaskPath.
const (
	PathEnroll    = "/internal/v1/enroll"
	PathRotate    = "/internal/v1/credential/rotate"
	PathHeartbeat = "/internal/v1/heartbeat"
	PathPoll      = "/internal/v1/poll"
	PathDecide    = "/internal/v1/planner/decide"
	PathTask      = "/internal/v1/tasks/{id}/attempts/{n}/" // then ack, renew, events, result or release
)

// TaskPath is the path of one verb on one attempt.
func TaskPath(id string, attempt int, verb string) string {
	return fmt.Sprintf("/internal/v1/tasks/%s/attempts/%d/%s", id, attempt, verb)
}

// Limits that both sides keep.
const (
	MaxBody       = 1 << 20 // bytes of a request but decide's
	MaxDecideBody = 8 << 20 // bytes of a decide with its base64 screenshot
	MaxReply      = 8 << 20 // bytes of any answer
	MaxHeld       = 256     // attempts one host may hold
	MaxDevices    = 256     // devices one host may offer
	MaxHostName   = 64      // bytes of a host's name
)

// IsHostName reports whether a host may be called s: 1 to MaxHostName of a-z,
// A-Z, 0-9, '.', '_' and '-'.
func IsHostName(s string) bool {
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	}
	return s != "" && len(s) <= MaxHostName && !strings.ContainsFunc(s, strange)
}

// Picture is an encoded screenshot: base64 in JSON, a byte count to every
// printer. Only a decide request holds one.
type Picture []byte

// String and GoString never show the picture.
func (p Picture) String() string   { return fmt.Sprintf("[picture of %d bytes]", len(p)) }
func (p Picture) GoString() string { return p.String() }

// Device is one phone that a host offers. ID is unique within the host.
type Device struct {
	ID     string            `json:"id"`
	Kind   string            `json:"kind"` // "sim", later "android", "web", "ios"
	Name   string            `json:"name,omitzero"`
	Labels map[string]string `json:"labels,omitzero"`
}

// EnrollRequest makes a host out of a one-use enrolment token.
type EnrollRequest struct {
	Token   secret.Exposed    `json:"token"`
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitzero"`
	Devices []Device          `json:"devices,omitzero"`
	Version string            `json:"version"`
}

// CredentialReply answers enroll and rotate. It is the only time that the
// credential is shown.
type CredentialReply struct {
	HostID     string         `json:"host_id"`
	Credential secret.Exposed `json:"credential"`
	LifetimeMS int64          `json:"lifetime_ms"`  // rotate at 75 % of it
	OldValidMS int64          `json:"old_valid_ms"` // how long the credential before still works; 0 at enrolment
	Timings    Timings        `json:"timings"`
}

// Timings are the server's settings that a host keeps to.
type Timings struct {
	LeaseMS       int64 `json:"lease_ms"`        // an unrenewed lease ends this long after the request that renewed it was sent
	RenewMS       int64 `json:"renew_ms"`        // heartbeat every so often, ±20 %
	SelfFenceMS   int64 `json:"self_fence_ms"`   // stop touching the device this long after the last accepted renewal was sent
	FreshMS       int64 `json:"fresh_ms"`        // renew before an action when the lease is older
	PollHoldMS    int64 `json:"poll_hold_ms"`    // how long a poll may be held
	DecideSlackMS int64 `json:"decide_slack_ms"` // the host's HTTP deadline of a decide exceeds its timeout by this
}

// Held names one attempt that the host believes it holds.
type Held struct {
	TaskID  string `json:"task_id"`
	Attempt int    `json:"attempt"`
}

// HeartbeatRequest renews everything held in one call.
type HeartbeatRequest struct {
	Held      []Held   `json:"held"`
	Devices   []Device `json:"devices"`
	SlotsFree int      `json:"slots_free"`
	Draining  bool     `json:"draining"`
	Version   string   `json:"version"`
}

// What became of one held attempt.
const (
	Renewed = "renewed"
	Cancel  = "cancel" // still held; stop at the next step boundary and report cancelled
	Lost    = "lost"   // no longer held: stop at once, report nothing
)

// HeldStatus is the fate of one held attempt; LeaseMS is set with Renewed and Cancel.
type HeldStatus struct {
	Held
	Status  string `json:"status"`
	LeaseMS int64  `json:"lease_ms,omitzero"`
}

// HeartbeatReply answers a heartbeat, in the order of the request's Held.
type HeartbeatReply struct {
	Held    []HeldStatus `json:"held"`
	Drain   bool         `json:"drain"` // the operator asks this host to take no more work
	Timings Timings      `json:"timings"`
}

// PollRequest is held by the server until there is something to say, at most
// WaitMS. Max is how many tasks the host can take now, 0 when full: signals
// come all the same.
type PollRequest struct {
	Max    int      `json:"max"`
	WaitMS int64    `json:"wait_ms"`
	Idle   []string `json:"idle"` // ids of the devices that are free and healthy
}

// PollReply is sent only when it holds something; else the answer is 204.
type PollReply struct {
	Assignments []Assignment `json:"assignments,omitzero"`
	Signals     []Signal     `json:"signals,omitzero"`
}

// The kinds of signal.
const (
	SignalCancel  = "cancel"
	SignalDrain   = "drain"
	SignalRevoked = "revoked"
)

// Signal tells a host something between heartbeats.
type Signal struct {
	Kind    string `json:"kind"`
	TaskID  string `json:"task_id,omitzero"`
	Attempt int    `json:"attempt,omitzero"`
}

// Assignment is one attempt given to the host. It must be acknowledged
// (verb "ack") before the lease's first renewal is due.
type Assignment struct {
	TaskID   string          `json:"task_id"`
	Attempt  int             `json:"attempt"`
	DeviceID string          `json:"device_id"`
	Goal     string          `json:"goal"`
	Budgets  Budgets         `json:"budgets"`
	AppLock  []string        `json:"app_lock,omitzero"`
	Policy   policy.Document `json:"policy"`
	LeaseMS  int64           `json:"lease_ms"`
}

// Budgets end an attempt; zero means no limit of that kind.
type Budgets struct {
	Steps      int   `json:"steps"`
	WallTimeMS int64 `json:"wall_time_ms"`
	Tokens     int64 `json:"tokens"`
}

// LeaseReply answers ack and renew. Cancel asks the host to stop as in a
// heartbeat.
type LeaseReply struct {
	LeaseMS int64 `json:"lease_ms"`
	Cancel  bool  `json:"cancel,omitzero"`
}

// The kinds of event.
const (
	EventStep   = "step"
	EventActing = "acting" // acknowledged once before the first mutating action of an attempt
)

// Event is one thing that happened in an attempt. Seq is 0, 1, 2 … within the
// attempt; a repeated Seq is taken once. It holds no prompt, no argument and
// no text of the screen.
type Event struct {
	Seq        int    `json:"seq"`
	Kind       string `json:"kind"`
	Step       int    `json:"step"`
	Tool       string `json:"tool,omitzero"`
	Effect     string `json:"effect,omitzero"` // the policy verdict
	Rule       string `json:"rule,omitzero"`
	Revision   string `json:"revision,omitzero"`
	Outcome    string `json:"outcome,omitzero"`
	DurationMS int64  `json:"duration_ms,omitzero"`
	SceneHash  string `json:"scene_hash,omitzero"`
	StepIndex  *int   `json:"step_index,omitzero"` // set if the decision came from the log
	AgoMS      int64  `json:"ago_ms,omitzero"`     // how long before sending it happened
}

// EventsRequest appends events.
type EventsRequest struct {
	Events []Event `json:"events"`
}

// EventsReply says the next Seq that the server expects.
type EventsReply struct {
	Next   int  `json:"next"`
	Cancel bool `json:"cancel,omitzero"`
}

// ResultRequest ends an attempt. State is the runner's terminal state.
type ResultRequest struct {
	State        string    `json:"state"`
	Reason       string    `json:"reason,omitzero"`
	Summary      string    `json:"summary,omitzero"` // the finish or fail text, at most 2,000 characters
	Steps        int       `json:"steps"`
	Acted        bool      `json:"acted"`
	Usage        llm.Usage `json:"usage"`
	RetryAfterMS int64     `json:"retry_after_ms,omitzero"`
}

// ResultReply says what became of the task. Replayed means that this result
// had been accepted before.
type ResultReply struct {
	TaskState string `json:"task_state"`
	Replayed  bool   `json:"replayed,omitzero"`
}

// ReleaseRequest gives an attempt back unfinished, at a step boundary.
type ReleaseRequest struct {
	Reason string `json:"reason"`
	Acted  bool   `json:"acted"`
}

// DecideRequest asks the control plane for one decision.
type DecideRequest struct {
	TaskID         string      `json:"task_id"`
	Attempt        int         `json:"attempt"`
	SystemPrompt   string      `json:"system_prompt"`
	UserPrompt     string      `json:"user_prompt"`
	Screenshot     Picture     `json:"screenshot,omitzero"`
	Tools          []tool.Spec `json:"tools"`
	TimeoutSeconds float64     `json:"timeout_seconds"`
}

// DecideReply is one decision, in the log under StepIndex.
type DecideReply struct {
	ToolName          string          `json:"tool_name"`
	Arguments         json.RawMessage `json:"arguments"`
	StepIndex         int             `json:"step_index"`
	Usage             llm.Usage       `json:"usage"`
	Provider          string          `json:"provider"`
	Model             string          `json:"model"`
	ProviderRequestID string          `json:"provider_request_id,omitzero"`
}

// NewDecideRequest carries r over the wire.
func NewDecideRequest(r llm.Request) DecideRequest {
	d := DecideRequest{TaskID: r.TaskID, Attempt: r.Attempt, SystemPrompt: r.System, UserPrompt: r.User,
		Tools: r.Tools.Specs(), TimeoutSeconds: r.Timeout.Seconds()}
	if r.Image != nil {
		d.Screenshot = r.Image.Bytes()
	}
	return d
}

// ReceivedDecide is a DecideRequest as its receiver reads it: the same on the
// wire.
type ReceivedDecide struct {
	DecideRequest               // but for its Tools
	Tools         ReceivedTools `json:"tools"`
}

// ReceivedTools are tools as a set. What was received before is recognised.
type ReceivedTools struct {
	set     *tool.Set
	refused error // why they are no set
}

// UnmarshalJSONFrom refuses what isn't a list of specs. Whether they make a
// set is for Request to say.
func (t *ReceivedTools) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	var malformed error
	t.set, malformed, t.refused = tool.Read(raw)
	var where *jsonv2.SemanticError
	if errors.As(malformed, &where) {
		where.JSONPointer = d.StackPointer() + where.JSONPointer
	}
	return malformed
}

// Request reads what NewDecideRequest wrote. Its errors are fit for the caller.
func (d ReceivedDecide) Request(key string) (llm.Request, error) {
	set, err := d.Tools.set, d.Tools.refused
	if set == nil && err == nil {
		set, err = tool.NewSet(nil)
	}
	if err != nil {
		return llm.Request{}, err
	}
	r := llm.Request{System: d.SystemPrompt, User: d.UserPrompt, Tools: set, Key: key, TaskID: d.TaskID, Attempt: d.Attempt,
		Timeout: time.Duration(d.TimeoutSeconds * float64(time.Second))}
	if len(d.Screenshot) > 0 {
		if r.Image, err = llm.NewImage(d.Screenshot); err != nil {
			return llm.Request{}, err
		}
	}
	return r, nil
}

// NewDecideReply carries d over the wire.
func NewDecideReply(d llm.Decision) DecideReply {
	return DecideReply{ToolName: d.Call.Tool, Arguments: d.Call.Arguments, StepIndex: d.StepIndex, Usage: d.Usage,
		Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID}
}

// Decision reads what NewDecideReply wrote. The host still checks the call
// against the tools that it offered: the control plane is outside, too.
func (d DecideReply) Decision(offered *tool.Set) (llm.Decision, error) {
	out, err := llm.Accept(offered, llm.Reply{Calls: []llm.RawCall{{Name: d.ToolName, Arguments: d.Arguments}},
		Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID})
	out.StepIndex = d.StepIndex
	return out, err
}
