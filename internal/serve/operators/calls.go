package operators

import (
	"context"
	"encoding/hex"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
)

func (d *Door) mountCalls(api huma.API) {
	add(d, api, op("GET "+PathTenants+"/{tenant}/calls", "list-calls", "List what a tenant's sites called, newest first"), d.listCalls)
	add(d, api, op("GET "+PathTenants+"/{tenant}/resolutions", "list-resolutions", "List what a tenant's instructions became, newest first"), d.listResolutions)
	add(d, api, op("POST "+PathABNPurge, "purge-abn", "Forget cached answers of the business register"), d.purgeABN)
}

type listCallsInput struct {
	Tenant  string `path:"tenant" maxLength:"64"`
	Limit   int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor  string `query:"cursor" maxLength:"64"`
	SiteID  string `query:"site_id" maxLength:"64"`
	App     string `query:"app" maxLength:"64"`
	Verdict string `query:"verdict" maxLength:"64" doc:"ok, open, interrupted, or the code of a refusal"`
}

func (d *Door) listCalls(ctx context.Context, o operator, in *listCallsInput) (*reply[CallPage], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	found, err := d.Gateway.Calls(ctx, gateway.Query{Tenant: t, Site: site.ID(in.SiteID), App: catalog.AppID(in.App), Verdict: in.Verdict,
		Before: in.Cursor, Limit: in.Limit + 1})
	var page CallPage
	page.Calls, page.NextCursor = cut(found, in.Limit, callView, func(c Call) string { return c.ID })
	return answer(page, err)
}

func callView(r gateway.Record) Call {
	return Call{ID: r.ID, SiteID: string(r.Site), App: string(r.App), Operation: r.Operation, RequestID: r.RequestID, IdempotencyKey: r.Key,
		Arguments: r.Arguments, PolicyRevision: r.Revision, Verdict: r.Verdict, Charged: r.Charged, DurationMS: r.Duration.Milliseconds(), OpenedAt: r.OpenedAt}
}

type listResolutionsInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" maxLength:"64"`
	SiteID string `query:"site_id" maxLength:"64"`
}

func (d *Door) listResolutions(ctx context.Context, o operator, in *listResolutionsInput) (*reply[ResolutionPage], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	found, err := d.Resolver.Resolutions(ctx, resolve.Query{Tenant: t, Site: site.ID(in.SiteID), Before: in.Cursor, Limit: in.Limit + 1})
	var page ResolutionPage
	page.Resolutions, page.NextCursor = cut(found, in.Limit, resolutionView, func(r Resolution) string { return r.ID })
	return answer(page, err)
}

func resolutionView(r resolve.Record) Resolution {
	return Resolution{ID: r.ID, SiteID: string(r.Site), RequestID: r.RequestID, InstructionSHA256: hex.EncodeToString(r.Hash[:]), Instruction: r.Instruction,
		Selector: r.Selector, Capability: r.Capability, App: string(r.App), Operation: r.Operation, Reason: string(r.Reason), Effect: string(r.Effect),
		Rule: r.Rule, PolicyRevision: r.Revision, DurationMS: r.Duration.Milliseconds(), At: r.At}
}

type purgeABNInput struct{ Body *PurgeABN }

// purgeABN serves who runs the installation: the cache is shared by all
// tenants.
func (d *Door) purgeABN(ctx context.Context, o operator, in *purgeABNInput) (*reply[PurgeABNReply], error) {
	if err := o.platform(); err != nil {
		return nil, err
	}
	if d.PurgeABN == nil {
		return nil, fault.New(fault.Conflict, "nothing_cached", "this server looks ABNs up in a file of its own and caches no answers; there is nothing to purge")
	}
	var about abn.Number
	if in.Body != nil && in.Body.ABN != "" {
		var err error
		if about, err = abn.Parse(in.Body.ABN); err != nil {
			return nil, err
		}
	}
	n := d.PurgeABN(about)
	d.Logger.InfoContext(ctx, "cached answers of the register purged", "answers", n, "by", o.by)
	return answer(PurgeABNReply{n}, nil)
}
