package host

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

// beatTime bounds one heartbeat, so that a hanging one leaves time for two
// more before the fence.
const beatTime = 10 * time.Second

// keepAlive sends a heartbeat every renew time, ±20 %, or sooner when asked.
// Each try is a call of its own under its own key: it renews leases from the
// moment that it was sent, and a replayed answer would not.
func (h *Host) keepAlive(ctx context.Context) error {
	var pause backoff
	for {
		err := h.heartbeat(ctx)
		wait := jitter(h.times().renew)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			pause.reset()
		case final(err):
			return err
		default:
			if pause.tries == 0 {
				h.log.Warn("heartbeat; it is tried again until it is accepted", "error", err)
			}
			wait = max(asked(err), min(wait, pause.next(err)))
		}
		if !h.untilBeat(ctx, wait) {
			return nil
		}
	}
}

func (h *Host) untilBeat(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.beatNow:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter spreads d by ±20 %.
func jitter(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5+1) }

// heartbeat renews everything held in one call.
func (h *Host) heartbeat(ctx context.Context) error {
	sent := h.cfg.Clock()
	c, err := newCall(hostapi.PathHeartbeat, h.pulse())
	if err != nil {
		return err
	}
	c.timeout = beatTime
	a, err := h.client.once(ctx, c)
	if err != nil {
		return err
	}
	var reply hostapi.HeartbeatReply
	if err := a.decode(&reply); err != nil {
		return err
	}
	h.beaten(sent, reply)
	return nil
}

// pulse is what a heartbeat says. Attempts whose result is still on its way
// are held too: their work must not be given to somebody else.
func (h *Host) pulse() hostapi.HeartbeatRequest {
	offer := h.offer()
	leased := h.leased()
	held := slices.Collect(maps.Keys(leased))
	for _, waiting := range h.outbox.held() {
		if leased[waiting] == nil {
			held = append(held, waiting)
		}
	}
	return hostapi.HeartbeatRequest{
		Held: held[:min(len(held), hostapi.MaxHeld)], Devices: h.present(), SlotsFree: offer.Max,
		Draining: h.isClosed(), Version: h.cfg.Version,
	}
}

// isClosed reports whether the host takes no more work.
func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// beaten acts on the answer to a heartbeat sent at sent.
func (h *Host) beaten(sent time.Time, reply hostapi.HeartbeatReply) {
	t := readTimings(reply.Timings)
	h.mu.Lock()
	h.timings = t
	h.mu.Unlock()
	held := h.leased()
	for _, s := range reply.Held {
		if a := held[s.Held]; a != nil {
			a.fate(sent, s, t)
		}
	}
	h.setPaused(reply.Drain)
	select {
	case <-h.greeted:
	default:
		close(h.greeted) // keepAlive alone comes here
	}
}

// fate acts on what became of one held attempt.
func (a *attempt) fate(sent time.Time, s hostapi.HeldStatus, t timings) {
	switch s.Status {
	case hostapi.Renewed, hostapi.Cancel:
		a.lease.renewed(sent, min(t.fence, fenceOf(s.LeaseMS, t.fence)))
		if s.Status == hostapi.Cancel {
			a.cancel(runner.ErrCancelled)
		}
	case hostapi.Lost:
		a.lose(runner.ErrLeaseLost)
	}
}
