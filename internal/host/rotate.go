package host

import (
	"context"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/sleep"
)

// rotateLook is how often the wall clock is looked at: a timer of weeks would
// not notice that it jumped.
const rotateLook = time.Hour

// keepRotating replaces the credential at three quarters of its lifetime.
func (h *Host) keepRotating(ctx context.Context) error {
	var pause backoff
	for {
		wait := min(rotateLook, h.creds.rotateOn().Sub(h.cfg.Clock().Round(0)))
		if wait <= 0 {
			err := h.rotate(ctx)
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil:
				pause.reset()
				continue
			case final(err):
				return err
			}
			wait = pause.next(err)
			h.log.Warn("rotate the credential; it is tried again", "error", err)
		}
		if sleep.For(ctx, wait) != nil {
			return nil
		}
	}
}

// rotate asks for a new credential and puts it to use once it is on disk. An
// answer that is lost costs nothing: the control plane replaces a successor
// that was never presented.
func (h *Host) rotate(ctx context.Context) error {
	c, err := newCall(hostapi.PathRotate, struct{}{})
	if err != nil {
		return err
	}
	a, err := h.client.once(ctx, c)
	if err != nil {
		return err
	}
	var reply hostapi.CredentialReply
	if err := a.decode(&reply); err != nil {
		return err
	}
	if err := checkReply(reply); err != nil {
		return err
	}
	if err := h.creds.propose(newCredential(reply, h.cfg.Clock())); err != nil {
		return err
	}
	h.log.Info("credential rotated")
	nudge(h.beatNow) // which presents the new one
	return nil
}
