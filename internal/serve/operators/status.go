package operators

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
)

func (d *Door) mountStatus(api huma.API) {
	add(d, api, op("GET "+PathStatus, "get-status", "Show how the control plane stands"), d.getStatus)
}

func (d *Door) getStatus(ctx context.Context, o operator, _ *struct{}) (*reply[Status], error) {
	s := Status{Version: d.Version, Now: d.Now().UTC(), Tasks: map[string]int{}, Hosts: map[string]int{}}
	tasks, err := d.Tasks.Count(ctx, o.tenant)
	if err != nil {
		return nil, err
	}
	for state, n := range tasks {
		s.Tasks[string(state)] = n
	}
	hosts, err := d.Fleet.Hosts(ctx, o.tenant)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		s.Hosts[string(d.Fleet.Status(h))]++
	}
	stop, err := d.Usage.Stopped(ctx, o.tenant)
	if err != nil {
		return nil, err
	}
	s.Stop = Stop(stop)
	stats, err := d.Decisions.Stats(ctx)
	if err != nil {
		return nil, err
	}
	s.Planner = PlannerStatus{Configured: d.Decisions.Configured(), Provider: d.Planner.Provider, Model: d.Planner.Model,
		InFlight: stats.InFlight, Decides: stats.Decides()}
	s.Log = LogStatus{Decisions: stats.Log.Rows, Bytes: stats.Log.Bytes, MaxBytes: stats.MaxBytes,
		RetentionSeconds: int64(d.Decisions.Retention().Seconds()), NextPruneAt: stats.NextPrune}
	return answer(s, nil)
}
