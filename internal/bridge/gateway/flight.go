package gateway

import (
	"context"
	"encoding/json"

	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// flightKey is whose key a flight has.
type flightKey struct {
	tenant tenant.ID
	site   site.ID
	key    string
}

// flight is one call with a key under way in this process. Whoever repeats the
// key meanwhile shares its answer, a failure too; what another process has
// under way is known from its record.
type flight struct {
	body [32]byte
	done chan struct{} // closed when what follows is set

	result json.RawMessage
	meter  *Meter
	err    error
}

// share makes the call, or waits for the one that has its key. A caller that
// leaves the wait ends nothing.
func (s *Service) share(ctx context.Context, c *call) (json.RawMessage, error) {
	f, mine := s.board(c)
	switch {
	case mine:
		return s.fly(context.WithoutCancel(ctx), c, f)
	case f.body != c.record.BodyHash:
		return nil, s.refuse(ctx, c, errKeyReused)
	}
	select {
	case <-f.done:
		c.meta.Meter, c.meta.Replayed = f.meter, f.err == nil
		return f.result, f.err
	case <-ctx.Done():
		return nil, errInFlight.Because(context.Cause(ctx))
	}
}

// board returns the flight with the call's key, and whether it is a new one.
func (s *Service) board(c *call) (f *flight, mine bool) {
	key := flightKey{c.record.Tenant, c.record.Site, c.record.Key}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[key]; f != nil {
		return f, false
	}
	f = &flight{body: c.record.BodyHash, done: make(chan struct{}), err: fault.ErrInternal}
	s.flights[key] = f
	return f, true
}

// fly makes the call and tells who waits, also if it panics: they then hear of
// an internal error.
func (s *Service) fly(ctx context.Context, c *call, f *flight) (json.RawMessage, error) {
	defer s.land(flightKey{c.record.Tenant, c.record.Site, c.record.Key}, f)
	result, err := s.carryOut(ctx, c)
	f.result, f.meter, f.err = result, c.meta.Meter, err
	return result, err
}

func (s *Service) land(key flightKey, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flights, key)
	close(f.done)
}
