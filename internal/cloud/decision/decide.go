package decision

import (
	"context"
	"errors"
	"fmt"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/llm"
)

// Limits of a request that the wire's own limit does not set.
const (
	maxPrompt = 2 << 20 // bytes of each prompt
	maxKey    = 200     // bytes
)

// Decide answers one request of an authenticated host: a decision whose row is
// committed, with its step index. requestID is the caller's id for the log.
//
// Every failure of a decision is an *llm.Unavailable: planner_forbidden (the
// host may not, or an operator stopped all decides), planner_not_configured,
// lease_lost and cancelled (also while the provider was working),
// budget_exhausted (a cap), storage_full (the byte budget is used up, or the
// row could not be committed), decide_in_flight (retryable), overloaded (too
// many decides, or the server is going down), bad_request, and whatever the
// provider fails with. ErrKeyReused and task.ErrNotFound are faults.
//
// A repeat with the same key and the same question waits for the first and
// shares its answer, also a failure; a later repeat gets the recorded
// decision, while failures are not remembered. If ctx ends, the call returns
// and the flight goes on under its own deadline.
func (s *Service) Decide(ctx context.Context, h fleet.Host, r llm.Request, requestID string) (llm.Decision, error) {
	began := time.Now()
	f, err := s.board(ctx, h, r, requestID)
	var d llm.Decision
	if err == nil {
		select {
		case <-f.done:
			d, err = f.decision, f.err
		case <-ctx.Done():
			s.abandon(f)
			err = llm.AsUnavailable(context.Cause(ctx))
		}
	}
	s.note(ctx, f, h, r, requestID, d, err, time.Since(began))
	return d, err
}

func checkRequest(r llm.Request) error {
	bad := func(detail string) error { return &llm.Unavailable{Reason: llm.BadRequest, Detail: detail} }
	switch {
	case r.Key == "" || len(r.Key) > maxKey:
		return bad(fmt.Sprintf("a decide needs an idempotency key of 1 to %d bytes", maxKey))
	case r.TaskID == "" || r.Attempt < 1:
		return bad("a decide names its task and its attempt, which count from 1")
	case len(r.System) > maxPrompt || len(r.User) > maxPrompt:
		return bad(fmt.Sprintf("a prompt is longer than %d bytes", maxPrompt))
	case r.Tools == nil:
		return bad("a decide offers at least one tool")
	case r.Timeout < 0:
		return bad("timeout_seconds is negative")
	}
	return nil
}

// decide is the order of one decision: standing, caps, provider, record.
func (s *Service) decide(ctx context.Context, f *flight) (llm.Decision, error) {
	st, err := s.store.Standing(ctx, f.fence, f.request.Key, f.body)
	switch {
	case err != nil:
		return llm.Decision{}, fenced(ctx, err)
	case st.Replay != nil:
		f.replay = true
		return decisionOf(*st.Replay), nil
	}
	if err := s.permit(ctx, st); err != nil {
		return llm.Decision{}, err
	}
	leave, err := s.gate.enter(ctx, f.host.ID, s.hostLimit(f.host))
	if err != nil {
		return llm.Decision{}, waited(err)
	}
	defer leave()
	return s.propose(ctx, f)
}

func (s *Service) hostLimit(h fleet.Host) int {
	if h.DecideLimit > 0 {
		return min(h.DecideLimit, s.cfg.Caps.ConcurrentPerHost)
	}
	return s.cfg.Caps.ConcurrentPerHost
}

// waited is why a decide never got to the provider.
func waited(cause error) error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return &llm.Unavailable{Reason: llm.Overloaded, RetryAfter: time.Second, Detail: "too many decisions are under way, of this host or in all; ask again later, or have an operator raise the cap", Err: cause}
	}
	return llm.AsUnavailable(cause)
}

// permit applies the brakes that need the store.
func (s *Service) permit(ctx context.Context, st Standing) error {
	caps := s.cfg.Caps
	switch {
	case st.Stop.On:
		detail := "an operator stopped all decides"
		if st.Stop.Reason != "" {
			detail += ": " + st.Stop.Reason
		}
		return &llm.Unavailable{Reason: llm.PlannerForbidden, Detail: detail}
	case st.Decisions >= caps.DecisionsPerAttempt:
		return &llm.Unavailable{Reason: llm.BudgetExhausted, Detail: fmt.Sprintf("this attempt has made its %d decisions", caps.DecisionsPerAttempt)}
	case caps.TokensPerTask > 0 && st.Tokens >= caps.TokensPerTask:
		return &llm.Unavailable{Reason: llm.BudgetExhausted, Detail: fmt.Sprintf("this task has used its %d tokens", caps.TokensPerTask)}
	}
	if err := s.recordable(); err != nil {
		return err
	}
	return s.roomInLog(ctx)
}

// propose asks the provider and records what came of it.
func (s *Service) propose(ctx context.Context, f *flight) (llm.Decision, error) {
	r := f.request
	deadline, _ := ctx.Deadline()
	r.Timeout = max(time.Until(deadline), time.Millisecond)
	asked := time.Now()
	d, err := s.provider.Decide(ctx, r)
	latency := time.Since(asked)
	if err != nil {
		u := cut(ctx, err)
		s.meterFailure(ctx, f, u)
		return llm.Decision{}, u
	}
	if d.StepIndex, err = s.record(ctx, f, d, latency); err != nil {
		return llm.Decision{}, err
	}
	return d, nil
}

// cut gives a failed call the reason for which we cut it, where we did.
func cut(ctx context.Context, err error) *llm.Unavailable {
	u := llm.AsUnavailable(err)
	var why *llm.Unavailable
	if errors.As(context.Cause(ctx), &why) {
		c := *u
		c.Reason, c.Detail, c.RetryAfter, c.Err = why.Reason, why.Detail, 0, err
		return &c
	}
	return u
}

// fenced gives a refusal of the store its reason.
func fenced(ctx context.Context, err error) error {
	refused := func(reason llm.Reason) error {
		return &llm.Unavailable{Reason: reason, Detail: fault.Of(err).Detail, Err: err}
	}
	switch {
	case errors.Is(err, task.ErrStaleAttempt), errors.Is(err, task.ErrLeaseLost):
		return refused(llm.LeaseLost)
	case errors.Is(err, task.ErrCancelled):
		return refused(llm.Cancelled)
	case ctx.Err() != nil && fault.KindOf(err) == fault.Internal:
		return cut(ctx, context.Cause(ctx))
	}
	return fmt.Errorf("read where the attempt stands: %w", err)
}

func decisionOf(r Row) llm.Decision {
	d := llm.Decision{Usage: r.Usage, Provider: r.Provider, Model: r.Model, ProviderRequestID: r.ProviderRequestID, StepIndex: r.StepIndex}
	d.Call.Tool, d.Call.Arguments = r.Tool, r.Arguments
	return d
}
