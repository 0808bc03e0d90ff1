package operators

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/cloud/fleet"
	"interlock/internal/secret"
)

func (d *Door) mountHosts(api huma.API) {
	add(d, api, op("GET "+PathHosts, "list-hosts", "List hosts, by name"), d.listHosts)
	add(d, api, op("GET "+PathHosts+"/{id}", "get-host", "Show one host"), d.getHost)
	add(d, api, op("POST "+PathHosts+"/{id}/revoke", "revoke-host", "Revoke a host: its credentials, its poll and its leases end now"), d.revokeHost)
	add(d, api, op("PUT "+PathHosts+"/{id}/planner", "set-host-planner", "Allow or forbid a host to ask for decisions, and limit how many at once"), d.setPlanner)
	add(d, api, op("PUT "+PathHosts+"/{id}/drain", "set-host-drain", "Ask a host to take no more work, or to take work again"), d.setDrain)
	create := op("POST "+PathEnrolTokens, "create-enrol-token", "Make a one-use enrolment token, shown this once")
	create.DefaultStatus = http.StatusCreated
	add(d, api, create, d.createEnrolToken)
	add(d, api, op("GET "+PathEnrolTokens, "list-enrol-tokens", "List enrolment tokens, newest first"), d.listEnrolTokens)
	add(d, api, op("POST "+PathEnrolTokens+"/{id}/revoke", "revoke-enrol-token", "Make an unused enrolment token useless"), d.revokeEnrolToken)
}

// aHost names one host.
type aHost struct {
	ID string `path:"id" maxLength:"64"`
}

func (d *Door) listHosts(ctx context.Context, o operator, _ *struct{}) (*reply[HostList], error) {
	found, err := d.Fleet.Hosts(ctx, o.tenant)
	list := HostList{Hosts: []Host{}}
	for _, h := range found {
		list.Hosts = append(list.Hosts, d.hostView(h))
	}
	return answer(list, err)
}

func (d *Door) getHost(ctx context.Context, o operator, in *aHost) (*reply[Host], error) {
	h, err := d.Fleet.Host(ctx, o.tenant, fleet.HostID(in.ID))
	return answer(d.hostView(h), err)
}

// afterwards answers a change with the host as it is then.
func (d *Door) afterwards(ctx context.Context, o operator, id string, err error) (*reply[Host], error) {
	if err != nil {
		return nil, err
	}
	return d.getHost(ctx, o, &aHost{id})
}

func (d *Door) revokeHost(ctx context.Context, o operator, in *aHost) (*reply[Host], error) {
	return d.afterwards(ctx, o, in.ID, d.Fleet.Revoke(ctx, o.tenant, o.by, fleet.HostID(in.ID)))
}

type plannerInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body PlannerGrant
}

func (d *Door) setPlanner(ctx context.Context, o operator, in *plannerInput) (*reply[Host], error) {
	err := d.Fleet.SetPlanner(ctx, o.tenant, o.by, fleet.HostID(in.ID), in.Body.Allowed, in.Body.MaxConcurrentDecides)
	return d.afterwards(ctx, o, in.ID, err)
}

type drainInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body DrainRequest
}

func (d *Door) setDrain(ctx context.Context, o operator, in *drainInput) (*reply[Host], error) {
	return d.afterwards(ctx, o, in.ID, d.Fleet.SetDrain(ctx, o.tenant, o.by, fleet.HostID(in.ID), in.Body.Drain))
}

type createEnrolTokenInput struct{ Body *NewEnrolToken }

func (d *Door) createEnrolToken(ctx context.Context, o operator, in *createEnrolTokenInput) (*reply[EnrolTokenReply], error) {
	n := fleet.NewEnrolToken{Tenant: o.tenant, By: o.by}
	if in.Body != nil {
		n.HostName, n.Labels, n.Life = in.Body.HostName, in.Body.Labels, time.Duration(in.Body.LifetimeSeconds)*time.Second
	}
	t, value, err := d.Fleet.CreateEnrolToken(ctx, n)
	return answer(EnrolTokenReply{d.enrolTokenView(t), secret.Expose(value)}, err)
}

func (d *Door) listEnrolTokens(ctx context.Context, o operator, _ *struct{}) (*reply[EnrolTokenList], error) {
	found, err := d.Fleet.EnrolTokens(ctx, o.tenant)
	list := EnrolTokenList{EnrolTokens: []EnrolToken{}}
	for _, t := range found {
		list.EnrolTokens = append(list.EnrolTokens, d.enrolTokenView(t))
	}
	return answer(list, err)
}

type anEnrolToken struct {
	ID string `path:"id" maxLength:"64"`
}

func (d *Door) revokeEnrolToken(ctx context.Context, o operator, in *anEnrolToken) (*done, error) {
	return nil, d.Fleet.RevokeEnrolToken(ctx, o.tenant, o.by, in.ID)
}

// hostView shows a revoked host without what it can't have any more: free
// slots and leave to ask for decisions.
func (d *Door) hostView(h fleet.Host) Host {
	v := Host{ID: string(h.ID), Name: h.Name, Status: string(d.Fleet.Status(h)), Labels: h.Labels, Devices: []HostDevice{}, Version: h.Version,
		SlotsFree: h.SlotsFree, Draining: h.Draining, Drain: h.Drain, EnrolledAt: h.EnrolledAt, LastSeenAt: h.LastSeen, RevokedAt: h.RevokedAt,
		Planner: PlannerGrant{h.PlannerAllowed, h.DecideLimit}}
	if !h.RevokedAt.IsZero() {
		v.SlotsFree, v.Planner = 0, PlannerGrant{}
	}
	for _, dev := range h.Devices {
		v.Devices = append(v.Devices, HostDevice{dev.ID, dev.Kind, dev.Name, dev.Labels})
	}
	return v
}

func (d *Door) enrolTokenView(t fleet.EnrolToken) EnrolToken {
	v := EnrolToken{ID: t.ID, State: "live", HostName: t.HostName, Labels: t.Labels, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
		UsedAt: t.UsedAt, UsedBy: string(t.UsedBy), RevokedAt: t.RevokedAt}
	switch {
	case !t.RevokedAt.IsZero():
		v.State = "revoked"
	case !t.UsedAt.IsZero():
		v.State = "used"
	case !d.Now().Before(t.ExpiresAt):
		v.State = "expired"
	}
	return v
}
