package operators

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/audit"
	"interlock/internal/fault"
)

func (d *Door) mountAudit(api huma.API) {
	add(d, api, op("GET "+PathAudit, "list-audit", "List what was changed by whom, oldest first"), d.listAudit)
	add(d, api, op("GET "+PathAuditVerify, "verify-audit", "Check the whole hash chain"), d.verifyAudit)
}

type listAuditInput struct {
	Tenant string `query:"tenant" maxLength:"64" doc:"left out: that of the API token"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" maxLength:"20"`
}

func (d *Door) listAudit(ctx context.Context, o operator, in *listAuditInput) (*reply[AuditPage], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	var after int64
	if in.Cursor != "" {
		if after, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || after < 0 {
			return nil, errCursor
		}
	}
	found, err := d.Audit.Facts(ctx, t, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := AuditPage{Entries: []AuditEntry{}}
	for i, e := range found {
		if i == in.Limit {
			page.NextCursor = strconv.FormatInt(found[i-1].Seq, 10)
			break
		}
		page.Entries = append(page.Entries, AuditEntry{Seq: e.Seq, At: e.Fact.At, Actor: e.Fact.Actor, Action: e.Fact.Action,
			Subject: e.Fact.Subject, Detail: e.Fact.Detail, Hash: hex.EncodeToString(e.Hash[:])})
	}
	return answer(page, nil)
}

// verifyPage is how much of the chain is read at once.
const verifyPage = 500

func (d *Door) verifyAudit(ctx context.Context, o operator, in *whose) (*reply[AuditVerdict], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	var seq int64
	var last [32]byte
	verdict := AuditVerdict{Valid: true}
	for {
		found, err := d.Audit.Facts(ctx, t, seq, verifyPage)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if err := audit.Verify(seq, last, []audit.Entry{e}); err != nil {
				verdict.Valid, verdict.Problem = false, fault.Of(err).Detail
				return answer(verdict, nil)
			}
			seq, last = e.Seq, e.Hash
			verdict.Entries, verdict.LastHash = seq, hex.EncodeToString(last[:])
		}
		if len(found) < verifyPage {
			return answer(verdict, nil)
		}
	}
}
