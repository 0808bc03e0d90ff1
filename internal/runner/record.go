package runner

import (
	"context"
	"time"
)

// recordTime bounds Record where the task itself was cancelled.
const recordTime = 5 * time.Second

// turnDown records that d is not carried out and lets the planner propose
// another call, unless it has been turned down too often.
func (a *attempt) turnDown(ctx context.Context, d decision, why *refusal) *end {
	if e := a.record(ctx, d, TurnedDown, why.code); e != nil {
		return e
	}
	a.reasksStep++
	a.reasksTask++
	if a.reasksStep > maxReasksStep || a.reasksTask > maxReasksTask {
		return over(Failed, why.code, "the proposals were turned down too often, the last one so: "+why.reason)
	}
	a.refusal = "Your last proposal, a call of " + d.call.Tool + ", was not carried out. " + why.reason
	return nil
}

// stop records that the task ended before d was carried out.
func (a *attempt) stop(ctx context.Context, d decision, e *end) *end {
	return a.conclude(ctx, d, Stopped, e)
}

// conclude records d with the end that it brought. An end from the host while
// recording weighs less than one already there.
func (a *attempt) conclude(ctx context.Context, d decision, o Outcome, e *end) *end {
	a.record(ctx, d, o, e.reason)
	return e
}

// record keeps the event of d. It is written even if the task was cancelled.
func (a *attempt) record(ctx context.Context, d decision, o Outcome, detail string) *end {
	now := a.clock()
	event := StepEvent{
		Step: a.stepOf(o), Decision: a.decisions - 1, Tool: d.call.Tool, Verdict: d.verdict, Outcome: o, Detail: detail,
		Duration: now.Sub(d.began), SceneHash: d.sceneHash, StepIndex: d.proposal.StepIndex,
		Provider: d.proposal.Provider, Model: d.proposal.Model, Usage: d.proposal.Usage, At: now.UTC(),
	}
	a.log.DebugContext(ctx, "step", "task", a.task.ID, "attempt", a.task.Attempt, "step", event.Step,
		"tool", event.Tool, "outcome", string(o), "detail", detail, "rule", d.verdict.Rule, "duration", event.Duration)
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := a.host.Record(keep, event); err != nil {
		return hostSaid(ctx, err, "not_recorded", "the host could not record the step; its log has the cause")
	}
	return nil
}

// stepOf is the number of the step that an event belongs to: the one going on,
// or the one that a finish has just closed.
func (a *attempt) stepOf(o Outcome) int {
	if o == Ended {
		return a.steps
	}
	return a.steps + 1
}
