package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

const (
	// pollSlack is how much longer than asked a poll may be held.
	pollSlack = 15 * time.Second
	// quick is an answer with no work in it that came too soon to be a held
	// poll's; quickInRow of them in a row and the next poll is spaced.
	quick      = time.Second
	quickInRow = 20
)

// poll is one poll on its way.
type poll struct {
	call
	offer hostapi.PollRequest
	since time.Time
}

// polled is how a poll ended.
type polled struct {
	poll
	reply hostapi.PollReply
	err   error
}

// keepPolling keeps one poll held at the control plane. When what the host
// offers changes, a new poll takes over the held one, which is not cancelled
// but answered empty: an answer with an assignment that is already under way
// still arrives. A poll whose answer was lost is repeated under its key.
func (h *Host) keepPolling(ctx context.Context) error {
	for _, ready := range []chan struct{}{h.greeted, h.swept} {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
	}
	p := poller{h: h, ended: make(chan polled)}
	ctx, stop := context.WithCancel(ctx)
	defer p.pending.Wait()
	defer stop()
	return p.run(ctx)
}

// poller is the state of keepPolling. One goroutine owns it.
type poller struct {
	h       *Host
	ended   chan polled
	pending sync.WaitGroup // polls on their way
	open    int            // how many they are: the held one and one taken over
	newest  poll
	holding bool             // newest is on its way
	failed  bool             // newest brought no answer
	wakeUp  <-chan time.Time // when to hold the next poll; nil where one is held
	quick   int
	pause   backoff
}

func (p *poller) run(ctx context.Context) error {
	if err := p.hold(ctx, p.h.offer()); err != nil {
		return err
	}
	for {
		var rested <-chan time.Time
		if wait, resting := p.h.nextRested(); resting {
			rested = time.After(wait)
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-p.ended:
			err = p.answered(ctx, e)
		case <-p.wakeUp:
			err = p.again(ctx)
		case <-p.h.reoffer:
		case <-rested:
		}
		if err == nil {
			err = p.takeOver(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// hold starts a poll that offers o.
func (p *poller) hold(ctx context.Context, o hostapi.PollRequest) error {
	c, err := newCall(hostapi.PathPoll, o)
	if err != nil {
		return err
	}
	c.timeout = time.Duration(o.WaitMS)*time.Millisecond*3/2 + pollSlack
	p.send(ctx, poll{call: c, offer: o})
	return nil
}

func (p *poller) send(ctx context.Context, q poll) {
	q.since = p.h.cfg.Clock()
	p.newest, p.holding = q, true
	p.open++
	p.pending.Go(func() {
		e := polled{poll: q}
		a, err := p.h.client.once(ctx, q.call)
		if err == nil && !a.empty {
			err = a.decode(&e.reply)
		}
		e.err = err
		select {
		case p.ended <- e:
		case <-ctx.Done():
		}
	})
}

// takeOver holds a new poll where the held one offers something else than is
// true now. Where the held one may bring work yet, the new one asks for none,
// and the next one for as much as is right then: two polls that both asked
// would together bring more than there is room for.
func (p *poller) takeOver(ctx context.Context) error {
	now := p.h.offer()
	if !p.holding || p.open > 1 || (now.Max == p.newest.offer.Max && slices.Equal(now.Idle, p.newest.offer.Idle)) {
		return nil
	}
	if p.newest.offer.Max > 0 {
		now.Max = 0
	}
	return p.hold(ctx, now)
}

// answered acts on the end of a poll and, if it was the held one, holds the
// next.
func (p *poller) answered(ctx context.Context, e polled) error {
	p.open--
	if e.err != nil && final(e.err) {
		return e.err
	}
	for _, s := range e.reply.Signals {
		if err := p.h.heed(s); err != nil {
			return err
		}
	}
	for _, a := range e.reply.Assignments {
		p.h.begin(a)
	}
	if e.key != p.newest.key {
		return nil
	}
	p.holding, p.failed = false, e.err != nil
	if wait := p.spacing(e); wait > 0 {
		p.wakeUp = time.After(wait)
		return nil
	}
	return p.hold(ctx, p.h.offer())
}

// again holds the next poll after a pause. One that brought no answer is sent
// as it was under its key, since perhaps only the answer was lost; but not
// where it would ask for more work than the host can take now.
func (p *poller) again(ctx context.Context) error {
	p.wakeUp = nil
	now := p.h.offer()
	if p.failed && now.Max >= p.newest.offer.Max {
		p.send(ctx, p.newest)
		return nil
	}
	return p.hold(ctx, now)
}

// spacing is how long to wait before the next poll: not at all after one that
// was held or brought something, longer and longer after failures and after
// answers that say nothing at once.
func (p *poller) spacing(e polled) time.Duration {
	switch {
	case e.err != nil:
		p.h.log.Debug("poll", "error", e.err)
		return p.pause.next(e.err)
	case len(e.reply.Assignments) > 0 || p.h.cfg.Clock().Sub(e.since) >= quick:
		p.quick = 0
		p.pause.reset()
		return 0
	}
	p.quick++
	if p.quick < quickInRow {
		return 0
	}
	return p.pause.next(errors.New("answered at once"))
}

// heed acts on one signal.
func (h *Host) heed(s hostapi.Signal) error {
	switch s.Kind {
	case hostapi.SignalRevoked:
		return ErrRevoked
	case hostapi.SignalDrain:
		h.setPaused(true)
	case hostapi.SignalCancel:
		h.cancelTask(s.TaskID, s.Attempt)
	}
	return nil
}

// cancelTask cancels an attempt at a task; attempt 0 means whichever runs.
func (h *Host) cancelTask(task string, number int) {
	for _, a := range h.all() {
		if a.TaskID == task && (number == 0 || a.Attempt == number) {
			a.cancel(runner.ErrCancelled)
		}
	}
}

// setPaused follows the operator's word on whether this host takes work.
func (h *Host) setPaused(paused bool) {
	h.mu.Lock()
	changed := h.paused != paused
	h.paused = paused
	h.mu.Unlock()
	if changed {
		h.log.Info("an operator changed whether this host takes work", "drain", paused)
		nudge(h.reoffer)
	}
}
