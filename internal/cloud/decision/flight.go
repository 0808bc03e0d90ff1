package decision

import (
	"context"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
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
