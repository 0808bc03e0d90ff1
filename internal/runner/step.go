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
	"interlock/internal/sleep"
)

// freshFor is how old the last look at the screen may be when the device is
// touched: a slow Permit calls for another look.
const freshFor = 250 * time.Millisecond

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
	change := device.Compare(&before, &a.scene)
	a.history = append(a.history, planner.Past{Step: a.steps, Call: d.call, Result: "ok, " + change.String(), Changed: !change.Same, Fresh: change.Fresh})
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
		if sleep.For(ctx, d.wait) != nil {
			return false, a.stop(ctx, d, stopped(ctx))
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
