package runner_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"interlock/internal/clocktest"
	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/runner"
)

// R-RUN-4: whatever happens to the screen while the model thinks, nothing is
// touched that it did not mean.
func TestADecisionHoldsOnlyForWhatItWasMadeOn(t *testing.T) {
	t.Parallel()
	const call, banner = sim.Call, sim.Banner
	for name, c := range map[string]struct {
		change sim.Trouble
		m      move
		stale  bool
	}{
		"a dialog came up over a button":           {call, on("tap", "Contacts"), true},
		"a button moved down":                      {banner, on("tap", "Contacts"), true},
		"a dialog came up under a point":           {call, propose("tap", `{"x":500,"y":300}`), true},
		"a point, and something moved":             {banner, propose("tap", `{"x":500,"y":2000}`), true},
		"a dialog came up over a pressed button":   {call, on("long_press", "Contacts"), true},
		"opening an app means the same everywhere": {call, open(sim.Settings), false},
		"so does the home key":                     {banner, propose("key", `{"key":"home"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: 1, Do: c.change})
			got := w.play(c.m)
			w.ends(got, runner.Failed, "gave_up")
			first := w.host.events[0]
			if c.stale != (first.Detail == "stale_scene") || c.stale == got.Acted {
				t.Errorf("event %+v, acted %v", first, got.Acted)
			}
			if c.stale && (len(w.host.permits) != 0 || w.seen[1].Scene.Hash == w.seen[0].Scene.Hash || w.seen[1].Refusal == "") {
				t.Errorf("permits %v, the next decision is made on the old screen: %v", w.host.permits, w.seen[1].Scene.Hash == w.seen[0].Scene.Hash)
			}
		})
	}
}

var spot = device.Rect{X0: 100, Y0: 100, X1: 300, Y1: 200}

// R-RUN-4: an element that is still there, the same at the same place, is
// found again on a screen that changed elsewhere; one with something new above
// it is not.
func TestAnElementIsFoundAgain(t *testing.T) {
	t.Parallel()
	button := device.Element{Role: "button", Text: "Go", Bounds: spot, Flags: device.Clickable}
	other := func(text string, at device.Rect, f device.Flags) device.Element {
		return device.Element{Role: "text", Text: text, Bounds: at, Flags: f}
	}
	away := device.Rect{Y0: 900, X1: 500, Y1: 1000}
	for name, c := range map[string]struct {
		was, now []device.Element
		stale    bool
	}{
		"a counter elsewhere":            {[]device.Element{other("1", away, 0), button}, []device.Element{other("2", away, 0), button}, false},
		"a new line before it":           {[]device.Element{button}, []device.Element{other("new", away, 0), button}, false},
		"a picture under it":             {[]device.Element{button}, []device.Element{other("1", spot, 0), button}, false},
		"a button over it":               {[]device.Element{button}, []device.Element{button, other("Pay", spot, device.Clickable)}, true},
		"a sheet over everything":        {[]device.Element{button}, []device.Element{button, other("", device.Rect{X1: 1000, Y1: 2000}, device.Clickable)}, true},
		"it says something else":         {[]device.Element{button}, []device.Element{other("Stop", spot, device.Clickable)}, true},
		"it is disabled":                 {[]device.Element{button}, []device.Element{{Role: "button", Text: "Go", Bounds: spot, Flags: device.Clickable | device.Disabled}}, true},
		"it is gone, its ref is another": {[]device.Element{button}, []device.Element{other("1", away, device.Clickable)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			phone := &slides{scenes: [][]device.Element{c.was, c.now}}
			w := newWorld(t)
			w.opts.Driver = phone
			w.task.Policy.Reversible = []string{"tap"} // nothing comes of it here
			w.play(on("tap", "Go"))
			if got := w.host.events[0].Detail == "stale_scene"; got != c.stale || c.stale == (len(phone.taps) == 1) {
				t.Errorf("stale %v, taps %v", got, phone.taps)
			}
			for _, p := range phone.taps {
				if !spot.Contains(p) {
					t.Errorf("tapped %v", p)
				}
			}
		})
	}
}

// slides is a phone that shows one scene after another, the last for good.
type slides struct {
	scenes [][]device.Element
	taps   []device.Point
}

func (s *slides) show() device.Scene {
	elements := slices.Clone(s.scenes[0])
	if len(s.scenes) > 1 {
		s.scenes = s.scenes[1:]
	}
	return device.Seal(device.Scene{App: "a.b", Size: device.Size{W: 1000, H: 2000}, Elements: elements})
}

func (*slides) Info(context.Context) (device.Info, error) { return device.Info{ID: "slides"}, nil }

func (s *slides) Observe(context.Context) (device.Scene, error) { return s.show(), nil }

func (s *slides) Do(_ context.Context, a device.Action) error {
	if tap, ok := a.(device.Tap); ok {
		s.taps = append(s.taps, tap.At)
	}
	return nil
}

func (*slides) Close() error { return nil }

// R-RUN-4, R-HOST-3: a slow permission calls for another look before the touch.
func TestTheScreenIsLookedAtAgainAfterASlowPermission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes time.Duration
		looks int // at which the dialog comes up
		stale bool
	}{
		"quick: the look before it counts":       {10 * time.Millisecond, 2, false},
		"slow: the dialog is seen":               {5 * time.Second, 2, true},
		"slow, and the screen is still the same": {5 * time.Second, 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := newWorld(t), clocktest.New()
			w.opts.Clock = clock.Now
			w.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: c.looks, Do: sim.Call})
			w.host.permit = func(runner.Permission) error { clock.Advance(c.takes); return nil }
			w.ends(w.play(on("tap", "Settings")), runner.Failed, "gave_up")
			if got := w.host.events[0].Detail == "stale_scene"; got != c.stale || len(w.phone.Done()) == 1 == c.stale {
				t.Errorf("stale %v, done %v", got, w.phone.Done())
			}
		})
	}
}
