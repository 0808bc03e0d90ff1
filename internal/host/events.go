package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

// Bounds of the events of one attempt.
const (
	maxQueued = 256 // waiting to be sent; then Record waits
	maxBatch  = 64  // in one call
	// flushTime is how long the events may still travel after the attempt
	// has ended. Then the result goes without them.
	flushTime = 10 * time.Second
)

// events sends what happened in one attempt, in order, each with its number.
// A full queue holds up whoever adds, until there is room or the attempt ends.
type events struct {
	clock func() time.Time
	send  func(ctx context.Context, batch []hostapi.Event) error // until it is final

	mu     sync.Mutex
	queue  []happened    // guarded by mu; queue[0] is the first that is not acknowledged
	next   int           // guarded by mu; the number of the next one added
	err    error         // guarded by mu; why nothing is sent any more
	change chan struct{} // guarded by mu; closed and replaced when any of them changes
}

// happened is an event that waits, with when it happened.
type happened struct {
	hostapi.Event
	at time.Time
}

func newEvents(clock func() time.Time, send func(context.Context, []hostapi.Event) error) *events {
	return &events{clock: clock, send: send, change: make(chan struct{})}
}

// changed wakes everybody; the caller holds mu.
func (e *events) changed() {
	close(e.change)
	e.change = make(chan struct{})
}

// add queues one event and returns its number. It returns ctx's cause, or why
// events can't be sent.
func (e *events) add(ctx context.Context, ev hostapi.Event, at time.Time) (seq int, err error) {
	err = e.await(ctx, func() bool { return len(e.queue) < maxQueued }, func() {
		seq, ev.Seq = e.next, e.next
		e.queue = append(e.queue, happened{ev, at})
		e.next++
		e.changed()
	})
	return seq, err
}

// acknowledged waits until the control plane has taken event seq.
func (e *events) acknowledged(ctx context.Context, seq int) error {
	return e.await(ctx, func() bool { return e.next-len(e.queue) > seq }, func() {})
}

// flushed waits until the control plane has taken everything.
func (e *events) flushed(ctx context.Context) error {
	return e.await(ctx, func() bool { return len(e.queue) == 0 }, func() {})
}

// await waits for ok, then runs then; both with mu held.
func (e *events) await(ctx context.Context, ok func() bool, then func()) error {
	for {
		e.mu.Lock()
		if e.err != nil || ok() {
			err := e.err
			if err == nil {
				then()
			}
			e.mu.Unlock()
			return err
		}
		change := e.change
		e.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop makes every later add fail with err, which is the first that counts.
func (e *events) stop(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		e.changed()
	}
}

// run sends until ctx ends, stop is called or a batch is refused for good.
func (e *events) run(ctx context.Context) {
	for {
		batch, err := e.batch(ctx)
		if err == nil {
			err = e.send(ctx, batch)
		}
		if err != nil {
			e.stop(err)
			return
		}
		e.mu.Lock()
		e.queue = e.queue[len(batch):]
		e.changed()
		e.mu.Unlock()
	}
}

// batch waits for events and copies the first of them. Their ages are those
// at the first try: a repeat sends the same bytes.
func (e *events) batch(ctx context.Context) (batch []hostapi.Event, err error) {
	err = e.await(ctx, func() bool { return len(e.queue) > 0 }, func() {
		now := e.clock()
		for _, h := range e.queue[:min(len(e.queue), maxBatch)] {
			h.AgoMS = max(0, now.Sub(h.at).Milliseconds())
			batch = append(batch, h.Event)
		}
	})
	return batch, err
}

// stepEvent is what the wire carries of a step: no prompt, argument or text of
// the screen, which the runner's event doesn't hold either.
func stepEvent(e runner.StepEvent) hostapi.Event {
	out := hostapi.Event{
		Kind: hostapi.EventStep, Step: e.Step, Tool: e.Tool, Outcome: string(e.Outcome),
		Effect: string(e.Verdict.Effect), Rule: e.Verdict.Rule, Revision: e.Verdict.Revision,
		DurationMS: e.Duration.Milliseconds(), SceneHash: e.SceneHash,
	}
	if e.StepIndex >= 0 {
		out.StepIndex = &e.StepIndex
	}
	return out
}

// errEventsOver ends a sender whose attempt has ended.
var errEventsOver = errors.New("the attempt's events are over")
