package main

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"interlock/internal/fault"
	"interlock/internal/serve/operators"
)

func (p *program) appCommand() *cobra.Command {
	c := p.group("app", "the business services that tenants may call", p.appList(), p.appShow(), p.appEnable(), p.appDisable())
	return explained(c, `An app is built into the server. A tenant's sites can call its operations once
it is enabled for the tenant, up to its quota.`, `  interlock app list
  interlock app enable abn_lookup --quota 1000/day
  interlock app disable abn_lookup --tenant acme`)
}

func (p *program) appList() *cobra.Command {
	c := p.operatorCommand("list", "list the apps of this server with their operations", arguments(), func(cl *client, _ []string) error {
		var list operators.AppList
		if err := cl.get(p.ctx, operators.PathApps, nil, &list); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(list.Apps))
		}
		t := table{head: []string{"APP", "OPERATION", "RISK", "CONFIRM", "WHAT"}}
		for _, a := range list.Apps {
			for _, o := range a.Operations {
				t.add(a.ID, o.Name, o.Risk, yesNo(o.Confirm), shorten(a.Title, 36))
			}
		}
		p.print(t, "this server has no apps")
		return nil
	})
	return explained(c, `Lists what this server was built with, whether or not a tenant may use it. What
a tenant may use: interlock tenant show`, `  interlock app list`)
}

func (p *program) appShow() *cobra.Command {
	c := p.operatorCommand("show APP", "show one app with the schemas of its operations", arguments("an app's id"), func(cl *client, args []string) error {
		var list operators.AppList
		if err := cl.get(p.ctx, operators.PathApps, nil, &list); err != nil {
			return err
		}
		for _, a := range list.Apps {
			if a.ID == args[0] {
				return p.printApp(a)
			}
		}
		return fault.New(fault.NotFound, "app_not_found", "this server has no app %q; list them with: interlock app list", shorten(args[0], 40))
	})
	return explained(c, `Shows what each operation takes and answers, the scope that a site's token must
carry for it, and what a policy calls it.`, `  interlock app show abn_lookup`)
}

func (p *program) printApp(a operators.App) error {
	if p.json {
		return p.printJSON(a)
	}
	p.fields("app", a.ID, "title", a.Title, "what", a.Description, "credential", credentialWords(a))
	for _, o := range a.Operations {
		p.printf("\n")
		p.fields("operation", o.Name, "what", o.Description, "capability", o.Capability, "scope", o.Scope, "in policy", o.Tool,
			"risk", o.Risk, "confirm", yesNo(o.Confirm), "read only", yesNo(o.ReadOnly), "by agent", yesNo(o.AgentVisible))
		p.printf("arguments  %s\nresult     %s\n", schema(o.Arguments), schema(o.Result))
	}
	return nil
}

func credentialWords(a operators.App) string {
	if a.Credential {
		return "each tenant needs its own: interlock credential set " + a.ID
	}
	return "none is needed"
}

// schema is a JSON Schema over several lines, under a name of ten columns.
func schema(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "           ", "  ") != nil {
		return printable(string(raw))
	}
	return lines(out.String())
}

func (p *program) appEnable() *cobra.Command {
	var id, quota string
	c := p.operatorCommand("enable APP", "let a tenant use an app, up to a quota", arguments("an app's id"), func(cl *client, args []string) error {
		if quota == "" {
			return usageError("say how many calls the tenant may make, such as --quota 1000/day")
		}
		q, err := parseQuota(quota)
		if err != nil {
			return err
		}
		return p.enable(cl, id, args[0], q)
	})
	tenantFlag(c, &id)
	c.Flags().StringVar(&quota, "quota", "", "`CALLS` an hour, day or month, such as 1000/day")
	return explained(c, `Lets the tenant's sites call the app from now on. Enabled again, it has the new
quota.`, `  interlock app enable abn_lookup --quota 1000/day
  interlock app enable abn_lookup --tenant acme --quota 20000/month`)
}

// enable lets a tenant use an app and prints what it may do then.
func (p *program) enable(cl *client, id, app string, q operators.Quota) error {
	var after operators.EnabledApp
	if err := cl.put(p.ctx, operators.TenantAppPath(id, app), operators.EnableApp{Quota: q}, &after); err != nil {
		return err
	}
	if p.json {
		return p.printJSON(after)
	}
	p.printQuotas(operators.TenantStanding{Apps: []operators.EnabledApp{after}})
	return nil
}

func (p *program) appDisable() *cobra.Command {
	var id string
	c := p.operatorCommand("disable APP", "refuse a tenant's calls of an app", arguments("an app's id"), func(cl *client, args []string) error {
		if err := cl.remove(p.ctx, operators.TenantAppPath(id, args[0]), nil); err != nil {
			return err
		}
		if p.json {
			return p.done("disabled", args[0])
		}
		p.printf("%s is disabled for %s: every call of it is refused\n", printable(args[0]), printable(id))
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Refuses the tenant's calls of the app from now on, and proposes it no more.
What its quota's window has used stays used.`, `  interlock app disable abn_lookup --tenant acme`)
}
