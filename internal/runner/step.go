package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"interlock/internal/device"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/sleep"
)

// freshFor is how old the last look at the screen may be when the device is
// touched: a slow Permit calls for another look.
const freshFor = 250 * time.Millisecond

// step carries out an action or a wait and looks at what came of it.
func (a *attempt) step(ctx context.Context, d decision) *end {
	if d.class == policy.Irreversible && a.sent(&d) {
		return a.turnDown(ctx, d, refuse("already_sent", "You did this before on this very screen. It can't be taken back, so it is not done twice."))
	}
	before := a.scene
	if a.circles.propose(before.Hash, d.call) {
		return a.stop(ctx, d, over(Stuck, "repeats", "the same call was made again and again on the same screen"))
	}
	done, e := a.perform(ctx, d)
	if e != nil || !done {
		return e
	}
	if e := a.outcome(ctx, d); e != nil {
		return e
	}
	change := device.Compare(&before, &a.scene)
	a.history = append(a.history, planner.Past{Step: a.steps, Call: d.call, Result: "ok, " + change.String(), Changed: !change.Same, Fresh: change.Fresh})
	if a.circles.observe(!change.Same) {
		return over(Stuck, "no_progress", "the last steps changed nothing on the screen")
	}
	return nil
}

// outcome looks at what came of d and records it. A commit is done only once
// its effect was seen; anything else is with the device's word.
func (a *attempt) outcome(ctx context.Context, d decision) *end {
	if d.class.Commits() {
		if e := a.conclusive(ctx, d); e != nil {
			return e
		}
	}
	if e := a.record(ctx, d, Done, ""); e != nil {
		return e
	}
	a.nextStep()
	if d.class.Commits() {
		return nil
	}
	if err := a.observe(ctx); err != nil {
		return deviceFailed(ctx, err)
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
		if sleep.For(ctx, d.wait) != nil {
			return false, a.stop(ctx, d, stopped(ctx))
		}
		return true, nil
	}
	if fresh, e := a.bind(ctx, d); e != nil || !fresh {
		return false, e
	}
	looked := a.clock()
	if e := a.enter(ctx, &d); e != nil {
		return false, a.stop(ctx, d, e)
	}
	if ready, e := a.allowed(ctx, d, looked); e != nil || !ready {
		a.withdraw(&d)
		return false, e
	}
	return a.act(ctx, d)
}

// allowed asks the host's leave for d. Where that comes long after the last
// look at the screen, there is another.
func (a *attempt) allowed(ctx context.Context, d decision, looked time.Time) (bool, *end) {
	if e := a.permit(ctx, d, true); e != nil {
		return false, a.stop(ctx, d, e)
	}
	if a.clock().Sub(looked) > freshFor {
		return a.bind(ctx, d)
	}
	return true, nil
}

// bind looks at the screen again and turns d down if it has lost its meaning.
// What was seen is what the next decision is made on.
func (a *attempt) bind(ctx context.Context, d decision) (bool, *end) {
	now, steady, err := a.steady(ctx, &d)
	if err != nil {
		return false, a.stop(ctx, d, deviceFailed(ctx, err))
	}
	why := refuse("stale_scene", "The screen changed while you decided. Look at it as it is now.")
	switch {
	case !steady:
		why = refuse("unsettled", "The screen does not come to rest, so what you mean may be elsewhere when it is touched. Wait, or do something else.")
	case d.holds(&a.scene, &now):
		a.met = now
		return true, nil
	}
	e := a.turnDown(ctx, d, why)
	a.replace(now)
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
// happened. The scene is spent before that, whatever comes of it.
func (a *attempt) act(ctx context.Context, d decision) (bool, *end) {
	a.used = true
	err := a.driver.Do(ctx, d.action)
	switch {
	case err == nil:
		a.acted = true
		return true, nil
	case device.WasDispatched(err) == device.Unknown:
		a.acted = true
		return false, a.conclude(ctx, d, Unclear, unclear(ctx, err))
	}
	a.withdraw(&d)
	if errors.Is(err, device.ErrRefused) {
		return false, a.turnDown(ctx, d, refuse(device.ErrRefused.Code, "The device refused it: %s.", device.Clean(deviceFault(err).Detail, maxSummaryRunes)))
	}
	return false, a.conclude(ctx, d, DeviceFailed, deviceFailed(ctx, err))
}
