package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/policy"
)

// admit checks who may call what, in order. An app that there is not and one
// that the tenant has not enabled are the same.
func (s *Service) admit(c *call, st catalog.Standing) error {
	c.standing, c.record.Revision = st, st.Tenant.Policy.Revision
	if err := st.Admits(c.record.OpenedAt); err != nil {
		return err
	}
	e, enabled := st.Enablement(c.record.App)
	if !enabled || !s.catalog.Published(c.record.App) {
		return errNotEnabled
	}
	c.enablement = e
	offer, published := s.catalog.Offer(c.record.App, c.record.Operation)
	if !published {
		return errOperation
	}
	c.offer = offer
	if scope := offer.Scope(); !c.caller.Has(scope) {
		return errScope(scope)
	}
	return nil
}

// check checks what is called, in order: schema, app, policy, confirmation.
func (s *Service) check(ctx context.Context, c *call) error {
	arguments, err := c.offer.Check(c.arguments)
	if err != nil {
		return err
	}
	if err := s.asked(ctx, c, arguments); err != nil {
		return err
	}
	c.checked = arguments
	if c.record.Arguments, err = recorded(arguments, c.offer.Operation.Recorded); err != nil {
		return err
	}
	switch v := policy.Evaluate(c.standing.Tenant.Policy, c.offer.Facts()); v.Effect {
	case policy.Allow:
		return nil
	case policy.Confirm:
		return errConfirmation
	default:
		return errDenied(v)
	}
}

// asked lets the app itself refuse arguments, in the gateway's own code.
func (s *Service) asked(ctx context.Context, c *call, arguments json.RawMessage) error {
	_, err := s.contain(ctx, c, func(app App) (json.RawMessage, error) {
		return nil, app.Check(c.record.Operation, arguments)
	})
	var refusal *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && refusal.Kind == fault.Invalid:
		return fault.New(fault.Invalid, "invalid_arguments", "%s", refusal.Detail)
	case refusal == fault.ErrInternal:
		return refusal
	}
	return s.defect(ctx, c, err)
}

// recorded returns the arguments that a record may hold, nil if there is none.
func recorded(arguments json.RawMessage, names []string) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &all); err != nil {
		return nil, fmt.Errorf("read checked arguments: %w", err)
	}
	kept := map[string]json.RawMessage{}
	for _, name := range names {
		if value, given := all[name]; given {
			kept[name] = value
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return json.Marshal(kept)
}
