package gateway

import (
	"context"
	"time"

	"interlock/internal/fault"
	"interlock/internal/policy"
)

// The refusals, in the order checked. Those of the tenant are the catalog's,
// those of credentials are credential's and the app's.
var (
	errNotEnabled = fault.New(fault.Forbidden, "app_not_enabled", "this tenant has no such app enabled; ask the operator of the platform")
	errOperation  = fault.New(fault.NotFound, "unknown_operation", "the app has no such operation; correct the path")
	errKey        = fault.New(fault.Invalid, "invalid_idempotency_key", "send an Idempotency-Key of 1 to 200 printable ASCII characters, or none")
	errKeyReused  = fault.New(fault.Conflict, "idempotency_conflict", "that idempotency key was used before with another request; use a new key")
	errInFlight   = fault.New(fault.Conflict, "call_in_flight", "the call with this idempotency key is under way; try again with the same key").Retry(time.Second)
	// errInterrupted is final: to make the call again could do twice what was
	// done before.
	errInterrupted  = fault.New(fault.Conflict, "call_interrupted", "the call with this idempotency key was interrupted and may have changed something; find out, then use a new key")
	errConfirmation = fault.New(fault.Conflict, "confirmation_required", "a person must agree to this call, and this server has no way to ask one")
	errLog          = fault.New(fault.Unavailable, "log_unavailable", "the call could not be recorded, so it was not made; try again with the same idempotency key").Retry(time.Second)
	errExceeded     = fault.New(fault.Exhausted, "quota_exceeded", "the tenant's calls of this app are used up until the window ends; ask the operator of the platform for more")
	errUpstream     = fault.New(fault.Unavailable, "upstream_unavailable", "the service behind the app took too long to answer; nothing was charged, try again").Retry(time.Second)
	errUnread       = fault.New(fault.Unavailable, "upstream_unavailable", "the credential for the service behind the app could not be read; nothing was charged, try again").Retry(time.Second)
	errDraining     = fault.New(fault.Unavailable, "server_draining", "the server is going down; try again, another one or the next will answer").Retry(0)
)

func errScope(scope string) error {
	return fault.New(fault.Forbidden, "insufficient_scope", "the token does not carry the scope %s; sign one that does", scope)
}

// errDenied names the rule and not the policy's own sentence, which is for
// whoever can choose another call.
func errDenied(v policy.Verdict) error {
	return fault.New(fault.Forbidden, "policy_denied", "the tenant's policy refuses this call (rule %s); ask the operator of the platform", v.Rule)
}

// refuseTimeout bounds how long a refusal waits to be recorded.
const refuseTimeout = 2 * time.Second

// refuse records a refusal and returns it. It stands whether that succeeds or
// not: what is not made needs no record to be safe.
func (s *Service) refuse(ctx context.Context, c *call, refusal error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseTimeout)
	defer cancel()
	r := c.record
	r.Verdict, r.Duration = fault.Of(refusal).Code, s.now().Sub(r.OpenedAt)
	if err := s.store.RefuseCall(ctx, r); err != nil {
		s.cfg.Logger.WarnContext(ctx, "refused call not recorded", c.ids("verdict", r.Verdict, "error", fault.Of(err).Code)...)
		return refusal
	}
	s.meter(ctx, c)
	return refusal
}

// meter tells the caller how the quota stands, if it can.
func (s *Service) meter(ctx context.Context, c *call) {
	if c.enablement.App == "" {
		return
	}
	if m, err := s.store.Meter(ctx, c.record.Tenant, c.enablement.App, c.enablement.Quota, c.record.OpenedAt); err == nil {
		c.meta.Meter = &m
	}
}
