package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"interlock/internal/device"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/policy"
)

// Bounds of second chances, and of what goes into a Result.
const (
	maxReasksStep   = 2
	maxReasksTask   = 5
	maxSummaryRunes = 1000
	recordTime      = 5 * time.Second
	// freshFor is how old the last look at the screen may be when the
	// device is touched: a slow Permit calls for another look.
	freshFor = 250 * time.Millisecond
)

// attempt is one Run: what has happened so far.
type attempt struct {
	*Runner
	task    Task
	started time.Time
	info    device.Info

	scene     device.Scene // what the next decision is made on
	steps     int          // behind us
	decisions int
	spent     spending
	acted     bool
	history   []planner.Past
	circles   repetition

	reasksStep, reasksTask int
	unproven               int    // claims of success without evidence
	refusal                string // told to the model with the next decision of this step
}

func newAttempt(r *Runner, t Task) *attempt {
	t.Budgets = t.Budgets.withDefaults()
	return &attempt{Runner: r, task: t, started: r.clock()}
}

// run goes through the steps until something ends them.
func (a *attempt) run(ctx context.Context) *end {
	if n := utf8.RuneCountInString(a.task.Goal); strings.TrimSpace(a.task.Goal) == "" || n > MaxGoalRunes {
		return over(Failed, "invalid_task", "the task needs a goal of 1 to 4000 characters")
	}
	var err error
	if a.info, err = a.driver.Info(ctx); err != nil {
		return deviceFailed(ctx, err)
	}
	if a.scene, err = a.driver.Observe(ctx); err != nil {
		return deviceFailed(ctx, err)
	}
	for {
		if e := a.decideAndDo(ctx); e != nil {
			return e
		}
	}
}

// result sums up.
func (a *attempt) result(e *end) Result {
	return Result{
		State: e.state, Reason: e.reason, Summary: device.Clean(e.summary, maxSummaryRunes), Steps: a.steps, Acted: a.acted,
		Usage: a.spent.usage, Unmetered: a.spent.unmetered, RetryAfter: e.retryAfter,
	}
}

// decision is one proposal on its way.
type decision struct {
	operation
	proposal  planner.Proposal
	verdict   policy.Verdict
	sceneHash string // of the scene that it was made on
	began     time.Time
}

// decideAndDo makes one decision and does what it says, if it may be done.
func (a *attempt) decideAndDo(ctx context.Context) *end {
	if e := stopped(ctx); e != nil {
		return e
	}
	began := a.clock()
	if e := a.task.Budgets.exhausted(a.steps, began.Sub(a.started), a.spent); e != nil {
		return e
	}
	p, err := a.planner.Plan(ctx, a.input(began))
	if err != nil {
		return a.noDecision(ctx, llm.AsUnavailable(err))
	}
	a.spent.add(p.Usage)
	a.decisions++
	d := decision{operation: read(p.Call, &a.scene), proposal: p, sceneHash: a.scene.Hash, began: began}
	d.verdict = policy.Evaluate(a.task.Policy, d.facts(a.task.AppLock))
	switch {
	case !d.verdict.Allows():
		return a.turnDown(ctx, d, &refusal{"policy_denied", "The policy refused it (" + d.verdict.Rule + "): " + d.verdict.Reason + "."})
	case d.refused != nil:
		return a.turnDown(ctx, d, d.refused)
	case d.ends:
		return a.finish(ctx, d)
	}
	return a.step(ctx, d)
}

// noDecision ends the attempt. A decision that was given only what was left of
// the wall time, and took it, ends it as that budget.
func (a *attempt) noDecision(ctx context.Context, u *llm.Unavailable) *end {
	a.spent.add(u.Usage)
	if u.Reason == llm.Timeout && a.clock().Sub(a.started) >= a.task.Budgets.WallTime {
		return overTime()
	}
	return noDecision(ctx, u)
}

func (a *attempt) input(now time.Time) planner.Input {
	return planner.Input{
		TaskID: a.task.ID, Attempt: a.task.Attempt, Ordinal: a.decisions,
		Goal: a.task.Goal, Device: a.info, Scene: a.scene, Apps: a.apps(),
		Step: a.steps + 1, Steps: a.task.Budgets.Steps, History: a.history,
		Refusal: a.refusal, Warning: a.circles.warning,
		Timeout: a.task.Budgets.WallTime - now.Sub(a.started),
	}
}

// apps are the packages that both the policy and the app lock allow; nil where
// neither names any.
func (a *attempt) apps() []string {
	policed, locked := a.task.Policy.AllowedPackages, a.task.AppLock
	switch {
	case len(policed) == 0 && len(locked) == 0:
		return nil
	case len(policed) == 0:
		return locked
	case len(locked) == 0:
		return policed
	}
	both := []string{}
	for _, p := range locked {
		if slices.Contains(policed, p) {
			both = append(both, p)
		}
	}
	return both
}

// step carries out an action or a wait and looks at what came of it.
func (a *attempt) step(ctx context.Context, d decision) *end {
	before := a.scene
	if a.circles.propose(before.Hash, d.call) {
		return a.stop(ctx, d, over(Stuck, "repeats", "the same call was made again and again on the same screen"))
	}
	done, e := a.perform(ctx, d)
	if e != nil || !done {
		return e
	}
	if e := a.record(ctx, d, Done, ""); e != nil {
		return e
	}
	a.nextStep()
	var err error
	if a.scene, err = a.driver.Observe(ctx); err != nil {
		return deviceFailed(ctx, err)
	}
	a.history = append(a.history, planner.Past{Step: a.steps, Call: d.call,
		Result: "ok, " + device.Compare(&before, &a.scene).String()})
	if a.circles.observe(before.Hash, a.scene.Hash) {
		return over(Stuck, "no_progress", "the last steps changed nothing on the screen")
	}
	return nil
}

func (a *attempt) nextStep() {
	a.steps++
	a.reasksStep, a.refusal = 0, ""
}

// perform does what d says, once and with leave. It reports false where d was
// turned down instead, which is recorded.
func (a *attempt) perform(ctx context.Context, d decision) (bool, *end) {
	if d.action == nil {
		if e := a.permit(ctx, d, false); e != nil {
			return false, a.stop(ctx, d, e)
		}
		if e := pause(ctx, d.wait); e != nil {
			return false, a.stop(ctx, d, e)
		}
		return true, nil
	}
	if fresh, e := a.bind(ctx, d); e != nil || !fresh {
		return false, e
	}
	looked := a.clock()
	if e := a.permit(ctx, d, true); e != nil {
		return false, a.stop(ctx, d, e)
	}
	if a.clock().Sub(looked) > freshFor {
		if fresh, e := a.bind(ctx, d); e != nil || !fresh {
			return false, e
		}
	}
	return a.act(ctx, d)
}

// bind looks at the screen again and turns d down if it has lost its meaning.
// What was seen is what the next decision is made on.
func (a *attempt) bind(ctx context.Context, d decision) (bool, *end) {
	now, err := a.driver.Observe(ctx)
	if err != nil {
		return false, a.stop(ctx, d, deviceFailed(ctx, err))
	}
	if d.holds(&a.scene, &now) {
		return true, nil
	}
	e := a.turnDown(ctx, d, refuse("stale_scene", "The screen changed while you decided. Look at it as it is now."))
	a.scene = now
	return false, e
}

// permit asks the host's leave for d.
func (a *attempt) permit(ctx context.Context, d decision, mutating bool) *end {
	if e := stopped(ctx); e != nil {
		return e
	}
	err := a.host.Permit(ctx, Permission{Step: a.steps + 1, Tool: d.call.Tool, Mutating: mutating, ActionHash: d.hash()})
	if err != nil {
		return hostSaid(ctx, err, "not_permitted", "the host did not permit the action; its log has the cause")
	}
	return stopped(ctx)
}

// hash names one exact proposal: this call on this scene.
func (d *decision) hash() string {
	h := sha256.New()
	io.WriteString(h, d.call.Tool+"\x00"+string(d.call.Arguments)+"\x00"+d.sceneHash)
	return hex.EncodeToString(h.Sum(nil))
}

// act touches the device. From here on only the driver knows whether anything
// happened.
func (a *attempt) act(ctx context.Context, d decision) (bool, *end) {
	err := a.driver.Do(ctx, d.action)
	switch {
	case err == nil:
		a.acted = true
		return true, nil
	case device.WasDispatched(err) == device.Unknown:
		a.acted = true
		return false, a.conclude(ctx, d, Unclear, unclear(ctx, err))
	case errors.Is(err, device.ErrRefused):
		return false, a.turnDown(ctx, d, refuse(device.ErrRefused.Code, "The device refused it: %s.", device.Clean(deviceFault(err).Detail, maxSummaryRunes)))
	}
	return false, a.conclude(ctx, d, DeviceFailed, deviceFailed(ctx, err))
}

// finish ends the task as the model says, if a claim of success is proven.
func (a *attempt) finish(ctx context.Context, d decision) *end {
	var e *end
	switch {
	case d.call.Tool == planner.Fail:
		e = over(Failed, "gave_up", d.args.Reason)
	case d.args.Status == planner.StatusInfeasible:
		e = over(Infeasible, "", d.args.Summary)
	default:
		now, err := a.driver.Observe(ctx)
		if err != nil {
			return a.stop(ctx, d, deviceFailed(ctx, err))
		}
		was := a.scene
		a.scene = now
		if !proven(d.args.Evidence, &was, &now) {
			return a.unprovenClaim(ctx, d)
		}
		e = over(Succeeded, "", d.args.Summary)
	}
	a.nextStep()
	return a.conclude(ctx, d, Ended, e)
}

// unprovenClaim tells the model once; the second time is the end.
func (a *attempt) unprovenClaim(ctx context.Context, d decision) *end {
	if a.unproven++; a.unproven > 1 {
		a.nextStep()
		return a.conclude(ctx, d, Ended, over(Unverified, "no_evidence", d.args.Summary))
	}
	return a.turnDown(ctx, d, refuse("no_evidence", "Your evidence is not on the screen now. Name an element or a text that is there and shows that the goal is reached, or go on."))
}

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

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) *end {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}
