package runner

import (
	"context"
	"errors"
	"time"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/llm"
)

// end is why an attempt is over; nil while it goes on.
type end struct {
	state      State
	reason     string
	summary    string
	retryAfter time.Duration
	cause      error // for the log
}

func over(s State, reason, summary string) *end {
	return &end{state: s, reason: reason, summary: summary}
}

func overTime() *end {
	return over(BudgetExhausted, "wall_time", "the task took longer than its wall time budget")
}

// stopped is the end that the context brings, if it has.
func stopped(ctx context.Context) *end {
	if ctx.Err() == nil {
		return nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrLeaseLost):
		return over(LeaseLost, "", ErrLeaseLost.Detail)
	case errors.Is(cause, errWallTime):
		return overTime()
	default:
		return over(Cancelled, "", ErrCancelled.Detail)
	}
}

// hostSaid is the end that an error of Permit or Record brings.
func hostSaid(ctx context.Context, err error, reason, summary string) *end {
	switch {
	case errors.Is(err, ErrLeaseLost):
		return over(LeaseLost, "", ErrLeaseLost.Detail)
	case errors.Is(err, ErrCancelled):
		return over(Cancelled, "", ErrCancelled.Detail)
	}
	if e := stopped(ctx); e != nil {
		return e
	}
	return &end{state: Failed, reason: reason, summary: summary, cause: err}
}

// noDecision is the end that a failed decision brings.
func noDecision(ctx context.Context, u *llm.Unavailable) *end {
	if e := stopped(ctx); e != nil {
		return e
	}
	switch u.Reason {
	case llm.Cancelled:
		return over(Cancelled, "", ErrCancelled.Detail)
	case llm.LeaseLost:
		return over(LeaseLost, "", ErrLeaseLost.Detail)
	}
	return &end{state: Failed, reason: u.Reason.TaskReason(), summary: u.Error(), retryAfter: u.RetryAfter, cause: u}
}

// deviceFailed is the end that a device brings which failed while nothing was
// being done to it.
func deviceFailed(ctx context.Context, err error) *end {
	if e := stopped(ctx); e != nil {
		return e
	}
	f := deviceFault(err)
	state := Failed
	if errors.Is(err, device.ErrLost) || errors.Is(err, device.ErrUnauthorized) {
		state = DeviceLost
	}
	return &end{state: state, reason: f.Code, summary: f.Detail, cause: err}
}

// unclear is the end of an attempt whose action may or may not have happened.
// A cancelled task and a lost lease end as that, since nobody will repeat it.
func unclear(ctx context.Context, err error) *end {
	if e := stopped(ctx); e != nil && e.state != BudgetExhausted {
		return e
	}
	f := deviceFault(err)
	return &end{state: Indeterminate, reason: f.Code, cause: err,
		summary: "an action may or may not have happened; look at the device before trying again"}
}

// deviceFault reads a driver's error; one that says nothing is ErrFailed.
func deviceFault(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return device.ErrFailed
}
