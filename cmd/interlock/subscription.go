package main

import (
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) subscriptionCommand() *cobra.Command {
	c := p.group("subscription", "a tenant's right to use the bridge for a time", p.subscriptionSet(), p.subscriptionEnd())
	return explained(c, `A tenant without a subscription that covers this moment is refused every call.
It has one at most, shown by: interlock tenant show`, `  interlock subscription set --tenant acme --plan standard
  interlock subscription end --tenant acme`)
}

// term is what the flags say of a subscription.
type term struct{ plan, starts, ends string }

func (t *term) flags(c *cobra.Command, plan string) {
	c.Flags().StringVar(&t.plan, "plan", "", plan)
	c.Flags().StringVar(&t.starts, "starts", "", "`TIME` from which it covers, such as 2026-12-24, or 2h from now (default: now)")
	c.Flags().StringVar(&t.ends, "ends", "", "`TIME` from which it doesn't any more, such as 2027-12-24, or 365d from now (default: open)")
}

// subscription returns what was asked for.
func (t *term) subscription(now time.Time) (s operators.Subscription, err error) {
	s.Plan = t.plan
	if s.StartsAt, _, err = moment("--starts", t.starts, now); err != nil {
		return s, err
	}
	s.EndsAt, _, err = moment("--ends", t.ends, now)
	return s, err
}

func (p *program) subscriptionSet() *cobra.Command {
	var t term
	var id string
	c := p.operatorCommand("set", "start a tenant's subscription, or replace it", arguments(), func(cl *client, _ []string) error {
		if t.plan == "" {
			return usageError("say which plan, in a word of yours, such as --plan standard")
		}
		body, err := t.subscription(time.Now())
		if err != nil {
			return err
		}
		var after operators.Subscription
		if err := cl.put(p.ctx, operators.TenantPath(id, "subscription"), body, &after); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(after)
		}
		p.fields("tenant", id, "plan", subscriptionWords(id, &after))
		return nil
	})
	tenantFlag(c, &id)
	t.flags(c, "`PLAN`, a word of yours")
	return explained(c, `Sets the plan and the time that it covers; the one before is replaced.`, `  interlock subscription set --plan trial --ends 30d
  interlock subscription set --tenant acme --plan standard --starts 2027-01-01 --ends 2028-01-01`)
}

// subscriptionWords says which plan a tenant has and whether it covers now.
func subscriptionWords(id string, s *operators.Subscription) string {
	if s == nil {
		return "none: its calls are refused until: interlock subscription set --plan NAME" + of(id)
	}
	words := s.Plan + " from " + when(s.StartsAt)
	if !s.EndsAt.IsZero() {
		words += " to " + when(s.EndsAt)
	}
	if !s.Active {
		words += " (not now: its calls are refused)"
	}
	return words
}

func (p *program) subscriptionEnd() *cobra.Command {
	var id string
	c := p.operatorCommand("end", "end a tenant's subscription now", arguments(), func(cl *client, _ []string) error {
		if err := cl.remove(p.ctx, operators.TenantPath(id, "subscription"), nil); err != nil {
			return err
		}
		if p.json {
			return p.done("ended", id)
		}
		p.printf("the subscription of %s has ended: every call of its sites is refused until: interlock subscription set --plan NAME%s\n", printable(id), of(id))
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Ends the subscription at this moment. Every call of the tenant's sites is
refused from the next one on; nothing of it is removed.`, `  interlock subscription end --tenant acme`)
}
