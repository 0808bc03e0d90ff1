package main

import (
	"net/url"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) callCommand() *cobra.Command {
	c := p.group("call", "the log of what sites called", p.callList())
	return explained(c, `Every call that the gateway made or refused is in this log. A repeat that got
the first answer again is none: it was not made. No argument's value is there
but those that the app marks safe.`, `  interlock call list --tenant acme --verdict quota_exceeded`)
}

func (p *program) callList() *cobra.Command {
	var id, site, app, verdict string
	var limit int
	c := p.operatorCommand("list", "list calls, newest first", arguments(), func(cl *client, _ []string) error {
		calls := []operators.Call{}
		err := pages(limit, filters("site_id", site, "app", app, "verdict", verdict), func(query url.Values) (string, int, error) {
			var page operators.CallPage
			err := cl.get(p.ctx, operators.TenantPath(id, "calls"), query, &page)
			calls = append(calls, page.Calls...)
			return page.NextCursor, len(page.Calls), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(calls)
		}
		t := table{head: []string{"AT", "SITE", "APP", "VERDICT"}}
		for _, k := range calls {
			t.add(when(k.OpenedAt), k.SiteID, orDash(k.App), k.Verdict)
		}
		p.print(t, "there are no calls")
		return nil
	})
	tenantFlag(c, &id)
	f := c.Flags()
	f.StringVar(&site, "site", "", "only of the site with this `ID`")
	f.StringVar(&app, "app", "", "only of this `APP`")
	f.StringVar(&verdict, "verdict", "", "only with this `VERDICT`: ok, open, interrupted, or the code of a refusal")
	f.IntVar(&limit, "limit", operators.DefaultPage, "how many")
	return explained(c, `Lists the calls with their verdict: ok, open (being made), interrupted (the
server stopped meanwhile), or the code of the refusal, explained in
docs/problems.md. With --json also the operation, request id, duration and
whether it was charged.`, `  interlock call list
  interlock call list --verdict quota_exceeded --json`)
}

// filters is a query of those pairs of name and value that have a value.
func filters(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}
