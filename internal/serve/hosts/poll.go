package hosts

import (
	"context"
	"errors"
	"net/http"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/serve"
)

// pollSlack is how much longer than its longest hold a poll's answer may take.
const pollSlack = 30 * time.Second

// poll waits until there is something to say, and answers 204 if nothing came
// in time or this server is shutting down: the host then polls again.
func (d *Door) poll(ctx context.Context, c call) (int, any, error) {
	var req hostapi.PollRequest
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	serve.Hold(c.w, 2*serve.Millis(d.Timings.PollHoldMS)+pollSlack)
	held, stop := serve.UntilDrain(ctx)
	defer stop()
	answer, err := d.Tasks.Poll(held, c.host, task.Poll{Key: c.key, Max: req.Max, Idle: req.Idle, Wait: serve.Millis(req.WaitMS)})
	switch {
	case errors.Is(err, serve.ErrDraining):
		return http.StatusNoContent, nil, nil
	case err != nil:
		return 0, nil, err
	case len(answer.Assignments) == 0 && len(answer.Signals) == 0:
		return http.StatusNoContent, nil, nil
	}
	return http.StatusOK, d.pollReply(answer), nil
}

func (d *Door) pollReply(a task.Answer) hostapi.PollReply {
	var reply hostapi.PollReply
	for _, t := range a.Assignments {
		b := t.Spec.Budgets
		reply.Assignments = append(reply.Assignments, hostapi.Assignment{TaskID: string(t.ID), Attempt: t.Attempt, DeviceID: t.Device,
			Goal: t.Spec.Goal, Budgets: hostapi.Budgets{Steps: b.Steps, WallTimeMS: b.WallTime.Milliseconds(), Tokens: b.Tokens},
			AppLock: t.Spec.AppLock, Policy: t.Spec.Policy, LeaseMS: d.leaseMS()})
	}
	for _, s := range a.Signals {
		reply.Signals = append(reply.Signals, hostapi.Signal{Kind: string(s.Kind), TaskID: string(s.Task), Attempt: s.Attempt})
	}
	return reply
}
