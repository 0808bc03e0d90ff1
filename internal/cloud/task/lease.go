package task

import (
	"context"
	"fmt"

	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// MaxHeld is how many attempts a host may name in one heartbeat.
const MaxHeld = 256

// Ack makes a claimed attempt running. Again is a renewal. cancel asks the
// host to stop at the next step boundary. ErrStaleAttempt, ErrLeaseLost,
// ErrNotFound.
func (s *Service) Ack(ctx context.Context, f Fence) (cancel bool, err error) {
	cancel, err = s.store.Ack(ctx, s.timing, f)
	if err != nil {
		return false, fmt.Errorf("acknowledge attempt: %w", err)
	}
	state := Running
	if cancel {
		state = Cancelling
	}
	s.changed(Change{Tenant: f.Tenant, Task: f.Task, Attempt: f.Attempt, Host: f.Host, State: state})
	return cancel, nil
}

// Renew extends one lease from now. Errors as Ack's: ErrLeaseLost.
func (s *Service) Renew(ctx context.Context, f Fence) (cancel bool, err error) {
	r, err := s.store.Renew(ctx, s.timing, []Fence{f})
	switch {
	case err != nil:
		return false, fmt.Errorf("renew lease: %w", err)
	case r[0].Lost:
		return false, ErrLeaseLost
	}
	return r[0].Cancel, nil
}

// Held names one attempt that a host believes it holds.
type Held struct {
	Task    ID
	Attempt int
}

// Heartbeat renews everything that the host holds in one transaction; the
// answer is in the order of held. Fault Invalid beyond MaxHeld.
func (s *Service) Heartbeat(ctx context.Context, h fleet.Host, held []Held) ([]Renewal, error) {
	if len(held) > MaxHeld {
		return nil, fault.New(fault.Invalid, "too_many_held", "a host holds at most %d attempts", MaxHeld)
	}
	if len(held) == 0 {
		return nil, nil
	}
	fences := make([]Fence, len(held))
	for i, x := range held {
		fences[i] = Fence{Tenant: h.Tenant, Host: h.ID, Task: x.Task, Attempt: x.Attempt}
	}
	r, err := s.store.Renew(ctx, s.timing, fences)
	if err != nil {
		return nil, fmt.Errorf("renew leases of host %s: %w", h.ID, err)
	}
	return r, nil
}

// Limits of events.
const (
	MaxEvents = 256 // in one call
	// MaxAttemptEvents is how many events one attempt may have: ten times the
	// steps that the longest task may ask for. Events outlive their task, so
	// a host must not be able to fill the disk with them.
	MaxAttemptEvents = 10_000
	maxEventText     = policy.MaxNameBytes // of each word in an event, one of which is a policy's revision
)

// The kinds of event.
const (
	EventStep   = "step"
	EventActing = "acting" // before the attempt's first action on the device
)

// AppendEvents stores what happened in an attempt and returns the next Seq
// that is expected; repeats are taken once. ErrStaleAttempt, ErrLeaseLost,
// ErrNotFound, ErrEventsFull, fault Conflict "events_gap", fault Invalid.
func (s *Service) AppendEvents(ctx context.Context, f Fence, events []Event) (next int, cancel bool, err error) {
	if err := checkEvents(events); err != nil {
		return 0, false, err
	}
	next, cancel, err = s.store.AppendEvents(ctx, f, events)
	if err != nil {
		return 0, false, fmt.Errorf("append events: %w", err)
	}
	s.watchers.ping(f.Task)
	return next, cancel, nil
}

func checkEvents(events []Event) error {
	if len(events) == 0 || len(events) > MaxEvents {
		return fault.New(fault.Invalid, "invalid_events", "send between 1 and %d events in one call", MaxEvents)
	}
	var wrong fault.Problems
	for i, e := range events {
		wrong.Require(e.Kind == EventStep || e.Kind == EventActing, "event %d: kind is not step or acting", i)
		wrong.Require(e.Seq >= 0 && e.Step >= 0 && e.StepIndex >= -1 && e.Duration >= 0 && (i == 0 || e.Seq == events[i-1].Seq+1), "event %d: a number is negative, or seq does not follow", i)
		for name, v := range map[string]string{"tool": e.Tool, "effect": e.Effect, "rule": e.Rule, "revision": e.Revision, "outcome": e.Outcome, "scene_hash": e.SceneHash} {
			wrong.Require(len(v) <= maxEventText && printable(v), "event %d: %s is longer than %d bytes or not printable", i, name, maxEventText)
		}
	}
	if err := wrong.Refuse("invalid_events", "the events"); err != nil {
		return err
	}
	if events[len(events)-1].Seq >= MaxAttemptEvents {
		return ErrEventsFull
	}
	return nil
}

// Release gives an attempt back unfinished: queued again, or ended by the
// reaper's rule if it acted. Again is a no-op. Errors as Finish's.
func (s *Service) Release(ctx context.Context, f Fence, acted bool, reason string) (Task, error) {
	if !codeLike(reason) {
		return Task{}, fault.New(fault.Invalid, "invalid_release", "a release's reason is a code of at most %d of a-z, 0-9 and '_'", maxCode)
	}
	t, err := s.store.Release(ctx, f, acted, reason)
	if err != nil {
		return Task{}, fmt.Errorf("release attempt: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "attempt released", "task", f.Task, "attempt", f.Attempt, "host", f.Host, "reason", reason, "state", t.State)
	s.changed(changeOf(t))
	s.freed(t, f)
	return t, nil
}

// Cancel ends a queued task, or asks the host of a held one to stop: by its
// held poll at once, else by the next answer that it gets. A host that has not
// ended it within Config.CancelWithin loses it. ErrTerminal, ErrNotFound.
func (s *Service) Cancel(ctx context.Context, t tenant.ID, by string, id ID, reason string) (Task, error) {
	if !text(reason, maxReason) {
		return Task{}, fault.New(fault.Invalid, "invalid_reason", "a reason has at most %d characters of UTF-8 text", maxReason)
	}
	done, err := s.store.Cancel(ctx, s.timing, t, id, reason, s.fact(t, by, "task.cancel", id, map[string]string{"reason": reason}))
	if err != nil {
		return Task{}, fmt.Errorf("cancel task %s: %w", id, err)
	}
	s.cfg.Logger.InfoContext(ctx, "task cancelled", "task", id, "attempt", done.Attempt, "by", by, "state", done.State)
	s.changed(changeOf(done))
	if done.State == Cancelling {
		s.polls.signal(done.Host, Signal{Kind: SignalCancel, Task: id, Attempt: done.Attempt}, s.now())
	}
	return done, nil
}
