package hosts

import (
	"context"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/serve"
)

// events appends to what is known of the attempt.
func (d *Door) events(ctx context.Context, c call, f task.Fence) (any, error) {
	var req hostapi.EventsRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	now := d.Now().UTC()
	events := make([]task.Event, len(req.Events))
	for i, e := range req.Events {
		events[i] = event(e, now)
	}
	next, cancel, err := d.Tasks.AppendEvents(ctx, f, events)
	return hostapi.EventsReply{Next: next, Cancel: cancel}, err
}

// event dates e by this server's clock: the host says only how long ago it was.
func event(e hostapi.Event, now time.Time) task.Event {
	out := task.Event{Seq: e.Seq, Kind: e.Kind, Step: e.Step, Tool: e.Tool, Effect: e.Effect, Rule: e.Rule, Revision: e.Revision,
		Outcome: e.Outcome, Duration: serve.Millis(e.DurationMS), SceneHash: e.SceneHash, StepIndex: -1, At: now.Add(-max(0, serve.Millis(e.AgoMS)))}
	if e.StepIndex != nil {
		out.StepIndex = *e.StepIndex
	}
	return out
}

// result ends the attempt.
func (d *Door) result(ctx context.Context, c call, f task.Fence) (any, error) {
	var req hostapi.ResultRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	ended, replayed, err := d.Tasks.Finish(ctx, f, task.Result{State: req.State, Reason: req.Reason, Summary: req.Summary,
		Steps: req.Steps, Acted: req.Acted, Usage: req.Usage, RetryAfter: serve.Millis(req.RetryAfterMS)})
	return hostapi.ResultReply{TaskState: string(ended.State), Replayed: replayed}, err
}

// release gives the attempt back unfinished.
func (d *Door) release(ctx context.Context, c call, f task.Fence) (any, error) {
	var req hostapi.ReleaseRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	given, err := d.Tasks.Release(ctx, f, req.Acted, req.Reason)
	return hostapi.ResultReply{TaskState: string(given.State)}, err
}
