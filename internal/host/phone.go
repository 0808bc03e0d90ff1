package host

import (
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

// How long a phone that was lost is left alone; doubled each time in a row.
const (
	firstRest = 5 * time.Second
	longRest  = 5 * time.Minute
)

// phone is one device and whether it can take an attempt. Its fields are
// guarded by Host.mu.
type phone struct {
	Device
	busy      bool
	failures  int // in a row
	restUntil time.Time
	finder    int  // which of Config.Finders found it; -1: it is one of Config.Devices
	gone      bool // its finder does not see it now
}

// idle reports whether the phone is there, free and healthy.
func (p *phone) idle(now time.Time) bool { return !p.gone && !p.busy && !now.Before(p.restUntil) }

// reserve takes the phone for an attempt; nil where it can't have one now. The
// caller holds mu.
func (h *Host) reserve(id string) *phone {
	if h.closed || h.paused || h.slotsFree() == 0 {
		return nil
	}
	for _, p := range h.phones {
		if p.ID == id && p.idle(h.cfg.Clock()) {
			p.busy = true
			return p
		}
	}
	return nil
}

// vacate frees a phone after an attempt. One that was lost rests for a while,
// so that it doesn't eat the tries of every task in the queue.
func (h *Host) vacate(p *phone, end runner.State) {
	h.mu.Lock()
	p.busy = false
	var rest time.Duration
	if end == runner.DeviceLost {
		rest = min(longRest, firstRest<<min(p.failures, 6))
		p.failures++
		p.restUntil = h.cfg.Clock().Add(rest)
	} else {
		p.failures = 0
	}
	h.mu.Unlock()
	if rest > 0 {
		h.log.Warn("the device was lost and rests", "device", p.ID, "rest", rest)
	}
	nudge(h.reoffer)
}

// offer is what the host can take now.
func (h *Host) offer() hostapi.PollRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := hostapi.PollRequest{WaitMS: h.timings.hold.Milliseconds(), Idle: []string{}}
	now := h.cfg.Clock()
	for _, p := range h.phones {
		if p.idle(now) {
			r.Idle = append(r.Idle, p.ID)
		}
	}
	if !h.closed && !h.paused {
		r.Max = min(len(r.Idle), h.slotsFree())
	}
	return r
}

// slotsFree is how many more attempts may run; the caller holds mu.
func (h *Host) slotsFree() int {
	free := h.cfg.Slots
	if free == 0 {
		free = min(len(h.phones), hostapi.MaxHeld)
	}
	for _, a := range h.attempts {
		if a.phone != nil {
			free--
		}
	}
	return max(0, free)
}

// nextRested returns how long until a resting phone is well again; ok is
// false where none rests.
func (h *Host) nextRested() (wait time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.cfg.Clock()
	for _, p := range h.phones {
		if left := p.restUntil.Sub(now); left > 0 && (!ok || left < wait) {
			wait, ok = left, true
		}
	}
	return wait, ok
}
