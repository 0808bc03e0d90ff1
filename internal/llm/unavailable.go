package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reason says why there is no decision. The list is closed and the same on
// the wire; reasons are appended, never renamed.
type Reason string

// The reasons.
const (
	Refused              Reason = "refused"           // the model or a content filter declined
	Truncated            Reason = "truncated"         // the reply hit its length limit, or the context window was full
	NoCall               Reason = "no_call"           // no tool call; also a paused turn
	ManyCalls            Reason = "many_calls"        // two or more
	UnknownTool          Reason = "unknown_tool"      // a name that was not offered
	InvalidArguments     Reason = "invalid_arguments" // not an object, or it breaks the tool's schema
	RateLimited          Reason = "rate_limited"
	QuotaExhausted       Reason = "quota_exhausted"  // the provider's quota or spend limit: a retry can't help
	BudgetExhausted      Reason = "budget_exhausted" // a cap of ours
	Overloaded           Reason = "overloaded"
	Auth                 Reason = "auth"        // the provider refused our key
	BadRequest           Reason = "bad_request" // the provider, or our own check, refused the request
	Timeout              Reason = "timeout"
	Transport            Reason = "transport"      // no connection, or a reply cut in the middle
	ProviderError        Reason = "provider_error" // 5xx, a redirect, or a body that is not the API's
	Cancelled            Reason = "cancelled"
	LeaseLost            Reason = "lease_lost"
	DecideInFlight       Reason = "decide_in_flight" // another decision of this attempt is running
	HostUnauthorized     Reason = "host_unauthorized"
	PlannerForbidden     Reason = "planner_forbidden" // this host may not decide, or an operator stopped all decides
	PlannerNotConfigured Reason = "planner_not_configured"
	StorageFull          Reason = "storage_full"
)

// Reasons is the closed list in a fixed order.
var Reasons = []Reason{Refused, Truncated, NoCall, ManyCalls, UnknownTool, InvalidArguments, RateLimited, QuotaExhausted,
	BudgetExhausted, Overloaded, Auth, BadRequest, Timeout, Transport, ProviderError, Cancelled, LeaseLost, DecideInFlight,
	HostUnauthorized, PlannerForbidden, PlannerNotConfigured, StorageFull}

// reasonPrefix marks a task's reason that is the reason of a decision.
const reasonPrefix = "planner_"

// TaskReason is the reason of an attempt that failed for want of a decision:
// planner_timeout. A reason that says so already is left as it is:
// planner_forbidden.
func (r Reason) TaskReason() string {
	if strings.HasPrefix(string(r), reasonPrefix) {
		return string(r)
	}
	return reasonPrefix + string(r)
}

// OfTask returns the reason that TaskReason made into s, or false where s is
// about something else.
func OfTask(s string) (Reason, bool) {
	for _, r := range Reasons {
		if r.TaskReason() == s {
			return r, true
		}
	}
	return "", false
}

// ErrUnavailable matches every *Unavailable with errors.Is.
var ErrUnavailable = errors.New("no decision")

// Unavailable is the one error of a decision (the seeds' ToolCallUnavailable).
type Unavailable struct {
	Reason Reason
	// RetryAfter is the provider's own word on when to try again; zero: none.
	RetryAfter time.Duration
	// Detail is one sentence of ours for a person: no model text, no
	// provider body, no secret.
	Detail string
	// Usage is what the failed call cost, where the provider said.
	Usage             Usage
	Provider          string
	Model             string
	ProviderRequestID string
	// Err is the cause for the log of this process; it never crosses a wire.
	Err error
}

// Error says the reason and the detail.
func (u *Unavailable) Error() string {
	if u.Detail == "" {
		return fmt.Sprintf("no decision (%s)", u.Reason)
	}
	return fmt.Sprintf("no decision (%s): %s", u.Reason, u.Detail)
}

// Is matches ErrUnavailable.
func (u *Unavailable) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (u *Unavailable) Unwrap() error { return u.Err }

// AsUnavailable returns the *Unavailable in err's chain. For an error that has
// none it makes one: Timeout or Cancelled where the context says so, else
// Transport. AsUnavailable(nil) is nil.
func AsUnavailable(err error) *Unavailable {
	if err == nil {
		return nil
	}
	var u *Unavailable
	switch {
	case errors.As(err, &u):
		return u
	case errors.Is(err, context.DeadlineExceeded):
		return &Unavailable{Reason: Timeout, Detail: "the decision took longer than its timeout", Err: err}
	case errors.Is(err, context.Canceled):
		return &Unavailable{Reason: Cancelled, Detail: "the decision was cancelled", Err: err}
	default:
		return &Unavailable{Reason: Transport, Detail: "the connection failed", Err: err}
	}
}
