package gateway

import (
	"context"
	"encoding/json"
	"time"
)

// recall looks for an earlier call with the key.
func (s *Service) recall(ctx context.Context, c *call) (json.RawMessage, error) {
	if c.record.Key == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	before, found, err := s.store.Keyed(ctx, c.record.Tenant, c.record.Site, c.record.Key)
	if err != nil || !found {
		return nil, logged("look for the key of a call", err)
	}
	return s.settle(ctx, c, before)
}

// settle says what an earlier call with the key means for this one: its answer
// (then meta says that it is replayed), a refusal, or, with neither, that it is
// to be made again. The answer costs nothing and was given before, so nothing
// but the key's own check stands before it.
func (s *Service) settle(ctx context.Context, c *call, before Record) (json.RawMessage, error) {
	switch {
	case before.BodyHash != c.record.BodyHash:
		return nil, s.refuse(ctx, c, errKeyReused)
	case before.Verdict == OK:
		c.meta.Replayed = true
		s.meter(ctx, c)
		return before.Reply, nil
	case before.Verdict != Interrupted:
		return nil, s.refuse(ctx, c, errInFlight)
	case !c.offer.Operation.ReadOnly:
		return nil, s.refuse(ctx, c, errInterrupted)
	}
	c.again = before.ID
	return nil, nil
}

// open commits the record and takes a unit of the quota, before anything is
// done; or opens that of an interrupted call again, which has its unit.
func (s *Service) open(ctx context.Context, c *call) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if c.again == "" {
		opened, err := s.store.OpenCall(ctx, c.record, c.enablement.Quota)
		switch {
		case err != nil:
			s.unopen(ctx, c)
			return nil, logged("open a call", err)
		case opened.Before == nil:
			return nil, s.charged(c, opened)
		}
		// Another process opened one since recall looked.
		if reply, err := s.settle(ctx, c, *opened.Before); err != nil || c.meta.Replayed {
			return reply, err
		}
	}
	reopened, err := s.store.ReopenCall(ctx, c.record.Tenant, c.again, c.record.OpenedAt)
	if err != nil {
		return nil, logged("open an interrupted call again", err)
	}
	if !reopened { // another process was first, or the key is free again
		return nil, s.refuse(ctx, c, errInFlight)
	}
	c.record.ID = c.again
	s.meter(ctx, c)
	return nil, nil
}

// charged notes the meter, and refuses where it had no unit left.
func (s *Service) charged(c *call, o Opened) error {
	quota := c.enablement.Quota
	_, end := quota.Window.Bounds(c.record.OpenedAt)
	c.meta.Meter = &Meter{Quota: quota, Used: o.Used, ResetsAt: end}
	if o.Exceeded {
		return errExceeded.Retry(max(time.Second, end.Sub(s.now())))
	}
	return nil
}

// unopen takes back an opening that may still be committed: its context ended
// while it waited, and what is queued at a store is not taken back. This comes
// after it in the store's order. If it fails too, the record is one of an
// interrupted call.
func (s *Service) unopen(ctx context.Context, c *call) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseTimeout)
	defer cancel()
	closing := Closing{Tenant: c.record.Tenant, ID: c.record.ID, Verdict: errLog.Code, Duration: s.now().Sub(c.record.OpenedAt), Refund: true}
	if err := s.store.CloseCall(ctx, closing); err != nil {
		s.cfg.Logger.WarnContext(ctx, "call not recorded, and perhaps left open", c.ids("verdict", errLog.Code)...)
	}
}
