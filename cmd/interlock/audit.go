package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) auditCommand() *cobra.Command {
	return p.group("audit", "what operators changed, in a hash chain", p.auditList(), p.auditVerify())
}

func (p *program) auditList() *cobra.Command {
	var id string
	var limit int
	c := p.operatorCommand("list", "list the facts, oldest first", arguments(), func(cl *client, _ []string) error {
		entries := []operators.AuditEntry{}
		err := pages(limit, filters("tenant", id), func(query url.Values) (string, int, error) {
			var page operators.AuditPage
			err := cl.get(p.ctx, operators.PathAudit, query, &page)
			entries = append(entries, page.Entries...)
			return page.NextCursor, len(page.Entries), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(entries)
		}
		t := table{head: []string{"SEQ", "AT", "WHO", "ACTION", "WHAT", "DETAIL"}}
		for _, e := range entries {
			detail := ""
			for _, name := range slices.Sorted(maps.Keys(e.Detail)) {
				detail += name + "=" + e.Detail[name] + " "
			}
			t.add(strconv.FormatInt(e.Seq, 10), when(e.At), e.Actor, e.Action, e.Subject, shorten(detail, 60))
		}
		p.print(t, "nothing was changed yet")
		return nil
	})
	ownTenantFlag(c, &id)
	c.Flags().IntVar(&limit, "limit", operators.MaxPage, "how many")
	return c
}

func (p *program) auditVerify() *cobra.Command {
	var id string
	c := p.operatorCommand("verify", "check that no fact was changed, removed or inserted; exit code 1 if one was", arguments(), func(cl *client, _ []string) error {
		var v operators.AuditVerdict
		if err := cl.get(p.ctx, operators.PathAuditVerify, filters("tenant", id), &v); err != nil {
			return err
		}
		switch {
		case p.json:
			if err := p.printJSON(v); err != nil {
				return err
			}
		case v.Valid:
			p.printf("the chain is whole: %d facts, the last with hash %s\n", v.Entries, orDash(v.LastHash))
		default:
			p.printf("%s\n", printable(v.Problem))
		}
		if !v.Valid {
			return fmt.Errorf("audit: %w", errReported)
		}
		return nil
	})
	ownTenantFlag(c, &id)
	return c
}
