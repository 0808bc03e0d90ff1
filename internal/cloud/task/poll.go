package task

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
)

// Poll is what a host says when it asks for work and signals.
type Poll struct {
	Key  string        // idempotency key: a repeat gets the same answer again, if that was lost
	Max  int           // tasks that it can take now; 0: signals only
	Idle []string      // ids of its devices that are free and healthy
	Wait time.Duration // at most; zero: as long as the server likes
}

// SignalKind is what a host is told between heartbeats.
type SignalKind string

// The kinds of signal.
const (
	SignalCancel  SignalKind = "cancel"
	SignalDrain   SignalKind = "drain"
	SignalRevoked SignalKind = "revoked"
)

// Signal tells a host something. Signals live in memory: one that is lost in a
// crash is said again by the answer to the next heartbeat.
type Signal struct {
	Kind    SignalKind
	Task    ID
	Attempt int
}

// Answer ends a poll. An empty one means: poll again.
type Answer struct {
	Assignments []Task // leased; each must be acknowledged within Config.AckWithin
	Signals     []Signal
}

// errDraining is what a poll gets from a server that is going down.
var errDraining = fault.New(fault.Unavailable, "server_draining", "the server is going down; poll again shortly")

const maxAsk = 64 // tasks in one answer

// Poll holds the call of an authenticated host until there is work or a signal
// for it, for Config.PollHold more or less, and at most p.Wait. A host has one
// held poll: a second takes over, and the first is answered empty. A host that
// drains, by its own word or an operator's, gets signals only.
func (s *Service) Poll(ctx context.Context, h fleet.Host, p Poll) (Answer, error) {
	if p.Key == "" || len(p.Key) > maxKey || p.Max < 0 || p.Wait < 0 || len(p.Idle) > fleet.MaxDevices {
		return Answer{}, fault.New(fault.Invalid, "invalid_poll", "a poll has a key, max and wait that are not negative, and at most %d idle devices", fleet.MaxDevices)
	}
	w := newWaiter(h, p)
	if err := s.polls.enter(w, s.now()); err != nil {
		return Answer{}, err
	}
	hold := time.NewTimer(s.hold(p.Wait))
	defer hold.Stop()
	select {
	case a := <-w.answer:
		return a, nil
	case <-hold.C:
		a, _ := s.polls.leave(w)
		return a, nil
	case <-ctx.Done():
		if a, answered := s.polls.leave(w); answered {
			s.giveBack(context.WithoutCancel(ctx), a.Assignments)
		}
		return Answer{}, fmt.Errorf("poll: %w", context.Cause(ctx))
	}
}

func (s *Service) hold(wait time.Duration) time.Duration {
	d := s.cfg.PollHold - s.cfg.PollJitter + rand.N(2*s.cfg.PollJitter+1)
	if wait > 0 {
		d = min(d, wait)
	}
	return d
}

// StopPolls answers every held poll empty and refuses later ones, retryable:
// the first thing a server does when it goes down.
func (s *Service) StopPolls() { s.polls.close() }

// HostRevoked ends the host's held poll with a signal, and its leases.
func (s *Service) HostRevoked(ctx context.Context, h fleet.Host) error {
	s.polls.signal(h.ID, Signal{Kind: SignalRevoked}, s.now())
	reaped, err := s.store.FailHost(ctx, s.timing, h.ID)
	s.settled(reaped)
	if err != nil {
		return fmt.Errorf("end leases of host %s: %w", h.ID, err)
	}
	return nil
}

// HostDrained tells the host's held poll at once: with a signal to drain, or
// with an empty answer after which it asks for work again.
func (s *Service) HostDrained(h fleet.HostID, drain bool) {
	if drain {
		s.polls.signal(h, Signal{Kind: SignalDrain}, s.now())
		return
	}
	s.polls.nudge(h)
}

// giveBack takes back claims whose host had gone before it could be told. That
// is a miss, as if the claim had not been acknowledged: else a host that asks
// and vanishes each time would make attempts without end. The first costs no
// time, for it is ordinary that a connection drops just then and another host
// may be waiting. From the second on the task pauses longer each time, so that
// a network which flickers doesn't spend all misses in a moment, and a healthy
// host gets its turn. What fails here is left to the reaper.
func (s *Service) giveBack(ctx context.Context, claimed []Task) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, t := range claimed {
		s.counts.vanished.Add(1)
		back, err := s.store.TakeBack(ctx, s.timing, fenceOf(t))
		if err != nil {
			s.cfg.Logger.WarnContext(ctx, "claim of a vanished host not taken back; its lease runs out by itself", "task", t.ID, "attempt", t.Attempt, "host", t.Host, "error", err)
			continue
		}
		s.changed(changeOf(back))
		s.offer(back)
	}
}

func fenceOf(t Task) Fence {
	return Fence{Tenant: t.Tenant, Host: t.Host, Task: t.ID, Attempt: t.Attempt}
}
