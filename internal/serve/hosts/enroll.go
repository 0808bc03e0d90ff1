package hosts

import (
	"context"
	"net/http"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
	"interlock/internal/serve"
)

// enroll makes a host out of a one-use token.
func (d *Door) enroll(ctx context.Context, c call) (int, any, error) {
	var req hostapi.EnrollRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	issued, err := d.Fleet.Enroll(ctx, fleet.EnrolRequest{Token: req.Token.Secret(), Key: c.key, Name: req.Name,
		Labels: req.Labels, Devices: devices(req.Devices), Version: req.Version})
	if err != nil {
		return 0, nil, err
	}
	serve.SetCaller(ctx, audit.ByHost(string(issued.Host.ID)))
	return http.StatusOK, d.credential(issued), nil
}

// rotate gives the host a new credential in place of the one that it presented.
func (d *Door) rotate(ctx context.Context, c call) (int, any, error) {
	issued, err := d.Fleet.Rotate(ctx, c.bearer, c.key)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, d.credential(issued), nil
}

func (d *Door) credential(i fleet.Issued) hostapi.CredentialReply {
	return hostapi.CredentialReply{HostID: string(i.Host.ID), Credential: secret.Expose(i.Credential),
		LifetimeMS: i.Life.Milliseconds(), OldValidMS: i.OldValid.Milliseconds(), Timings: d.Timings}
}

func devices(offered []hostapi.Device) []fleet.Device {
	out := make([]fleet.Device, len(offered))
	for i, o := range offered {
		out[i] = fleet.Device{ID: o.ID, Kind: o.Kind, Name: o.Name, Labels: o.Labels}
	}
	return out
}
