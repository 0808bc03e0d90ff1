package main

import (
	"net/url"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) resolutionCommand() *cobra.Command {
	c := p.group("resolution", "the log of what sites' instructions became", p.resolutionList())
	return explained(c, `Every instruction that a site sent is in this log with what was proposed for
it, or why nothing was. Nothing is run for a resolution. The instruction's
words are kept only for a tenant with: interlock tenant change TENANT
--keep-instructions`, `  interlock resolution list --tenant acme`)
}

func (p *program) resolutionList() *cobra.Command {
	var id, site string
	var limit int
	c := p.operatorCommand("list", "list resolutions, newest first", arguments(), func(cl *client, _ []string) error {
		all := []operators.Resolution{}
		err := pages(limit, filters("site_id", site), func(query url.Values) (string, int, error) {
			var page operators.ResolutionPage
			err := cl.get(p.ctx, operators.TenantPath(id, "resolutions"), query, &page)
			all = append(all, page.Resolutions...)
			return page.NextCursor, len(page.Resolutions), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(all)
		}
		t := table{head: []string{"AT", "SITE", "OUTCOME"}}
		for _, r := range all {
			t.add(when(r.At), r.SiteID, outcome(r))
		}
		p.print(t, "there are no resolutions")
		return nil
	})
	tenantFlag(c, &id)
	c.Flags().StringVar(&site, "site", "", "only of the site with this `ID`")
	c.Flags().IntVar(&limit, "limit", operators.DefaultPage, "how many")
	return explained(c, `Lists the resolutions with their outcome and the selector that spoke last. With
--json also the proposal, the policy's verdict and the instruction's hash.`, `  interlock resolution list --site site_0123456789abcdef --json`)
}

// outcome is what an instruction became, and who said so.
func outcome(r operators.Resolution) string {
	return orElse(r.Reason, "resolved") + " (" + r.Selector + ")"
}
