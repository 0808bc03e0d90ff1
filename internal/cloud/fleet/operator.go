package fleet

import (
	"context"
	"fmt"
	"strconv"

	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// MaxDecideLimit bounds a host's own cap of concurrent decides.
const MaxDecideLimit = 1024

// Revoke ends a host for good: every credential of it is refused from the next
// call on, its held poll is answered at once and its leases end. Again is a
// no-op but for the fact. ErrHostNotFound.
func (s *Service) Revoke(ctx context.Context, t tenant.ID, by string, id HostID) error {
	h, err := s.store.Host(ctx, t, id)
	if err != nil {
		return fmt.Errorf("revoke host %s: %w", id, err)
	}
	return s.revoke(ctx, h, by, nil)
}

// revoke commits first: should the work not be told, the refused credential
// and the leases' end do the rest.
func (s *Service) revoke(ctx context.Context, h Host, by string, detail map[string]string) error {
	h.RevokedAt = s.now()
	err := s.store.RevokeHost(ctx, h.Tenant, h.ID, h.RevokedAt, s.fact(h.Tenant, by, "host.revoke", string(h.ID), detail))
	if err != nil {
		return fmt.Errorf("revoke host %s: %w", h.ID, err)
	}
	s.known.dropHost(h.ID)
	s.seen.forget(h.ID)
	s.cfg.Logger.InfoContext(ctx, "host revoked", "host", h.ID, "by", by)
	if err := s.work.HostRevoked(context.WithoutCancel(ctx), h); err != nil {
		s.cfg.Logger.WarnContext(ctx, "leases of a revoked host not ended yet; they run out by themselves", "host", h.ID, "error", err)
	}
	return nil
}

// SetPlanner grants or takes the permission to ask for decisions, and sets the
// host's own cap of concurrent ones (0: the server's alone). Its other calls
// go on. ErrHostNotFound.
func (s *Service) SetPlanner(ctx context.Context, t tenant.ID, by string, id HostID, allowed bool, decideLimit int) error {
	if decideLimit < 0 || decideLimit > MaxDecideLimit {
		return fault.New(fault.Invalid, "invalid_decide_limit", "a host's concurrent decides are limited to between 0 (no limit of its own) and %d", MaxDecideLimit)
	}
	f := s.fact(t, by, "host.planner", string(id), map[string]string{"allowed": strconv.FormatBool(allowed), "max_concurrent_decides": strconv.Itoa(decideLimit)})
	if err := s.store.SetPlanner(ctx, t, id, allowed, decideLimit, f); err != nil {
		return fmt.Errorf("set planner permission of host %s: %w", id, err)
	}
	s.known.dropHost(id)
	return nil
}

// SetDrain asks a host to take no more work, or to take it again. What it
// holds goes on. ErrHostNotFound.
func (s *Service) SetDrain(ctx context.Context, t tenant.ID, by string, id HostID, drain bool) error {
	f := s.fact(t, by, "host.drain", string(id), map[string]string{"drain": strconv.FormatBool(drain)})
	if err := s.store.SetDrain(ctx, t, id, drain, f); err != nil {
		return fmt.Errorf("set drain of host %s: %w", id, err)
	}
	s.known.dropHost(id)
	s.work.HostDrained(id, drain)
	return nil
}
