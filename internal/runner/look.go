package runner

import (
	"context"
	"slices"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// How long a target is watched until it stays where it is. The looks have a
// time of their own, so that a slow one counts neither as a device that failed
// nor as a target that is gone.
const (
	steadyPause        = 100 * time.Millisecond
	steadyLooks        = 8
	steadyLooksWaiting = 32 // while the screen says that more is to come
	sideTime           = 15 * time.Second
)

// observe takes the look that the next decision is made on.
func (a *attempt) observe(ctx context.Context) error {
	s, err := a.driver.Observe(ctx)
	if err != nil {
		return err
	}
	a.scene, a.used = s, false
	return nil
}

// replace makes a cheap look what the next decision is made on. Where that
// lacks the picture that the last one had, another is taken first.
func (a *attempt) replace(now device.Scene) {
	a.used = a.scene.Screenshot != nil && now.Screenshot == nil
	if n := len(a.history); n > 0 && now.Hash != a.scene.Hash {
		a.history[n-1].Fresh = nil // refs of a screen that is gone
	}
	a.scene = now
}

// steady looks until what d is aimed at has shown twice in a row at one place:
// once more where the driver says that the screen is at rest and was when it
// was decided, since that was the first time. It reports false where that does not come about
// in sideTime and as many looks as there may be.
func (a *attempt) steady(ctx context.Context, d *decision) (now device.Scene, ok bool, err error) {
	look := device.Glance
	if a.scene.Opaque { // only a picture tells whether it changed
		look = func(ctx context.Context, d device.Driver) (device.Scene, error) { return d.Observe(ctx) }
	}
	if now, err = look(ctx, a.driver); err != nil || d.free || !now.Unsettled && !a.scene.Unsettled {
		return now, true, err
	}
	side, stop := context.WithTimeout(ctx, sideTime)
	defer stop()
	for n := 1; n < looksFor(&now, steadyLooks, steadyLooksWaiting); n++ {
		next, err := a.another(side, look)
		switch {
		case err != nil && side.Err() != nil && ctx.Err() == nil:
			return now, false, nil
		case err != nil:
			return now, false, err
		case d.rests(&now, &next):
			return next, true, nil
		}
		now = next
	}
	return now, false, nil
}

func (a *attempt) another(ctx context.Context, look func(context.Context, device.Driver) (device.Scene, error)) (device.Scene, error) {
	if err := sleep.For(ctx, steadyPause); err != nil {
		return device.Scene{}, err
	}
	return look(ctx, a.driver)
}

// rests reports whether what op is aimed at is at the same place on both: its
// target, or all there is.
func (op *operation) rests(before, now *device.Scene) bool {
	if op.target == nil {
		return before.Shows(now)
	}
	return slices.Equal(places(before, op.target), places(now, op.target))
}

// places lists where s shows something that goes by all of e's names; what a
// field holds is none of them.
func places(s *device.Scene, e *device.Element) (at []device.Rect) {
	for _, o := range s.Elements {
		if o.ID == e.ID && o.Role == e.Role && o.Label == e.Label && (o.Text == e.Text || e.Flags.Has(device.Editable)) {
			at = append(at, o.Bounds)
		}
	}
	return at
}
