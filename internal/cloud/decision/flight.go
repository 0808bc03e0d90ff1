package decision

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/llm"
)

// attempt names what a host may have one decide in flight for. Flights of
// different hosts don't meet here: which of them holds the attempt is for the
// store to say, and one that does not must not be in the holder's way.
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

	// aboard gives back the memory of a flight whose caller left; nil: none
	// did. Guarded by the service's mu.
	aboard func()
}

// bytes is what the flight holds in memory, but for small things.
func (f *flight) bytes() int64 {
	n := len(f.request.System) + len(f.request.User)
	for _, t := range f.request.Tools.Specs() {
		n += len(t.Description) + len(t.Parameters)
	}
	if f.picture != nil {
		n += f.picture.Bytes
	}
	return int64(n)
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
	for _, other := range s.flights[at] {
		if other.host.ID == h.ID {
			return other, other.admits(f)
		}
	}
	if s.stopping {
		return nil, &llm.Unavailable{Reason: llm.Overloaded, RetryAfter: time.Second, Detail: "the control plane is going down; ask again shortly"}
	}
	s.flights[at] = append(s.flights[at], f)
	s.landed.Add(1)
	flying, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f.cancel = cancel
	go s.fly(flying, at, f)
	return f, nil
}

// admits says whether a later request of the same host may share f's answer:
// only by asking the same again.
func (f *flight) admits(later *flight) error {
	switch {
	case f.request.Key != later.request.Key:
		return &llm.Unavailable{Reason: llm.DecideInFlight, RetryAfter: 100 * time.Millisecond, Detail: "another decision of this attempt is under way; ask again when it has ended"}
	case f.body != later.body:
		return ErrKeyReused
	}
	return nil
}

// abandon counts the memory of a flight that goes on without a caller who
// reserved it: hanging up must not make room for the next request.
func (s *Service) abandon(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.aboard == nil && slices.Contains(s.flights[attempt{f.fence.Task, f.fence.Attempt}], f) {
		f.aboard = s.memory.keep(f.host.ID, f.bytes())
	}
}

// fly runs one flight to its end, also one that panics: nobody above it could
// keep that from ending the process.
func (s *Service) fly(ctx context.Context, at attempt, f *flight) {
	defer s.landed.Done()
	defer f.cancel(nil)
	defer s.landedAt(at, f)
	defer s.survive(ctx, f)
	timeout := s.cfg.Timeout
	if t := f.request.Timeout; t > 0 {
		timeout = min(timeout, t)
	}
	ctx, stop := context.WithTimeoutCause(ctx, timeout, context.DeadlineExceeded)
	defer stop()
	f.decision, f.err = s.decide(ctx, f)
}

// survive makes a panic the failure of this one decide.
func (s *Service) survive(ctx context.Context, f *flight) {
	cause := recover()
	if cause == nil {
		return
	}
	// Only its type: the value may hold what a log must not.
	s.cfg.Logger.ErrorContext(ctx, "decide panicked", f.ids("cause", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))...)
	f.decision, f.err = llm.Decision{}, fault.ErrInternal
}

// landedAt gives back memory, answers who waits and lets the host begin
// another flight.
func (s *Service) landedAt(at attempt, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.aboard != nil {
		f.aboard() // before the answer: who has it may ask for the memory at once
	}
	close(f.done)
	left := slices.DeleteFunc(s.flights[at], func(other *flight) bool { return other == f })
	if len(left) == 0 {
		delete(s.flights, at)
		return
	}
	s.flights[at] = left
}

// inFlight is how many decides are under way.
func (s *Service) inFlight() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.flights {
		n += len(of)
	}
	return n
}

// TaskChanged cuts the flights of a task that an operator cancels, or whose
// attempt is over. It is task.Service's observer and does not block.
func (s *Service) TaskChanged(c task.Change) {
	var why *llm.Unavailable
	switch c.State {
	case task.Leased, task.Running:
		return
	case task.Cancelling, task.Cancelled:
		why = &llm.Unavailable{Reason: llm.Cancelled, Detail: task.ErrCancelled.Detail}
	default:
		why = &llm.Unavailable{Reason: llm.LeaseLost, Detail: task.ErrLeaseLost.Detail}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.flights[attempt{c.Task, c.Attempt}] {
		f.cancel(why)
	}
}
