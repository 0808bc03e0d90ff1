package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/runner"
)

// CloudCaller decides at the control plane, with the host's credential in use
// at the time. It knows no vendor, key or base URL.
//
// The whole decision takes at most the request's timeout plus a slack that the
// control plane sets, so that its own timeout is heard. Inside that time it
// repeats, under the request's key, what may only have lost its way (a broken
// connection, an answer that is not Interlock's, a problem that asks for a
// repeat); a decision that was made is then answered again, not made again.
// Retries towards the vendor are the control plane's.
type CloudCaller struct {
	client  *client
	slack   func() time.Duration
	refused func(error) // told when the control plane doesn't know this host
}

// Decide asks for one decision. Its errors are *llm.Unavailable.
func (c *CloudCaller) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	if r.Timeout <= 0 {
		r.Timeout = llm.DefaultTimeout
	}
	if r.Key == "" {
		r.Key = newKey()
	}
	cl, err := newCall(hostapi.PathDecide, hostapi.NewDecideRequest(r))
	if err != nil || len(cl.body) > hostapi.MaxDecideBody {
		return llm.Decision{}, &llm.Unavailable{Reason: llm.BadRequest, Detail: "the prompt and screenshot are too large for the control plane", Err: err}
	}
	// One deadline for the whole decision and none for a try: the two would
	// race, and a hang would now and then pass for a broken connection.
	cl.key, cl.timeout = r.Key, 0
	ctx, stop := context.WithTimeout(ctx, r.Timeout+c.slack())
	defer stop()
	var reply hostapi.DecideReply
	if err := c.client.persist(ctx, cl, &reply, lostOnTheWay); err != nil {
		return llm.Decision{}, c.unavailable(ctx, err)
	}
	return reply.Decision(r.Tools)
}

// unavailable gives err its reason.
func (c *CloudCaller) unavailable(ctx context.Context, err error) *llm.Unavailable {
	var u *llm.Unavailable
	var f *fault.Error
	switch {
	case errors.Is(context.Cause(ctx), runner.ErrLeaseLost):
		return &llm.Unavailable{Reason: llm.LeaseLost, Detail: runner.ErrLeaseLost.Detail, Err: err}
	case ctx.Err() != nil: // whatever the last try said: the time or the caller ended it
		return llm.AsUnavailable(ctx.Err())
	case errors.As(err, &u):
		return u
	case errors.As(err, &f):
		if f.Kind == fault.Unauthenticated {
			c.refused(err)
		}
		return &llm.Unavailable{Reason: reasonOf(f), RetryAfter: f.RetryAfter, Detail: f.Detail, Err: err}
	}
	return llm.AsUnavailable(err)
}

// codeReasons are codes of the host protocol that mean a reason of another name.
var codeReasons = map[string]llm.Reason{
	errUnreachable.Code:  llm.Transport,
	errCertificate.Code:  llm.Transport,
	errNotInterlock.Code: llm.ProviderError,
	"stale_attempt":      llm.LeaseLost,
	"task_not_found":     llm.LeaseLost,
	"task_terminal":      llm.LeaseLost,
}

// reasonOf is the reason for a fault that isn't about a decision: the code
// where that is one, else by its kind.
func reasonOf(f *fault.Error) llm.Reason {
	if f.Kind == fault.Unauthenticated {
		return llm.HostUnauthorized
	}
	if slices.Contains(llm.Reasons, llm.Reason(f.Code)) {
		return llm.Reason(f.Code)
	}
	if r, ok := codeReasons[f.Code]; ok {
		return r
	}
	switch f.Kind {
	case fault.Forbidden:
		return llm.PlannerForbidden
	case fault.Exhausted:
		if f.Retryable {
			return llm.Overloaded
		}
		return llm.BudgetExhausted
	case fault.Invalid, fault.Conflict:
		return llm.BadRequest
	default:
		return llm.ProviderError
	}
}
