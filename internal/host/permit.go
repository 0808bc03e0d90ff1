package host

import (
	"context"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
	"interlock/internal/sleep"
)

// Permit gives leave for one action or wait. It blocks until the control plane
// has acknowledged the acting mark, once an attempt before the first action
// that may change something, and until the lease is fresh; the fence ends
// either wait.
func (a *attempt) Permit(ctx context.Context, p runner.Permission) error {
	if a.leaving.Load() {
		return runner.ErrCancelled
	}
	if p.Mutating && !a.acting {
		seq, err := a.events.add(ctx, hostapi.Event{Kind: hostapi.EventActing, Step: p.Step, Tool: p.Tool}, a.h.cfg.Clock())
		if err == nil {
			err = a.events.acknowledged(ctx, seq)
		}
		if err != nil {
			return err
		}
		a.acting = true
	}
	if err := a.freshen(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil { // cancelled by an answer that came meanwhile
		return context.Cause(ctx)
	}
	return nil
}

// freshen returns once the lease is young enough to act on. Only an accepted
// renewal makes it so.
func (a *attempt) freshen(ctx context.Context) error {
	over, age, fence := a.lease.state()
	switch {
	case over:
		return runner.ErrLeaseLost
	case age < min(a.h.times().fresh, fence):
		return nil
	}
	var pause backoff
	for {
		err := a.renew(ctx)
		if over, _, _ := a.lease.state(); over {
			return runner.ErrLeaseLost
		}
		if err == nil || ctx.Err() != nil || !repeatable(err) {
			return err
		}
		if err := sleep.For(ctx, pause.next(err)); err != nil {
			return err
		}
	}
}

// renew tries once to renew the lease, under a key of its own: it counts from
// the moment that it was sent.
func (a *attempt) renew(ctx context.Context) error {
	c, err := newCall(hostapi.TaskPath(a.TaskID, a.Attempt, "renew"), struct{}{})
	if err != nil {
		return err
	}
	c.timeout = beatTime
	sent := a.h.cfg.Clock()
	var reply hostapi.LeaseReply
	answer, err := a.h.client.once(ctx, c)
	if err == nil {
		err = answer.decode(&reply)
	}
	if err != nil {
		return a.judge(err)
	}
	a.lease.renewed(sent, min(a.h.times().fence, fenceOf(reply.LeaseMS, standardTimings.fence)))
	if reply.Cancel {
		a.cancel(runner.ErrCancelled)
		return runner.ErrCancelled
	}
	return nil
}

// Record queues one step event. It waits only while the queue is full, at most
// until the attempt loses its lease.
func (a *attempt) Record(ctx context.Context, e runner.StepEvent) error {
	at := e.At
	if at.IsZero() {
		at = a.h.cfg.Clock()
	}
	_, err := a.events.add(ctx, stepEvent(e), at)
	return err
}
