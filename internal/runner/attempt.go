package runner

import (
	"context"
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
)

// attempt is one Run: what has happened so far.
type attempt struct {
	*Runner
	task    Task
	started time.Time
	info    device.Info

	scene     device.Scene // what the next decision is made on
	used      bool         // an action of that scene was sent: no decision is made on it any more
	met       device.Scene // the last look before an action was sent
	commits   []Commit     // of this attempt, as in the ledger
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
	if e := a.resume(ctx); e != nil {
		return e
	}
	if err := a.observe(ctx); err != nil {
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
	class     policy.Class // Reversible for what does not act
	sceneHash string       // of the scene that it was made on
	began     time.Time
}

// decideAndDo makes one decision and does what it says, if it may be done.
func (a *attempt) decideAndDo(ctx context.Context) *end {
	if e := stopped(ctx); e != nil {
		return e
	}
	if a.used {
		if err := a.observe(ctx); err != nil {
			return deviceFailed(ctx, err)
		}
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
	facts := d.facts(a.task.AppLock)
	d.verdict = policy.Evaluate(a.task.Policy, facts)
	if d.class = policy.Reversible; d.action != nil {
		d.class = policy.Classify(a.task.Policy, facts)
	}
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
