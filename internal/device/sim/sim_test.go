package sim_test

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/device"
	"interlock/internal/device/sim"
)

// hand is somebody who uses the phone.
type hand struct {
	*testing.T
	phone *sim.Phone
}

func pickUp(t *testing.T, o sim.Options) hand { return hand{t, sim.New(o)} }

func (h hand) look() device.Scene {
	h.Helper()
	s, err := h.phone.Observe(h.Context())
	if err != nil {
		h.Fatalf("observe: %v", err)
	}
	return s
}

// find returns the element that shows or is labelled text.
func (h hand) find(text string) device.Element {
	h.Helper()
	s := h.look()
	i := slices.IndexFunc(s.Elements, func(e device.Element) bool { return e.Text == text || e.Label == text })
	if i < 0 {
		h.Fatalf("no %q among %+v", text, s.Elements)
	}
	return s.Elements[i]
}

func (h hand) shows(text string) bool {
	return slices.ContainsFunc(h.look().Elements, func(e device.Element) bool { return e.Text == text || e.Label == text })
}

func (h hand) do(actions ...device.Action) {
	h.Helper()
	for _, a := range actions {
		if err := h.phone.Do(h.Context(), a); err != nil {
			h.Fatalf("%v: %v", a, err)
		}
	}
}

func (h hand) tap(text string) {
	h.Helper()
	h.do(device.Tap{At: h.find(text).Bounds.Center()})
}

func (h hand) enter(field, text string) {
	h.Helper()
	at := h.find(field).Bounds.Center()
	h.do(device.TypeText{Into: &at, Text: text})
}

var up = device.Swipe{From: device.Point{X: 500, Y: 1800}, To: device.Point{X: 500, Y: 600}}

func TestTheDemoTaskCanBeDone(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{})
	h.do(device.OpenApp{Package: sim.Contacts})
	h.tap("New contact")
	h.enter("Name", "Ada Lovelace 🚀")
	h.tap("Save")
	h.tap("OK")
	h.do(device.OpenApp{Package: sim.Settings})
	if h.shows("Dark theme") {
		t.Error("the switch is visible without scrolling")
	}
	h.do(up)
	h.tap("Dark theme")
	if !h.phone.DarkTheme() || h.phone.Names()[0] != "Ada Lovelace 🚀" {
		t.Errorf("dark %v, names %v", h.phone.DarkTheme(), h.phone.Names())
	}
	if e := h.find("Dark theme"); !e.Flags.Has(device.Checked) {
		t.Errorf("the switch says %v", e.Flags.Names())
	}
}

func TestListsScrollBothWaysAndStopAtTheirEnds(t *testing.T) {
	t.Parallel()
	down := device.Swipe{From: up.To, To: up.From}
	h := pickUp(t, sim.Options{})
	h.do(device.OpenApp{Package: sim.Contacts})
	top := h.look().Hash
	if h.do(down); h.look().Hash != top {
		t.Error("scrolled above the first row")
	}
	h.do(up, up, up, up, up)
	bottom := h.look().Hash
	if h.do(up); h.look().Hash != bottom || !h.shows("Valerie Thomas") {
		t.Error("scrolled below the last row")
	}
	if h.do(down, down, down); h.look().Hash != top {
		t.Error("not back at the top")
	}
}

func TestAnAddressOpensTheBrowser(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{})
	h.do(device.OpenURL{URL: "https://example.com/"})
	if s := h.look(); s.App != sim.Browser || !h.shows("https://example.com/") {
		t.Errorf("shows %+v", s)
	}
}

func TestAContactNeedsAName(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{})
	before := len(h.phone.Names())
	h.do(device.OpenApp{Package: sim.Contacts})
	h.tap("New contact")
	h.enter("Name", "  ")
	h.tap("Save")
	if !h.shows("Name is missing") || len(h.phone.Names()) != before {
		t.Errorf("names %v", h.phone.Names())
	}
}

func TestTextIsWrittenAndDeletedByCharacter(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{})
	h.do(device.OpenApp{Package: sim.Contacts})
	h.tap("New contact")
	h.enter("Name", "Zoë 👨‍👩‍👧")
	if e := h.find("Name"); e.Text != "Zoë 👨‍👩‍👧" || !e.Flags.Has(device.Focused) || !h.look().KeyboardShown {
		t.Errorf("got %+v", e)
	}
	h.do(device.Press{Key: device.Delete}, device.Press{Key: device.Delete}, device.Press{Key: device.Delete})
	if e := h.find("Name"); e.Text != "Zo" {
		t.Errorf("left %q", e.Text)
	}
	h.do(device.TypeText{Text: "Bo", Clear: true, Submit: true})
	if !h.shows("Contact saved") || !slices.Contains(h.phone.Names(), "Bo") {
		t.Errorf("names %v", h.phone.Names())
	}
}

func TestTheKeyboardGoesAwayBeforeTheScreenDoes(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{})
	h.do(device.OpenApp{Package: sim.Contacts})
	h.tap("New contact")
	h.tap("Name")
	h.do(device.Press{Key: device.Back})
	if s := h.look(); s.KeyboardShown || !h.shows("Name") {
		t.Error("back did not just put the keyboard away")
	}
	if err := h.phone.Do(t.Context(), device.HideKeyboard{}); !errors.Is(err, device.ErrRefused) || device.WasDispatched(err) != device.No {
		t.Errorf("hiding no keyboard: %v", err)
	}
	h.tap("Phone")
	h.do(device.HideKeyboard{}, device.Press{Key: device.Back}, device.Press{Key: device.Back})
	if s := h.look(); s.App != sim.Home {
		t.Errorf("back from the first screen is in %s", s.App)
	}
}

// R-RUN-6
func TestTheSecureScreenShowsNoPictureAndNoPIN(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{Screenshots: true})
	h.do(device.OpenApp{Package: sim.Settings}, up)
	h.tap("Screen lock")
	h.enter("PIN", "canary")
	s := h.look()
	if !s.Secure || s.Screenshot != nil {
		t.Errorf("secure %v, screenshot %v", s.Secure, s.Screenshot)
	}
	for _, e := range s.Elements {
		if strings.Contains(e.Text+e.Label, "canary") {
			t.Errorf("shows %+v", e)
		}
	}
	h.tap("Save")
	if !h.shows("The PIN has 6 characters.") {
		t.Errorf("got %+v", h.look().Elements)
	}
}

func TestRotationTurnsTheScreenAndItsPicture(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{Screenshots: true})
	h.do(device.OpenApp{Package: sim.Settings})
	before := h.look()
	h.tap("Landscape")
	after := h.look()
	if after.Rotation != 90 || after.Size != (device.Size{W: before.Size.H, H: before.Size.W}) {
		t.Errorf("got %d, %v", after.Rotation, after.Size)
	}
	cfg, err := png.DecodeConfig(bytes.NewReader(after.Screenshot.Bytes()))
	if err != nil || cfg.Width <= cfg.Height {
		t.Errorf("picture %dx%d, %v", cfg.Width, cfg.Height, err)
	}
}

func TestContactsAreDeletedOnlyWhenConfirmed(t *testing.T) {
	t.Parallel()
	h := pickUp(t, sim.Options{})
	h.do(device.OpenApp{Package: sim.Contacts}, device.LongPress{At: h.center(sim.Contacts, "Annie Easley"), For: time.Second})
	h.tap("Cancel")
	if !slices.Contains(h.phone.Names(), "Annie Easley") {
		t.Error("deleted in spite of Cancel")
	}
	h.tap("Annie Easley")
	h.tap("Delete")
	h.tap("Delete")
	if slices.Contains(h.phone.Names(), "Annie Easley") || !h.shows("New contact") {
		t.Errorf("names %v", h.phone.Names())
	}
}

func (h hand) center(app, text string) device.Point {
	h.Helper()
	h.do(device.OpenApp{Package: app})
	return h.find(text).Bounds.Center()
}

func TestRefusalsChangeNothing(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]device.Action{
		"an app that is not there":   device.OpenApp{Package: "com.example.none"},
		"a point off the screen":     device.Tap{At: device.Point{X: 5000, Y: 5}},
		"a swipe off the screen":     device.Swipe{From: device.Point{X: -1, Y: 5}},
		"text without a field":       device.TypeText{Text: "x"},
		"text into what is no field": device.TypeText{Into: &device.Point{X: 500, Y: 300}, Text: "x"},
		"an unknown key":             device.Press{Key: "volume"},
	} {
		h := pickUp(t, sim.Options{})
		before := h.look().Hash
		err := h.phone.Do(t.Context(), a)
		if !errors.Is(err, device.ErrRefused) || device.WasDispatched(err) != device.No || h.look().Hash != before || len(h.phone.Done()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTroubles(t *testing.T) {
	t.Parallel()
	home := device.Press{Key: device.Home}
	t.Run("lost before an action: nothing was sent, and it stays lost", func(t *testing.T) {
		h := pickUp(t, sim.Options{})
		h.phone.Inject(sim.Fault{At: sim.AtDo, Skip: 1, Do: sim.Lose})
		h.do(home)
		err := h.phone.Do(t.Context(), home)
		if !errors.Is(err, device.ErrLost) || device.WasDispatched(err) != device.No || len(h.phone.Done()) != 1 {
			t.Errorf("got %v, done %v", err, h.phone.Done())
		}
		if _, err := h.phone.Observe(t.Context()); !errors.Is(err, device.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("lost during an action: it happened, and nobody heard", func(t *testing.T) {
		h := pickUp(t, sim.Options{})
		h.phone.Inject(sim.Fault{At: sim.AtDo, Do: sim.LoseDuring})
		err := h.phone.Do(t.Context(), device.OpenApp{Package: sim.Settings})
		if !errors.Is(err, device.ErrLost) || device.WasDispatched(err) != device.Unknown || len(h.phone.Done()) != 1 {
			t.Errorf("got %v, done %v", err, h.phone.Done())
		}
		if err := h.phone.Do(t.Context(), home); device.WasDispatched(err) != device.No {
			t.Errorf("the next action: %v", err)
		}
	})
	t.Run("a hang ends with the context, unknown for an action only", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := pickUp(t, sim.Options{})
			h.phone.Inject(sim.Fault{At: sim.AtDo, Do: sim.Hang})
			h.phone.Inject(sim.Fault{At: sim.AtObserve, Do: sim.Hang})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			err := h.phone.Do(ctx, home)
			if device.WasDispatched(err) != device.Unknown || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
			ended, stop := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, stop)
			if _, err := h.phone.Observe(ended); device.WasDispatched(err) != device.No {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("latency counts, and a context that ends first wins", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := pickUp(t, sim.Options{Latency: 300 * time.Millisecond})
			began := time.Now()
			h.look()
			if d := time.Since(began); d != 300*time.Millisecond {
				t.Errorf("took %v", d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := h.phone.Do(ctx, home); device.WasDispatched(err) != device.No || len(h.phone.Done()) != 0 {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("a call comes up over everything and can be declined", func(t *testing.T) {
		h := pickUp(t, sim.Options{})
		h.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: 1, Do: sim.Call})
		before := h.look().Hash
		if !h.shows("Incoming call") || h.look().Hash == before {
			t.Error("no call")
		}
		h.tap("Decline")
		if h.look().Hash != before {
			t.Error("not back where it was")
		}
	})
	t.Run("a banner moves everything down", func(t *testing.T) {
		h := pickUp(t, sim.Options{})
		h.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: 1, Do: sim.Banner})
		if a, b := h.find("Contacts").Bounds, h.find("Contacts").Bounds; b.Y0 <= a.Y0 {
			t.Errorf("from %v to %v", a, b)
		}
	})
	t.Run("an unauthorized phone may be allowed later", func(t *testing.T) {
		h := pickUp(t, sim.Options{})
		h.phone.Inject(sim.Fault{At: sim.AtObserve, Do: sim.Unauthorized})
		if _, err := h.phone.Observe(t.Context()); !errors.Is(err, device.ErrUnauthorized) {
			t.Errorf("got %v", err)
		}
		h.look()
	})
	t.Run("closed is lost", func(t *testing.T) {
		h := pickUp(t, sim.Options{})
		if err := errors.Join(h.phone.Close(), h.phone.Close()); err != nil {
			t.Error(err)
		}
		if _, err := h.phone.Info(t.Context()); !errors.Is(err, device.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// Whatever is done to it, the phone goes on, and two phones do the same.
func TestTheSameActionsLeadToTheSameScreens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := sim.New(sim.Options{}), sim.New(sim.Options{})
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			act := action(r)
			errA, errB := a.Do(context.Background(), act), b.Do(context.Background(), act)
			if (errA == nil) != (errB == nil) || (errA != nil && !errors.Is(errA, device.ErrRefused)) {
				r.Fatalf("%v: %v and %v", act, errA, errB)
			}
			x, errX := a.Observe(context.Background())
			y, errY := b.Observe(context.Background())
			if errX != nil || errY != nil || x.Hash != y.Hash || len(x.Elements) == 0 {
				r.Fatalf("%v: %s and %s, %v, %v", act, x.Hash, y.Hash, errX, errY)
			}
		}
	})
}

func action(r *rapid.T) device.Action {
	point := func(name string) device.Point {
		return device.Point{X: rapid.IntRange(0, 1080).Draw(r, name+"x"), Y: rapid.IntRange(0, 2340).Draw(r, name+"y")}
	}
	into := point("into")
	return rapid.SampledFrom([]device.Action{
		device.Tap{At: point("tap")}, device.Tap{At: point("tap2")}, device.LongPress{At: point("press")},
		device.Swipe{From: point("from"), To: point("to")}, device.TypeText{Text: "é🚀"}, device.TypeText{Into: &into, Text: "x", Submit: true},
		device.Press{Key: device.Back}, device.Press{Key: device.Enter}, device.Press{Key: device.Delete}, device.Press{Key: device.Home},
		device.HideKeyboard{}, device.OpenApp{Package: sim.Settings}, device.OpenApp{Package: sim.Contacts}, device.OpenURL{URL: "https://example.com/"},
	}).Draw(r, "action")
}
