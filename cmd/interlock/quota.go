package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"interlock/internal/fault"
	"interlock/internal/serve/operators"
)

func (p *program) quotaCommand() *cobra.Command {
	c := p.group("quota", "how many calls of each app a tenant may make", p.quotaSet(), p.quotaShow())
	return explained(c, `A quota counts calls in calendar hours, days or months of UTC. A call beyond it
is refused, and a refused call costs nothing. It is exact, however many calls
come at the same moment.`, `  interlock quota show --tenant acme
  interlock quota set abn_lookup 1000/day --tenant acme`)
}

// parseQuota reads a number of calls and their window: 1000/day.
func parseQuota(v string) (operators.Quota, error) {
	number, window, _ := strings.Cut(v, "/")
	limit, err := strconv.ParseInt(number, 10, 64)
	if err != nil || limit < 0 || !slices.Contains([]string{"hour", "day", "month"}, window) {
		return operators.Quota{}, usageError("a quota is a number of calls an hour, day or month, such as 1000/day; not %q", shorten(v, 40))
	}
	return operators.Quota{Limit: limit, Window: window}, nil
}

func quotaWords(q operators.Quota) string { return fmt.Sprintf("%d/%s", q.Limit, q.Window) }

func (p *program) quotaSet() *cobra.Command {
	var id string
	c := p.operatorCommand("set APP QUOTA", "change the quota of an enabled app", arguments("an app's id", "a quota, such as 1000/day"), func(cl *client, args []string) error {
		quota, err := parseQuota(args[1])
		if err != nil {
			return err
		}
		standing, err := cl.standing(p, id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(standing.Apps, func(e operators.EnabledApp) bool { return e.App == args[0] }) {
			return fault.New(fault.NotFound, "app_not_enabled_here",
				"%s is not enabled for %s; enable it with: interlock app enable %s --quota %s%s",
				shorten(args[0], 40), id, shorten(args[0], 40), quotaWords(quota), of(id))
		}
		return p.enable(cl, id, args[0], quota)
	})
	tenantFlag(c, &id)
	return explained(c, `Changes the quota from the next call on. What the window has used stays used.`, `  interlock quota set abn_lookup 1000/day
  interlock quota set abn_lookup 0/day --tenant acme`)
}

func (p *program) quotaShow() *cobra.Command {
	var id string
	c := p.operatorCommand("show", "show the quotas of a tenant and what is left of them", arguments(), func(cl *client, _ []string) error {
		standing, err := cl.standing(p, id)
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(rows(standing.Apps))
		}
		p.printQuotas(standing)
		return nil
	})
	tenantFlag(c, &id)
	return explained(c, `Shows each app that is enabled for the tenant, with what is left in this hour,
day or month.`, `  interlock quota show
  interlock quota show --tenant acme --json`)
}

// printQuotas prints the apps that are enabled with what is left for each.
func (p *program) printQuotas(s operators.TenantStanding) {
	t := table{head: []string{"APP", "QUOTA", "USED", "LEFT", "RESETS"}}
	for _, e := range s.Apps {
		t.add(e.App, quotaWords(e.Quota), fmt.Sprint(e.Used), fmt.Sprint(e.Remaining), when(e.ResetsAt))
	}
	p.print(t, "no app is enabled for it; enable one with: interlock app enable APP --quota 1000/day"+of(s.ID))
}
