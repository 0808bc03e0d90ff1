package host

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

const (
	// ackTime bounds the acknowledgement: later than that the control plane
	// has taken the attempt back.
	ackTime = 10 * time.Second
	// openTime bounds how long a device may take to come up.
	openTime = time.Minute
	// maxSummary is the most characters of a result's summary.
	maxSummary = 2000
	// maxWallTimeMS keeps a wall time budget from overflowing.
	maxWallTimeMS = int64(30 * 24 * time.Hour / time.Millisecond)
)

// attempt is one assignment from the moment it arrives until its result is
// posted. It is the runner's host.
type attempt struct {
	hostapi.Held
	h      *Host
	job    hostapi.Assignment
	phone  *phone
	log    *slog.Logger
	events *events
	ledger *ledger
	cancel context.CancelCauseFunc // of the run; the first cause counts

	lease   *lease      // nil until acknowledged; set once under Host.mu
	leaving atomic.Bool // the drain time is over: end at the next step boundary
	acting  bool        // the acting event was acknowledged; the runner's goroutine only
}

// begin takes an assignment, or gives it back where it can't be carried out
// here. One that is held already is a replay.
func (h *Host) begin(job hostapi.Assignment) {
	held := hostapi.Held{TaskID: job.TaskID, Attempt: job.Attempt}
	if checkID(job.TaskID) != nil || job.Attempt < 1 {
		h.log.Warn("the control plane sent an assignment without a usable id, which is dropped")
		return
	}
	a := &attempt{Held: held, h: h, job: job, ledger: newLedger(h.cfg.StateDir, held), log: h.log.With("task", held.TaskID, "attempt", held.Attempt)}
	a.events = newEvents(h.cfg.Clock, a.sendEvents)
	// Not Run's context: what ends an attempt is a cause, given to cancel, and
	// Run waits for every attempt to end.
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	live := a.live
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attempts[held] != nil || h.outbox.has(held) || h.over {
		cancel(nil)
		return
	}
	if a.phone = h.reserve(job.DeviceID); a.phone == nil {
		live = a.decline
	}
	h.attempts[held] = a
	go func() {
		defer h.leave(a)
		defer cancel(nil)
		live(ctx)
	}()
}

// leave forgets an attempt that is over.
func (h *Host) leave(a *attempt) {
	h.mu.Lock()
	delete(h.attempts, a.Held)
	h.settle()
	h.mu.Unlock()
	nudge(h.reoffer)
}

// shut lets no attempt begin any more, and returns a channel that is closed
// when the last one is over.
func (h *Host) shut() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.settle()
	return h.quiet
}

// settle notes that the last attempt of a closed host is over; the caller
// holds mu.
func (h *Host) settle() {
	if h.closed && !h.over && len(h.attempts) == 0 {
		h.over = true
		close(h.quiet)
	}
}

// leased returns the attempts that hold a lease.
func (h *Host) leased() map[hostapi.Held]*attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[hostapi.Held]*attempt{}
	for held, a := range h.attempts {
		if a.lease != nil {
			out[held] = a
		}
	}
	return out
}

// all returns every attempt.
func (h *Host) all() []*attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.attempts))
}

// leaveAll has every attempt end at its next step boundary.
func (h *Host) leaveAll() {
	for _, a := range h.all() {
		a.leaving.Store(true)
	}
}

// decline gives back an assignment that can't be carried out here.
func (a *attempt) decline(ctx context.Context) {
	a.log.Warn("the assignment is given back: it can't be taken here now", "device", oneLine(a.job.DeviceID, 100))
	a.release(ctx, "not_taken", false)
}

// live carries out the attempt and sees that its end is reported.
func (a *attempt) live(ctx context.Context) {
	if !a.acknowledge(ctx) {
		a.h.vacate(a.phone, "")
		return
	}
	sending, stopSending := context.WithCancelCause(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	helpers.Go(func() { a.events.run(sending) })

	driver, result := a.carryOut(ctx)
	a.lease.end()
	report := a.record(ctx, result)
	helpers.Go(func() { // a session may take its time to close; the report doesn't wait for it
		if driver != nil {
			if err := driver.Close(); err != nil {
				a.log.Warn("close the device", "device", a.phone.ID, "error", err)
			}
		}
		a.h.vacate(a.phone, result.State)
	})
	report(context.WithoutCancel(ctx))
	stopSending(errEventsOver)
	helpers.Wait()
}

// acknowledge takes the attempt and starts its lease.
func (a *attempt) acknowledge(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer stop()
	sent := a.h.cfg.Clock()
	var reply hostapi.LeaseReply
	err := a.post(ctx, "ack", struct{}{}, &reply)
	if err != nil {
		a.log.Warn("the attempt can't be acknowledged and is left alone", "error", err)
		return false
	}
	fence := min(a.h.times().fence, fenceOf(reply.LeaseMS, standardTimings.fence))
	lease := newLease(a.h.cfg.Clock, sent, fence, func() {
		a.log.Warn("no renewal was accepted in time; the device is not touched any more")
		a.lose(runner.ErrLeaseLost)
	})
	a.h.mu.Lock()
	a.lease = lease
	a.h.mu.Unlock()
	if reply.Cancel {
		a.cancel(runner.ErrCancelled)
	}
	return true
}

// carryOut runs the task on its device. The driver, where one was opened, is
// still open.
func (a *attempt) carryOut(ctx context.Context) (device.Driver, runner.Result) {
	if err := a.job.Policy.Validate(); err != nil {
		return nil, runner.Result{State: runner.Failed, Reason: "invalid_assignment", Summary: fault.Of(err).Detail}
	}
	driver, err := a.open(ctx)
	if err != nil {
		return nil, notOpened(ctx, err)
	}
	r := runner.New(runner.Options{Driver: driver, Planner: a.h.plan(a.h.Caller()), Host: a, Ledger: a.ledger, Clock: a.h.cfg.Clock, Logger: a.h.log})
	return driver, r.Run(ctx, runner.Task{
		ID: a.TaskID, Attempt: a.Attempt, Goal: a.job.Goal, AppLock: a.job.AppLock, Policy: a.job.Policy,
		Budgets: runner.Budgets{
			Steps:    max(0, a.job.Budgets.Steps),
			WallTime: time.Duration(min(max(0, a.job.Budgets.WallTimeMS), maxWallTimeMS)) * time.Millisecond,
			Tokens:   max(0, a.job.Budgets.Tokens),
		},
	})
}

func (a *attempt) open(ctx context.Context) (device.Driver, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, stop := context.WithTimeoutCause(ctx, openTime, device.ErrLost)
	defer stop()
	return a.phone.Open(ctx)
}

// notOpened is the end of an attempt whose device did not come up.
func notOpened(ctx context.Context, err error) runner.Result {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, runner.ErrLeaseLost):
		return runner.Result{State: runner.LeaseLost}
	case cause != nil:
		return runner.Result{State: runner.Cancelled, Summary: runner.ErrCancelled.Detail}
	}
	f := device.ErrLost
	errors.As(err, &f)
	return runner.Result{State: runner.DeviceLost, Reason: f.Code, Summary: f.Detail}
}

// record makes the end of the attempt durable where it is to be reported, and
// returns what is left to do: to send it, after the events.
func (a *attempt) record(ctx context.Context, r runner.Result) (report func(context.Context)) {
	if r.State == runner.LeaseLost {
		a.closeLedger()
		return func(context.Context) {} // nothing is reported: somebody else may have the task
	}
	if why := a.givenBack(ctx); why != "" && r.State == runner.Cancelled {
		a.closeLedger()
		return func(ctx context.Context) {
			a.flush(ctx)
			a.release(ctx, why, r.Acted)
		}
	}
	err := a.h.outbox.put(letter{Held: a.Held, Key: newKey(), Result: wireResult(r), At: a.h.cfg.Clock().UTC().Round(0)})
	if err != nil {
		a.log.Error("the result can't be written to the outbox and is kept in memory alone", "error", err)
	} else {
		a.closeLedger()
	}
	return func(ctx context.Context) {
		a.flush(ctx)
		a.h.outbox.post(a.Held)
	}
}

// closeLedger forgets what the attempt sent, since this host carries it out no
// more.
func (a *attempt) closeLedger() {
	if err := a.ledger.close(); err != nil {
		a.log.Warn("the ledger of an attempt that is over can't be removed", "error", err)
	}
}

// givenBack says why an attempt that nobody cancelled was ended, or "".
func (a *attempt) givenBack(ctx context.Context) string {
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		return "host_stopped"
	case ctx.Err() == nil && a.leaving.Load():
		return "host_draining"
	}
	return ""
}

// flush lets the events travel first, for a bounded time.
func (a *attempt) flush(ctx context.Context) {
	ctx, stop := context.WithTimeoutCause(ctx, flushTime, errEventsOver)
	defer stop()
	if err := a.events.flushed(ctx); err != nil {
		a.log.Warn("some events of the attempt were not delivered", "error", err)
	}
}

// release gives the attempt back. Where that doesn't arrive, its lease runs out.
func (a *attempt) release(ctx context.Context, reason string, acted bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer stop()
	if err := a.post(ctx, "release", hostapi.ReleaseRequest{Reason: reason, Acted: acted}, nil); err != nil {
		a.log.Warn("attempt not released; its lease runs out by itself", "reason", reason, "acted", acted, "error", err)
		return
	}
	a.log.Info("attempt released", "reason", reason, "acted", acted)
}

// post makes one call about this attempt until it is answered for good.
func (a *attempt) post(ctx context.Context, verb string, in, out any) error {
	c, err := newCall(hostapi.TaskPath(a.TaskID, a.Attempt, verb), in)
	if err != nil {
		return err
	}
	return a.judge(a.h.client.persist(ctx, c, out, repeatable))
}

// judge acts on what an answer says about the attempt or about the host, and
// returns what the runner is to hear.
func (a *attempt) judge(err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	switch errors.As(err, &f); {
	case f == nil:
		return err
	case final(err):
		a.h.fail(err)
		return runner.ErrLeaseLost
	case f.Code == runner.ErrCancelled.Code:
		a.cancel(runner.ErrCancelled)
		return runner.ErrCancelled
	case slices.Contains([]string{runner.ErrLeaseLost.Code, "stale_attempt", "task_terminal", "task_not_found"}, f.Code):
		a.lose(runner.ErrLeaseLost)
		return runner.ErrLeaseLost
	}
	return err
}

// lose ends the attempt with nothing reported. The cause wraps ErrLeaseLost.
func (a *attempt) lose(cause error) {
	a.cancel(cause)
	a.events.stop(runner.ErrLeaseLost)
}

// sendEvents delivers one batch.
func (a *attempt) sendEvents(ctx context.Context, batch []hostapi.Event) error {
	var reply hostapi.EventsReply
	if err := a.post(ctx, "events", hostapi.EventsRequest{Events: batch}, &reply); err != nil {
		return err
	}
	if reply.Cancel {
		a.cancel(runner.ErrCancelled)
	}
	return nil
}

// wireResult is r on the wire.
func wireResult(r runner.Result) hostapi.ResultRequest {
	summary := r.Summary
	if utf8.RuneCountInString(summary) > maxSummary {
		summary = string([]rune(summary)[:maxSummary-1]) + "…"
	}
	return hostapi.ResultRequest{State: string(r.State), Reason: r.Reason, Summary: summary, Steps: r.Steps, Acted: r.Acted,
		Usage: r.Usage, RetryAfterMS: max(0, r.RetryAfter.Milliseconds())}
}
