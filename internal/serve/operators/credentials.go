package operators

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
)

const (
	routeCredentials = PathTenants + "/{tenant}/credentials"
	routeCredential  = routeCredentials + "/{app}"
)

func (d *Door) mountCredentials(api huma.API) {
	add(d, api, op("GET "+routeCredentials, "list-credentials", "List who set which credential and when; no value is shown"), d.listCredentials)
	add(d, api, op("PUT "+routeCredential, "set-credential", "Seal a tenant's credential at the service behind an app"), d.setCredential)
	add(d, api, op("DELETE "+routeCredential, "delete-credential", "Forget a tenant's credential"), d.deleteCredential)
	add(d, api, op("POST "+PathCredentialsRotate, "rotate-credentials", "Seal the credentials of all tenants with the keyset's newest key"), d.rotateCredentials)
}

// keeps refuses where the server has no keyset, and so no credentials.
func (d *Door) keeps() error {
	if d.Credentials == nil {
		return fault.New(fault.Conflict, "keyset_not_configured", "this server keeps no credentials; make a keyset with: interlock credential keyset new FILE, and start the server with INTERLOCK_KEYSET_FILE=FILE")
	}
	return nil
}

func (d *Door) listCredentials(ctx context.Context, o operator, in *aTenant) (*reply[CredentialList], error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	if err := d.keeps(); err != nil {
		return nil, err
	}
	found, err := d.Credentials.List(ctx, t)
	list := CredentialList{Credentials: []Credential{}}
	for _, c := range found {
		list.Credentials = append(list.Credentials, Credential{string(c.App), c.Revision, c.KeyID, c.SetBy, c.SetAt})
	}
	return answer(list, err)
}

type setCredentialInput struct {
	Tenant string `path:"tenant" maxLength:"64"`
	App    string `path:"app" maxLength:"64"`
	Body   SetCredential
}

func (d *Door) setCredential(ctx context.Context, o operator, in *setCredentialInput) (*done, error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	if err := d.keeps(); err != nil {
		return nil, err
	}
	if !d.Catalog.Published(catalog.AppID(in.App)) {
		return nil, catalog.ErrAppNotFound
	}
	return nil, d.Credentials.Set(ctx, t, o.by, catalog.AppID(in.App), in.Body.Value.Secret())
}

func (d *Door) deleteCredential(ctx context.Context, o operator, in *anApp) (*done, error) {
	t, err := d.reach(ctx, o, in.Tenant)
	if err != nil {
		return nil, err
	}
	if err := d.keeps(); err != nil {
		return nil, err
	}
	return nil, d.Credentials.Delete(ctx, t, o.by, catalog.AppID(in.App))
}

func (d *Door) rotateCredentials(ctx context.Context, o operator, _ *struct{}) (*reply[RotateReply], error) {
	if err := o.platform(); err != nil {
		return nil, err
	}
	if err := d.keeps(); err != nil {
		return nil, err
	}
	n, err := d.Credentials.Rotate(ctx, o.by)
	return answer(RotateReply{n}, err)
}
