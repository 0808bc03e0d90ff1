package fleet

import (
	"context"
	"sync"
	"time"
)

// Heartbeats reach the store once a second: one statement serves all that came
// since the last.
const (
	writeEvery  = time.Second
	writeWithin = 5 * time.Second
)

// maxBatch bounds one write; what is left goes with the next.
const maxBatch = 5_000

// seenBatch holds the latest word of each host that called since the start,
// which is newer than the store's, and which of them are not written yet. A
// crash loses at most a second of it, and the next heartbeat brings it again.
type seenBatch struct {
	mu      sync.Mutex
	latest  map[HostID]Seen // guarded by mu
	pending map[HostID]bool // guarded by mu
}

func (b *seenBatch) put(s Seen) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest[s.Host] = s
	b.pending[s.Host] = true
}

// take returns at most maxBatch unwritten words.
func (b *seenBatch) take() []Seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := make([]Seen, 0, min(len(b.pending), maxBatch))
	for id := range b.pending {
		if len(batch) == maxBatch {
			break
		}
		batch = append(batch, b.latest[id])
		delete(b.pending, id)
	}
	return batch
}

// forget drops a host that will not call again.
func (b *seenBatch) forget(id HostID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.latest, id)
	delete(b.pending, id)
}

// overlay returns h with what the latest heartbeat said of it.
func (b *seenBatch) overlay(h Host) Host {
	b.mu.Lock()
	s, ok := b.latest[h.ID]
	b.mu.Unlock()
	if ok && !s.At.Before(h.LastSeen) {
		h.LastSeen, h.Devices, h.SlotsFree, h.Draining, h.Version = s.At, s.Devices, s.SlotsFree, s.Draining, s.Version
	}
	return h
}

// Seen notes a heartbeat of the authenticated host; the time is this server's.
// That the host is alive is noted before anything else is judged, so a host
// whose news we refuse (fault Invalid) is not lost for it.
func (s *Service) Seen(h Host, news Seen) error {
	alive := Seen{Host: h.ID, At: s.now(), Devices: h.Devices, SlotsFree: h.SlotsFree, Draining: h.Draining, Version: h.Version}
	s.seen.put(alive)
	if err := checkNews(news); err != nil {
		return err
	}
	news.Host, news.At = alive.Host, alive.At
	s.seen.put(news)
	return nil
}

// Run writes heartbeats, at most one statement a second, and forgets credentials
// and enrolment tokens that ended long ago, until ctx ends; then it writes what is left. A failed
// write is logged and what it held is dropped: the next heartbeat says it again.
func (s *Service) Run(ctx context.Context) error {
	write, sweep := time.NewTicker(writeEvery), time.NewTicker(time.Hour)
	defer write.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-write.C:
			s.writeSeen(ctx)
		case <-sweep.C:
			s.forgetCredentials(ctx)
			s.forgetEnrolTokens(ctx)
		case <-ctx.Done():
			for s.writeSeen(ctx) {
			}
			return nil
		}
	}
}

// writeSeen writes one batch and reports whether there was one. It finishes
// what it began: a stop must not lose the batch in hand.
func (s *Service) writeSeen(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	batch := s.seen.take()
	if len(batch) == 0 {
		return false
	}
	if err := s.store.RecordSeen(ctx, batch); err != nil {
		s.cfg.Logger.WarnContext(ctx, "heartbeats not written", "hosts", len(batch), "error", err)
	}
	return true
}
