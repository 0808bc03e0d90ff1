package operators

import (
	"context"

	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// aTenant names one tenant.
type aTenant struct {
	Tenant string `path:"tenant" maxLength:"64"`
}

// whose is the query of operations that are about the operator's own tenant,
// unless it names another.
type whose struct {
	Tenant string `query:"tenant" maxLength:"64" doc:"left out: that of the API token"`
}

var errPlatform = fault.New(fault.Forbidden, "platform_only", "only an API token of the tenant %q may do this; ask whoever runs this installation", tenant.Default)

// platform refuses an operator who does not run the installation: what a
// tenant pays for and may use is not its own to change.
func (o operator) platform() error {
	if o.tenant != tenant.Default {
		return errPlatform
	}
	return nil
}

// reach returns the tenant of that id ("": the operator's own) if the operator
// may see and change what it has. To an operator of another tenant one that is
// there looks like one that isn't: catalog.ErrTenantNotFound.
func (d *Door) reach(ctx context.Context, o operator, id string) (tenant.ID, error) {
	t := tenant.ID(id)
	switch {
	case id == "" || t == o.tenant:
		return o.tenant, nil
	case o.platform() != nil:
		return "", catalog.ErrTenantNotFound
	}
	_, err := d.Catalog.Tenant(ctx, t)
	return t, err
}

// reachAsPlatform is reach for what only the platform may change.
func (d *Door) reachAsPlatform(ctx context.Context, o operator, id string) (tenant.ID, error) {
	t, err := d.reach(ctx, o, id)
	if err != nil {
		return "", err
	}
	return t, o.platform()
}
