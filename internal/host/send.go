package host

import (
	"context"
	"errors"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/sleep"
)

// keepSending sends what is in the outbox, oldest first, until each result was
// answered for good.
func (h *Host) keepSending(ctx context.Context) error {
	var pause backoff
	for first := true; ; first = false {
		due, change := h.outbox.due()
		err := h.sendEach(ctx, due)
		if first {
			close(h.swept)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && final(err):
			return err // the results stay on disk
		case err != nil:
			if sleep.For(ctx, pause.next(err)) != nil {
				return nil
			}
			continue
		}
		pause.reset()
		select {
		case <-change:
		case <-ctx.Done():
			return nil
		}
	}
}

// sendEach tries each letter once and returns the last error that is worth
// another try. Where the control plane can't be reached it doesn't go on.
func (h *Host) sendEach(ctx context.Context, due []letter) error {
	var again error
	for _, l := range due {
		err := h.sendResult(ctx, l)
		if err != nil {
			again = err
		}
		if ctx.Err() != nil || errors.Is(err, errUnreachable) || errors.Is(err, errCertificate) || (err != nil && final(err)) {
			return again
		}
	}
	return again
}

// sendResult tries one letter. It returns nil when nothing more is to be done
// about it.
func (h *Host) sendResult(ctx context.Context, l letter) error {
	log := h.log.With("task", l.TaskID, "attempt", l.Attempt)
	c, err := newCall(hostapi.TaskPath(l.TaskID, l.Attempt, "result"), l.Result)
	if err != nil {
		return err
	}
	c.key = l.Key
	var reply hostapi.ResultReply
	a, err := h.client.once(ctx, c)
	if err == nil {
		err = a.decode(&reply)
	}
	switch {
	case err == nil:
		log.Info("result accepted", "state", l.Result.State, "task_state", oneLine(reply.TaskState, 32), "replayed", reply.Replayed)
	case ctx.Err() != nil || final(err):
		return err
	case !repeatable(err):
		log.Warn("the result was refused for good and is dropped", "state", l.Result.State, "code", fault.Of(err).Code)
	case l.tooOld(h.cfg.Clock()):
		log.Error("the result could not be delivered for a week and is dropped", "state", l.Result.State, "error", err)
	default:
		return err
	}
	h.outbox.drop(l.Held)
	return nil
}
