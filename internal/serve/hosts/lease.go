package hosts

import (
	"context"
	"net/http"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
)

// heartbeat notes that the host lives, before anything else is judged, and
// renews everything that it holds in one go.
func (d *Door) heartbeat(ctx context.Context, c call) (int, any, error) {
	var req hostapi.HeartbeatRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	err := d.Fleet.Seen(c.host, fleet.Seen{Devices: devices(req.Devices), SlotsFree: req.SlotsFree, Draining: req.Draining, Version: req.Version})
	if err != nil {
		return 0, nil, err
	}
	held := make([]task.Held, len(req.Held))
	for i, h := range req.Held {
		held[i] = task.Held{Task: task.ID(h.TaskID), Attempt: h.Attempt}
	}
	renewals, err := d.Tasks.Heartbeat(ctx, c.host, held)
	if err != nil {
		return 0, nil, err
	}
	reply := hostapi.HeartbeatReply{Held: make([]hostapi.HeldStatus, len(renewals)), Drain: c.host.Drain, Timings: d.Timings}
	for i, r := range renewals {
		reply.Held[i] = d.heldStatus(req.Held[i], r)
	}
	return http.StatusOK, reply, nil
}

func (d *Door) heldStatus(h hostapi.Held, r task.Renewal) hostapi.HeldStatus {
	switch {
	case r.Lost:
		return hostapi.HeldStatus{Held: h, Status: hostapi.Lost}
	case r.Cancel:
		return hostapi.HeldStatus{Held: h, Status: hostapi.Cancel, LeaseMS: d.leaseMS()}
	}
	return hostapi.HeldStatus{Held: h, Status: hostapi.Renewed, LeaseMS: d.leaseMS()}
}

func (d *Door) leaseMS() int64 { return d.Tasks.Lease().Milliseconds() }

// ack takes the attempt on; from here on it counts as tried.
func (d *Door) ack(ctx context.Context, _ call, f task.Fence) (any, error) {
	cancel, err := d.Tasks.Ack(ctx, f)
	return hostapi.LeaseReply{LeaseMS: d.leaseMS(), Cancel: cancel}, err
}

// renew renews one lease, before an action.
func (d *Door) renew(ctx context.Context, _ call, f task.Fence) (any, error) {
	cancel, err := d.Tasks.Renew(ctx, f)
	return hostapi.LeaseReply{LeaseMS: d.leaseMS(), Cancel: cancel}, err
}
