package operators

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/bridge/catalog"
)

const routeTenantApp = PathTenants + "/{tenant}/apps/{app}"

func (d *Door) mountApps(api huma.API) {
	add(d, api, op("GET "+PathApps, "list-apps", "List the apps of this server, with their operations and schemas"), d.listApps)
	add(d, api, op("PUT "+routeTenantApp, "enable-app", "Let a tenant use an app up to a quota, or change the quota"), d.enableApp)
	add(d, api, op("DELETE "+routeTenantApp, "disable-app", "Refuse a tenant's calls of an app"), d.disableApp)
}

func (d *Door) listApps(context.Context, operator, *struct{}) (*reply[AppList], error) {
	list := AppList{Apps: []App{}}
	for _, a := range d.Catalog.Apps() {
		list.Apps = append(list.Apps, d.appView(a))
	}
	return answer(list, nil)
}

// anApp names one app of a tenant.
type anApp struct {
	Tenant string `path:"tenant" maxLength:"64"`
	App    string `path:"app" maxLength:"64"`
}

type enableAppInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	App    string `path:"app" maxLength:"64"`
	Body   EnableApp
}

func (d *Door) enableApp(ctx context.Context, o operator, in *enableAppInput) (*reply[EnabledApp], error) {
	t, err := d.reachAsPlatform(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	quota := catalog.Quota{Limit: in.Body.Quota.Limit, Window: catalog.Window(in.Body.Quota.Window)}
	if err := d.Catalog.Enable(ctx, t, o.by, catalog.AppID(in.App), quota); err != nil {
		return nil, err
	}
	standing, err := d.Catalog.Standing(ctx, t)
	if err != nil {
		return nil, err
	}
	e, enabled := standing.Enablement(catalog.AppID(in.App))
	if !enabled {
		return nil, catalog.ErrNotEnabled // somebody disabled it meanwhile
	}
	return answer(d.enabledView(ctx, t, e))
}

func (d *Door) disableApp(ctx context.Context, o operator, in *anApp) (*done, error) {
	t, err := d.reachAsPlatform(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	return nil, d.Catalog.Disable(ctx, t, o.by, catalog.AppID(in.App))
}

func (d *Door) appView(a catalog.App) App {
	v := App{ID: string(a.ID), Title: a.Title, Description: a.Description, Credential: a.Credential, Operations: []Operation{}}
	for _, p := range a.Operations {
		offer, _ := d.Catalog.Offer(a.ID, p.Name)
		v.Operations = append(v.Operations, Operation{Name: p.Name, Capability: p.Capability, Description: p.Description, Scope: offer.Scope(),
			Tool: offer.Tool().Name, Risk: string(p.Risk), Confirm: p.Confirm, ReadOnly: p.ReadOnly, AgentVisible: p.AgentVisible,
			Arguments: p.Arguments, Result: p.Result, Verbatim: p.Verbatim, Recorded: p.Recorded})
	}
	return v
}
