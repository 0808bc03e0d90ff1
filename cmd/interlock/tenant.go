package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
	"interlock/internal/tenant"
)

func (p *program) tenantCommand() *cobra.Command {
	c := p.group("tenant", "the customers of the bridge: who they are, and what their policy allows",
		p.tenantCreate(), p.tenantList(), p.tenantShow(), p.tenantChange(), p.tenantSuspend(), p.tenantResume())
	return explained(c, `A tenant has sites that send instructions, a subscription, apps that are
enabled for it with a quota each, and a policy that every call must pass. The
tenant "default" is there from the start; an installation for one customer
needs no other. What it still lacks before a site's call is answered:

  interlock tenant show`, `  interlock tenant create acme --name "Acme Pty Ltd" --plan standard
  interlock tenant show acme
  interlock tenant change acme --max-risk low`)
}

// explained gives a command its long help and its examples.
func explained(c *cobra.Command, long, example string) *cobra.Command {
	c.Long, c.Example = long, example
	return c
}

// tenantFlag gives c the flag that says whose things it is about.
func tenantFlag(c *cobra.Command, id *string) {
	c.Flags().StringVar(id, "tenant", string(tenant.Default), "whose: the `ID` of a tenant")
}

// of is what a command that is printed as advice needs to be about the tenant.
func of(id string) string {
	if id == string(tenant.Default) {
		return ""
	}
	return " --tenant " + printable(id)
}

// ownTenantFlag is tenantFlag where the API token's own tenant is meant without
// it.
func ownTenantFlag(c *cobra.Command, id *string) {
	c.Flags().StringVar(id, "tenant", "", "of another tenant: its `ID` (default: the API token's own)")
}

// rules are the flags that describe a policy.
type rules struct {
	maxRisk     string
	tools, apps []string
}

func (r *rules) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.maxRisk, "max-risk", "", "low (if left out), medium or high: riskier calls are denied")
	f.StringSliceVar(&r.tools, "allow-tool", nil, "`APP__OPERATION` that may be called, repeatable; \"\": all that are enabled")
	f.StringSliceVar(&r.apps, "allow-app", nil, "`APP` that may be called, repeatable; \"\": all that are enabled")
}

// onto returns the policy with what the flags say instead, and whether they say
// anything.
func (r *rules) onto(c *cobra.Command, policy operators.PolicyRules) (operators.PolicyRules, bool) {
	if c.Flags().Changed("max-risk") {
		policy.MaxRisk = r.maxRisk
	}
	if c.Flags().Changed("allow-tool") {
		policy.AllowedTools = named(r.tools)
	}
	if c.Flags().Changed("allow-app") {
		policy.AllowedPackages = named(r.apps)
	}
	policy.Revision = "" // follows from the rest
	return policy, anyChanged(c, "max-risk", "allow-tool", "allow-app")
}

// named is the list without its blank items; nil if nothing is left.
func named(list []string) []string { return items(strings.Join(list, ",")) }

func (p *program) tenantCreate() *cobra.Command {
	var body operators.NewTenant
	var r rules
	var term term
	var c *cobra.Command
	c = p.operatorCommand("create TENANT", "add a tenant", arguments("an id for it, such as acme"), func(cl *client, args []string) error {
		body.ID, body.Name = args[0], orElse(body.Name, args[0])
		body.Policy, _ = r.onto(c, body.Policy)
		if term.plan != "" {
			s, err := term.subscription(time.Now())
			if err != nil {
				return err
			}
			body.Subscription = &s
		} else if anyChanged(c, "starts", "ends") {
			return usageError("--starts and --ends go with --plan, which names the subscription")
		}
		var made operators.TenantStanding
		if err := cl.post(p.ctx, operators.PathTenants, body, &made); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(made)
		}
		p.printTenant(made.Tenant)
		p.fields("plan", subscriptionWords(made.ID, made.Subscription))
		return nil
	})
	c.Flags().StringVar(&body.Name, "name", "", "what people call it (default: its id)")
	c.Flags().BoolVar(&body.KeepInstructions, "keep-instructions", false, "keep the words of its instructions in the log, not only their hash")
	r.flags(c)
	term.flags(c, "start a subscription with this `PLAN`, a word of yours")
	return explained(c, `Adds a tenant. Its id is 1 to 64 of a-z, 0-9 and -, first a letter or digit,
and never changes. Its sites can call once it has a subscription, an enabled
app and a site with a key.`, `  interlock tenant create acme --name "Acme Pty Ltd" --plan standard --ends 2027-12-31`)
}

// orElse is s, or the other where s is empty.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (p *program) tenantList() *cobra.Command {
	var limit int
	c := p.operatorCommand("list", "list the tenants", arguments(), func(cl *client, _ []string) error {
		all := []operators.Tenant{}
		err := pages(limit, url.Values{}, func(query url.Values) (string, int, error) {
			var page operators.TenantPage
			err := cl.get(p.ctx, operators.PathTenants, query, &page)
			all = append(all, page.Tenants...)
			return page.NextCursor, len(page.Tenants), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(all)
		}
		t := table{head: []string{"TENANT", "NAME", "STATE", "CREATED"}}
		for _, k := range all {
			t.add(k.ID, shorten(k.Name, 28), tenantState(k), when(k.CreatedAt))
		}
		p.print(t, "there are no tenants")
		return nil
	})
	c.Flags().IntVar(&limit, "limit", operators.MaxPage, "how many")
	return explained(c, `Lists the tenants by id. With an API token of one tenant, only that one.`, `  interlock tenant list
  interlock tenant list --json`)
}

func tenantState(t operators.Tenant) string {
	if t.SuspendedAt.IsZero() {
		return "active"
	}
	return "suspended"
}

func (p *program) tenantShow() *cobra.Command {
	c := p.operatorCommand("show [TENANT]", "show a tenant, its subscription and its apps with their quotas", between(0, 1), func(cl *client, args []string) error {
		standing, err := cl.standing(p, tenantOf(args))
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(standing)
		}
		p.printTenant(standing.Tenant)
		p.fields("plan", subscriptionWords(standing.ID, standing.Subscription))
		p.printf("\n")
		p.printQuotas(standing)
		return nil
	})
	return explained(c, `Shows all that decides what a tenant's sites may do now: whether it is active,
its policy, its subscription, and each app that is enabled for it with what is
left of its quota. Without TENANT: the tenant "default".`, `  interlock tenant show
  interlock tenant show acme --json`)
}

func tenantOf(args []string) string {
	if len(args) == 0 {
		return string(tenant.Default)
	}
	return args[0]
}

// standing reads all that decides what a tenant may do.
func (c *client) standing(p *program, id string) (operators.TenantStanding, error) {
	var s operators.TenantStanding
	err := c.get(p.ctx, operators.TenantPath(id, ""), nil, &s)
	return s, err
}

func (p *program) printTenant(t operators.Tenant) {
	p.fields("tenant", t.ID, "name", t.Name, "state", tenantState(t), "suspended", set(t.SuspendedAt), "created", set(t.CreatedAt),
		"policy", policyWords(t.Policy), "keeps", keepWords(t.KeepInstructions))
}

func policyWords(r operators.PolicyRules) string {
	words := []string{"up to " + r.MaxRisk + " risk"}
	if len(r.AllowedTools) > 0 {
		words = append(words, "only "+strings.Join(r.AllowedTools, ", "))
	}
	if len(r.AllowedPackages) > 0 {
		words = append(words, "only of "+strings.Join(r.AllowedPackages, ", "))
	}
	text := strings.Join(words, "; ")
	if r.Revision != "" {
		text += fmt.Sprintf(" (revision %s)", r.Revision)
	}
	return text
}

func keepWords(keep bool) string {
	if keep {
		return "instructions, word for word"
	}
	return "hashes of instructions"
}

func (p *program) tenantChange() *cobra.Command {
	var name string
	var keep bool
	var r rules
	var c *cobra.Command
	c = p.operatorCommand("change TENANT", "change a tenant's name, policy or what it keeps", arguments("the tenant's id"), func(cl *client, args []string) error {
		var change operators.TenantChange
		if c.Flags().Changed("name") {
			change.Name = &name
		}
		if c.Flags().Changed("keep-instructions") {
			change.KeepInstructions = &keep
		}
		if anyChanged(c, "max-risk", "allow-tool", "allow-app") {
			now, err := cl.standing(p, args[0])
			if err != nil {
				return err
			}
			policy, _ := r.onto(c, now.Policy)
			change.Policy = &policy
		}
		if change == (operators.TenantChange{}) {
			return usageError("say what to change; see: interlock tenant change --help")
		}
		return p.changeTenant(cl, args[0], change, "")
	})
	c.Flags().StringVar(&name, "name", "", "what people call it")
	c.Flags().BoolVar(&keep, "keep-instructions", false, "keep the words of its instructions in the log, not only their hash")
	r.flags(c)
	return explained(c, `Changes what the flags name; the rest stays. A new policy decides from the next
call on, and each record names the policy's revision that decided it.`, `  interlock tenant change acme --max-risk low --allow-app abn_lookup
  interlock tenant change acme --allow-app ""
  interlock tenant change acme --keep-instructions=false`)
}

// changeTenant makes a change and says what is so now: the tenant, or the
// sentence if there is one.
func (p *program) changeTenant(cl *client, id string, change operators.TenantChange, sentence string) error {
	var after operators.Tenant
	if err := cl.patch(p.ctx, operators.TenantPath(id, ""), change, &after); err != nil {
		return err
	}
	switch {
	case p.json:
		return p.printJSON(after)
	case sentence != "":
		p.printf(sentence+"\n", printable(after.ID))
	default:
		p.printTenant(after)
	}
	return nil
}

func (p *program) tenantSuspend() *cobra.Command {
	yes := true
	c := p.operatorCommand("suspend TENANT", "refuse all calls of a tenant's sites until resume", arguments("the tenant's id"), func(cl *client, args []string) error {
		return p.changeTenant(cl, args[0], operators.TenantChange{Suspended: &yes}, "%[1]s is suspended: every call of its sites is refused until: interlock tenant resume %[1]s")
	})
	return explained(c, `Refuses every call of the tenant's sites from now on. Nothing of it is removed.`, `  interlock tenant suspend acme`)
}

func (p *program) tenantResume() *cobra.Command {
	no := false
	c := p.operatorCommand("resume TENANT", "let a suspended tenant's sites call again", arguments("the tenant's id"), func(cl *client, args []string) error {
		return p.changeTenant(cl, args[0], operators.TenantChange{Suspended: &no}, "%s is active again")
	})
	return explained(c, `Ends a suspension. Its sites' calls are judged as before it, from now on.`, `  interlock tenant resume acme`)
}
