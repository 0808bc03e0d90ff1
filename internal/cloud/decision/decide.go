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
	"interlock/internal/usage"
)

// attempt names what may have one decide in flight.
type attempt struct {
	task   task.ID
	number int
}

// flight is one decide under way. It belongs to the service, not to the call
// that began it: if the host's connection is cut, the provider's answer is
// still recorded, and a repeat with the same key gets it.
type flight struct {
	host      fleet.Host
	fence     task.Fence
	request   llm.Request
	picture   *llm.Evidence
	body      [32]byte
	requestID string // of the call that began it
	cancel    context.CancelCauseFunc

	done     chan struct{} // closed when decision and err are set
	decision llm.Decision
	err      error
	replay   bool // the answer was in the log
}

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
			err = llm.AsUnavailable(context.Cause(ctx))
		}
	}
	s.note(ctx, f, h, r, requestID, d, err, time.Since(began))
	return d, err
}

// board returns the flight that answers r: the one under way with the same key
// and question, or a new one.
func (s *Service) board(ctx context.Context, h fleet.Host, r llm.Request, requestID string) (*flight, error) {
	switch {
	case !h.PlannerAllowed:
		return nil, &llm.Unavailable{Reason: llm.PlannerForbidden, Detail: "this host may not ask for decisions; an operator can allow it (interlock host planner)"}
	case s.provider == nil:
		return nil, &llm.Unavailable{Reason: llm.PlannerNotConfigured, Detail: "the control plane has no model provider; set a provider's key and AI_PLANNER_MODEL there"}
	}
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	f := &flight{host: h, request: r, requestID: requestID, done: make(chan struct{}),
		fence: task.Fence{Tenant: h.Tenant, Host: h.ID, Task: task.ID(r.TaskID), Attempt: r.Attempt}}
	if r.Image != nil {
		e := r.Image.Evidence()
		f.picture = &e
	}
	f.body = bodyHash(r, f.picture)

	s.mu.Lock()
	defer s.mu.Unlock()
	at := attempt{f.fence.Task, f.fence.Attempt}
	if other := s.flights[at]; other != nil {
		return other, other.admits(f)
	}
	if s.stopping {
		return nil, &llm.Unavailable{Reason: llm.Overloaded, RetryAfter: time.Second, Detail: "the control plane is going down; ask again shortly"}
	}
	s.flights[at] = f
	s.landed.Add(1)
	flying, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f.cancel = cancel
	go s.fly(flying, at, f)
	return f, nil
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

// admits says whether a later request may share f's answer. Only the host that
// began it may, and only by asking the same again.
func (f *flight) admits(later *flight) error {
	switch {
	case f.host.ID != later.host.ID || f.fence.Tenant != later.fence.Tenant:
		return &llm.Unavailable{Reason: llm.LeaseLost, Detail: task.ErrLeaseLost.Detail}
	case f.request.Key != later.request.Key:
		return &llm.Unavailable{Reason: llm.DecideInFlight, RetryAfter: 100 * time.Millisecond, Detail: "another decision of this attempt is under way; ask again when it has ended"}
	case f.body != later.body:
		return ErrKeyReused
	}
	return nil
}

// fly runs one flight to its end.
func (s *Service) fly(ctx context.Context, at attempt, f *flight) {
	defer s.landed.Done()
	defer f.cancel(nil)
	timeout := s.cfg.Timeout
	if t := f.request.Timeout; t > 0 {
		timeout = min(timeout, t)
	}
	ctx, stop := context.WithTimeoutCause(ctx, timeout, context.DeadlineExceeded)
	defer stop()
	f.decision, f.err = s.decide(ctx, f)
	s.mu.Lock()
	delete(s.flights, at)
	s.mu.Unlock()
	close(f.done)
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

// recordWithin bounds the commit of an answer that is paid for already, past
// the decide's own deadline.
const recordWithin = 10 * time.Second

// record commits the decision with its usage. A store that is busy is asked
// again, which is safe: the key has one row at most.
func (s *Service) record(ctx context.Context, f *flight, d llm.Decision, latency time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	row, entry := f.row(d, s.now(), latency), f.entry(d.Usage, d.Provider, d.Model, "", s.now())
	for {
		step, err := s.store.Record(ctx, row, entry)
		switch {
		case err == nil:
			return step, nil
		case errors.Is(err, ErrKeyReused):
			return 0, err
		case errors.Is(err, task.ErrStaleAttempt), errors.Is(err, task.ErrLeaseLost), errors.Is(err, task.ErrCancelled):
			u := llm.AsUnavailable(fenced(ctx, err))
			u.Usage, u.Provider, u.Model, u.ProviderRequestID = d.Usage, d.Provider, d.Model, d.ProviderRequestID
			return 0, u
		case fault.Of(err).Retryable && pause(ctx, 20*time.Millisecond):
			continue
		}
		s.cfg.Logger.ErrorContext(ctx, "decision not recorded, so it is not answered; look at the database and its disk", f.ids("err", err)...)
		return 0, &llm.Unavailable{Reason: llm.StorageFull, Detail: "the decision could not be recorded, so it is not answered; see the control plane's log and its disk", Err: err,
			Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID}
	}
}

// meterFailure adds the call to the usage: what it cost where the provider
// said, else as unknown.
func (s *Service) meterFailure(ctx context.Context, f *flight, u *llm.Unavailable) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := s.store.MeterFailure(ctx, f.entry(u.Usage, u.Provider, u.Model, u.Reason, s.now())); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "usage of a failed decide not recorded", f.ids("err", err)...)
	}
}

// pause waits, and reports whether ctx is still good.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *flight) row(d llm.Decision, at time.Time, latency time.Duration) Row {
	return Row{Tenant: f.fence.Tenant, Task: f.fence.Task, Attempt: f.fence.Attempt, StepIndex: -1, Host: f.fence.Host, Key: f.request.Key, BodyHash: f.body,
		SystemPrompt: f.request.System, UserPrompt: f.request.User, Tools: f.request.Tools.Specs(), Tool: d.Call.Tool, Arguments: d.Call.Arguments,
		Screenshot: f.picture, Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID,
		RequestID: f.requestID, At: at, Latency: latency}
}

func (f *flight) entry(u llm.Usage, provider, model string, reason llm.Reason, at time.Time) usage.Entry {
	return usage.Entry{Tenant: f.fence.Tenant, Host: string(f.fence.Host), Task: string(f.fence.Task), Attempt: f.fence.Attempt,
		Provider: provider, Model: model, At: at, Usage: u, Reason: reason}
}

func decisionOf(r Row) llm.Decision {
	d := llm.Decision{Usage: r.Usage, Provider: r.Provider, Model: r.Model, ProviderRequestID: r.ProviderRequestID, StepIndex: r.StepIndex}
	d.Call.Tool, d.Call.Arguments = r.Tool, r.Arguments
	return d
}

// TaskChanged cuts the flights of a task that an operator cancels, or whose
// attempt is over. It is task.Service's observer and does not block.
func (s *Service) TaskChanged(c task.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[attempt{c.Task, c.Attempt}]
	switch {
	case f == nil || c.State == task.Leased || c.State == task.Running:
	case c.State == task.Cancelling || c.State == task.Cancelled:
		f.cancel(&llm.Unavailable{Reason: llm.Cancelled, Detail: task.ErrCancelled.Detail})
	default:
		f.cancel(&llm.Unavailable{Reason: llm.LeaseLost, Detail: task.ErrLeaseLost.Detail})
	}
}
