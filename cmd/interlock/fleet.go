package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

// fleetCommands are the operator's side of "interlock host".
func (p *program) fleetCommands() []*cobra.Command {
	return []*cobra.Command{
		p.hostList(), p.hostShow(), p.hostRevoke(), p.hostPlanner(), p.hostDrain(),
		p.group("token", "one-use enrolment tokens", p.enrolTokenCreate(), p.enrolTokenList(), p.enrolTokenRevoke()),
	}
}

func (p *program) hostList() *cobra.Command {
	return p.operatorCommand("list", "list the hosts", arguments(), func(cl *client, _ []string) error {
		var list operators.HostList
		if err := cl.get(p.ctx, operators.PathHosts, nil, &list); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(list.Hosts))
		}
		t := table{head: []string{"HOST", "NAME", "STATUS", "DEVICES", "FREE", "PLANNER", "LAST SEEN", "VERSION"}}
		for _, h := range list.Hosts {
			t.add(h.ID, h.Name, h.Status, deviceNames(h.Devices), fmt.Sprint(h.SlotsFree), yesNo(h.Planner.Allowed), when(h.LastSeenAt), h.Version)
		}
		p.print(t, "there are no hosts; make an enrolment token with: interlock host token create")
		return nil
	})
}

func deviceNames(devices []operators.HostDevice) string {
	var names []string
	for _, d := range devices {
		names = append(names, d.ID)
	}
	return orDash(strings.Join(names, ","))
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func plannerWords(g operators.PlannerGrant) string {
	if g.Allowed && g.MaxConcurrentDecides > 0 {
		return fmt.Sprintf("yes, at most %s at once", count(g.MaxConcurrentDecides, "decide"))
	}
	return yesNo(g.Allowed)
}

func labelWords(labels map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, name+"="+labels[name])
	}
	return strings.Join(words, ",")
}

// printHost answers every command that is about one host.
func (p *program) printHost(h operators.Host) error {
	if p.json {
		return p.printJSON(h)
	}
	p.fields("host", h.ID, "name", h.Name, "status", h.Status, "labels", labelWords(h.Labels), "version", h.Version,
		"enrolled", when(h.EnrolledAt), "last seen", when(h.LastSeenAt), "free", count(h.SlotsFree, "device"),
		"planner", plannerWords(h.Planner))
	if !h.RevokedAt.IsZero() {
		p.fields("revoked", when(h.RevokedAt))
	}
	for _, d := range h.Devices {
		p.fields("device", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", d.ID, d.Kind, labelWords(d.Labels))))
	}
	return nil
}

func (p *program) hostShow() *cobra.Command {
	return p.operatorCommand("show HOST", "show one host and its devices", arguments("the host's id"), func(cl *client, args []string) error {
		var h operators.Host
		if err := cl.get(p.ctx, operators.HostPath(args[0], ""), nil, &h); err != nil {
			return err
		}
		return p.printHost(h)
	})
}

func (p *program) hostRevoke() *cobra.Command {
	return p.operatorCommand("revoke HOST", "end a host's credential; what it runs is ended too", arguments("the host's id"), func(cl *client, args []string) error {
		var h operators.Host
		if err := cl.post(p.ctx, operators.HostPath(args[0], "revoke"), nil, &h); err != nil {
			return err
		}
		return p.printHost(h)
	})
}

func (p *program) hostPlanner() *cobra.Command {
	var most int
	c := p.operatorCommand("planner HOST allow|deny", "say whether a host may ask for decisions", arguments("the host's id", "allow or deny"), func(cl *client, args []string) error {
		if args[1] != "allow" && args[1] != "deny" {
			return usageError("say allow or deny, not %q", args[1])
		}
		var h operators.Host
		grant := operators.PlannerGrant{Allowed: args[1] == "allow", MaxConcurrentDecides: most}
		if err := cl.put(p.ctx, operators.HostPath(args[0], "planner"), grant, &h); err != nil {
			return err
		}
		return p.printHost(h)
	})
	c.Flags().IntVar(&most, "max", 0, "decisions in flight at once (0: the server's limit)")
	return c
}

func (p *program) hostDrain() *cobra.Command {
	var undo bool
	c := p.operatorCommand("drain HOST", "ask a host to take no more work", arguments("the host's id"), func(cl *client, args []string) error {
		var h operators.Host
		if err := cl.put(p.ctx, operators.HostPath(args[0], "drain"), operators.DrainRequest{Drain: !undo}, &h); err != nil {
			return err
		}
		return p.printHost(h)
	})
	c.Flags().BoolVar(&undo, "undo", false, "let it take work again")
	return c
}

func (p *program) enrolTokenCreate() *cobra.Command {
	var body operators.NewEnrolToken
	var lifetime time.Duration
	c := p.operatorCommand("create", "make a one-use enrolment token, shown this once", arguments(), func(cl *client, _ []string) error {
		body.LifetimeSeconds = int64(lifetime / time.Second)
		var reply operators.EnrolTokenReply
		if err := cl.post(p.ctx, operators.PathEnrolTokens, body, &reply); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(reply)
		}
		p.printf("%s\n", reply.Token.Reveal())
		p.notef("good for one host until %s; give it to: interlock host --enroll-token-file FILE\n", when(reply.ExpiresAt))
		return nil
	})
	f := c.Flags()
	f.StringVar(&body.HostName, "name", "", "name of the host that it will make")
	f.StringToStringVar(&body.Labels, "label", nil, "`NAME=VALUE` of the host that it will make, repeatable")
	f.DurationVar(&lifetime, "lifetime", 0, "how long it may be used (0: the server's default, 15m)")
	return c
}

func (p *program) enrolTokenList() *cobra.Command {
	return p.operatorCommand("list", "list the enrolment tokens", arguments(), func(cl *client, _ []string) error {
		var list operators.EnrolTokenList
		if err := cl.get(p.ctx, operators.PathEnrolTokens, nil, &list); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(list.EnrolTokens))
		}
		t := table{head: []string{"TOKEN", "STATE", "HOST NAME", "CREATED", "EXPIRES", "USED BY"}}
		for _, k := range list.EnrolTokens {
			t.add(k.ID, k.State, orDash(k.HostName), when(k.CreatedAt), when(k.ExpiresAt), orDash(k.UsedBy))
		}
		p.print(t, "there are no enrolment tokens")
		return nil
	})
}

func (p *program) enrolTokenRevoke() *cobra.Command {
	return p.operatorCommand("revoke TOKEN", "make an unused enrolment token useless", arguments("the token's id"), func(cl *client, args []string) error {
		if err := cl.post(p.ctx, operators.EnrolTokenPath(args[0], "revoke"), nil, nil); err != nil {
			return err
		}
		return p.done("revoked", args[0])
	})
}
