package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/planner"
	"interlock/internal/runner"
)

// saving is a model that adds the contact Ada, from whatever screen it sees.
func saving(in planner.Input) (planner.Proposal, error) {
	s := in.Scene
	shows := func(text string) bool {
		return slices.ContainsFunc(s.Elements, func(e device.Element) bool { return e.Text == text || e.Label == text })
	}
	switch {
	case shows("Incoming call"):
		return on("tap", "Decline")(in)
	case shows("Contact saved"):
		return finish("Contact saved")(in)
	case shows("Ada") && shows("Save"):
		return on("tap", "Save")(in)
	case shows("Save"):
		return on("type_text", "Name", "text", "Ada")(in)
	case s.App != sim.Contacts:
		return open(sim.Contacts)(in)
	case shows("Ada"):
		return finish("Ada")(in)
	}
	return on("tap", "New contact")(in)
}

// troubled is one way in which something goes wrong with saving a contact: on
// the way to the phone, at the phone, or at the host.
type troubled struct {
	fault  *sim.Fault
	before int // at which write of the ledger the host dies before it, from 1
	after  int // and after it
	permit int // at which permission the lease turns out to be lost
	record int // at which event the host fails
}

// anyTrouble draws one.
func anyTrouble(r *rand.Rand) (t troubled) {
	atDo := []sim.Trouble{sim.Lose, sim.LoseOnTheWay, sim.LoseDuring, sim.Swallow, sim.Hang}
	atLook := []sim.Trouble{sim.Lose, sim.Hang, sim.Call, sim.Banner, sim.Slide, sim.Reorder, sim.Unauthorized}
	switch r.IntN(6) {
	case 0, 1:
		t.fault = &sim.Fault{At: sim.AtDo, Skip: r.IntN(5), Do: atDo[r.IntN(len(atDo))]}
	case 2:
		t.fault = &sim.Fault{At: sim.AtObserve, Skip: r.IntN(12), Do: atLook[r.IntN(len(atLook))]}
	case 3:
		t.before = 1 + r.IntN(3)
	case 4:
		t.after = 1 + r.IntN(3)
	default:
		t.permit, t.record = 1+r.IntN(6), 1+r.IntN(6)
	}
	return t
}

var errDied = errors.New("the host died")

// nth returns a function that fails with err at the nth call.
func nth(n int, err error) func() error {
	calls := 0
	return func() error {
		if calls++; calls == n {
			return err
		}
		return nil
	}
}

// R-RUN-5: wherever something breaks around an action that can't be taken
// back, it is sent at most once in the attempt, also by a process that takes
// the attempt up again, and where nobody knows what came of it the attempt ends
// as indeterminate. A failing seed is named.
func TestACommitIsSentAtMostOnce(t *testing.T) {
	t.Parallel()
	ends := map[runner.State]int{}
	for seed := range uint64(200) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { ends[saveInTrouble(t, anyTrouble(rand.New(rand.NewPCG(seed, 4))))]++ })
		})
	}
	for _, s := range []runner.State{runner.Succeeded, runner.Indeterminate, runner.DeviceLost, runner.LeaseLost, runner.Failed} {
		if ends[s] == 0 {
			t.Errorf("no seed ended as %s: %v", s, ends)
		}
	}
}

// saveInTrouble lets an attempt run into the trouble, and a second process take
// the same attempt up on the healed phone.
func saveInTrouble(t *testing.T, c troubled) runner.State {
	w, b := newWorld(t), &book{}
	w.task.Budgets.WallTime = time.Minute // ends what hangs
	w.opts.Ledger = b
	if c.fault != nil {
		w.phone.Inject(*c.fault)
	}
	b.before, b.after = nth(c.before, errDied), nth(c.after, errDied)
	permit, record := nth(c.permit, runner.ErrLeaseLost), nth(c.record, errDied)
	w.host.permit = func(runner.Permission) error { return permit() }
	w.host.record = func(runner.StepEvent) error { return record() }
	first := w.playFunc(saving)
	saves := sentSaves(w)
	unknown := len(w.host.events) > 0 && w.host.events[len(w.host.events)-1].Outcome == runner.Unclear
	if unknown && first.State != runner.Indeterminate {
		t.Errorf("%+v: nobody knows what came of the last action, and the end is %s", c, first.State)
	}

	w.phone.Reconnect()
	b.before, b.after, w.host.permit, w.host.record = nil, nil, nil, nil
	open := slices.ContainsFunc(b.kept, func(c runner.Commit) bool { return !c.Seen })
	done := len(w.phone.Done())
	second := w.playFunc(saving)
	if open && (second.State != runner.Indeterminate || len(w.phone.Done()) != done) {
		t.Errorf("%+v: taken up with an open commit: %s after %v", c, second.State, w.phone.Done()[done:])
	}
	if n := count(w.phone.Names(), "Ada"); n > 1 || sentSaves(w) > 1 || saves > 1 {
		t.Errorf("%+v: %d contacts, %d saves, then %d; ended as %s, then %s", c, n, saves, sentSaves(w), first.State, second.State)
	}
	return first.State
}

func count(list []string, s string) (n int) {
	for _, l := range list {
		if l == s {
			n++
		}
	}
	return n
}

// sentSaves is how many touches of the corner with "Save" the phone has
// carried out after a name was typed.
func sentSaves(w *world) (n int) {
	typed := false
	for _, a := range w.phone.Done() {
		switch a := a.(type) {
		case device.TypeText:
			typed = true
		case device.Tap:
			if typed && a.At.X > 700 && a.At.Y < 400 {
				n++
			}
		}
	}
	return n
}

// R-RUN-4: whatever comes up between a decision and its touch, what is touched
// is what was meant, or nothing.
func TestNoDecoyIsTouched(t *testing.T) {
	t.Parallel()
	decoys := []sim.Trouble{sim.Twin, sim.LookAlike, sim.Reorder, sim.Banner, sim.Call, sim.Slide}
	moves := map[string]move{
		"tap":        on("tap", "Contacts"),
		"long press": on("long_press", "Contacts"),
		"swipe":      on("swipe", "Contacts", "direction", "up"),
		"point":      propose("tap", `{"x":540,"y":290}`),
	}
	for _, decoy := range decoys {
		for name, m := range moves {
			for _, when := range []int{1, 2} { // at the look that binds, and at the next
				t.Run(fmt.Sprintf("%s and %s at look %d", name, decoy, when), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: when, Do: decoy})
						w.host.permit = slowly(t, 300*time.Millisecond) // so that there is a second look before the touch
						w.play(m)
						// What slides in comes to rest where it was meant to be touched.
						touched, why := len(w.phone.Done()), w.host.events[0].Detail
						if n := w.phone.Tricked(); n != 0 || touched != 0 && decoy != sim.Slide || (why == "stale_scene") != (touched == 0) {
							t.Errorf("tricked %d times, done %v, turned down for %q", n, w.phone.Done(), why)
						}
					})
				})
			}
		}
	}
}

// slowly gives leave after d.
func slowly(t *testing.T, d time.Duration) func(runner.Permission) error {
	return func(runner.Permission) error {
		<-time.After(d)
		return context.Cause(t.Context())
	}
}

// R-RUN-4: what slides in is touched where it comes to rest, if that is where
// it was when the decision was made.
func TestATargetIsTouchedOnceItStandsStill(t *testing.T) {
	t.Parallel()
	at := func(y int) device.Rect { return device.Rect{X0: 100, Y0: y, X1: 300, Y1: y + 100} }
	button := func(y int) []device.Element {
		return []device.Element{{Role: "button", Text: "Go", Bounds: at(y), Flags: device.Clickable}}
	}
	long := [][]device.Element{button(100)}
	for i := range 40 {
		long = append(long, button(110+i))
	}
	for name, c := range map[string]struct {
		scenes [][]device.Element
		detail string // of the first event
		taps   int
	}{
		"it swings and comes back":   {[][]device.Element{button(100), button(140), button(120), button(100), button(100)}, "", 1},
		"it comes to rest elsewhere": {[][]device.Element{button(100), button(140), button(160), button(160)}, "stale_scene", 0},
		"it never rests":             {long, "unsettled", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				phone := &restless{slides{scenes: c.scenes}}
				w.opts.Driver, w.task.Policy.Reversible = phone, []string{"tap"}
				w.play(on("tap", "Go"))
				if first := w.host.events[0]; first.Detail != c.detail || len(phone.taps) != c.taps {
					t.Errorf("%s(%s), taps %v", first.Outcome, first.Detail, phone.taps)
				}
			})
		})
	}
}

// restless is a phone whose screen is never known to be at rest.
type restless struct{ slides }

func (r *restless) Observe(ctx context.Context) (device.Scene, error) {
	s, err := r.slides.Observe(ctx)
	s.Unsettled = true
	return s, err
}

// tired is a restless phone that stops answering after so many looks, for as
// long as whoever asks has patience.
type tired struct {
	restless
	looks int
}

func (d *tired) Observe(ctx context.Context) (device.Scene, error) {
	if d.looks--; d.looks == -1 {
		<-ctx.Done()
		return device.Scene{}, device.Fail(device.ErrFailed.Because(ctx.Err()), device.No)
	}
	return d.restless.Observe(ctx)
}

// R-RUN-4: looks on the side have a time of their own: one that takes too long
// is neither a device that failed nor the end of the task.
func TestASlowLookOnTheSideCostsOnlyItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		button := []device.Element{{Role: "button", Text: "Go", Bounds: spot, Flags: device.Clickable}}
		phone := &tired{restless{slides{scenes: [][]device.Element{button}}}, 2} // the look that decides, the one that binds
		w.opts.Driver = phone
		began := time.Now()
		w.ends(w.play(on("tap", "Go")), runner.Failed, "gave_up")
		if first := w.host.events[0]; first.Detail != "unsettled" || time.Since(began) != 15*time.Second || len(phone.taps) != 0 {
			t.Errorf("%+v after %v, taps %v", first, time.Since(began), phone.taps)
		}
	})
}

// R-RUN-4: a scene is spent once its action is on its way, also where the
// device refused it: the next decision is made on another look.
func TestASceneIsSpentWithItsAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: 2, Do: sim.Banner}) // after the first and the one that binds
	w.ends(w.play(open("com.example.none")), runner.Failed, "gave_up")
	if first := w.host.events[0]; first.Detail != device.ErrRefused.Code || w.seen[1].Scene.Hash == w.seen[0].Scene.Hash {
		t.Errorf("%+v, and the next decision is made on the spent scene: %v", first, w.seen[1].Scene.Hash == w.seen[0].Scene.Hash)
	}
}

// R-RUN-4: an element that lies under another is touched beside that, or not
// at all.
func TestACoveredElementIsTouchedWhereItIsFree(t *testing.T) {
	t.Parallel()
	button := device.Element{Role: "button", Text: "Go", Bounds: device.Rect{X0: 100, Y0: 100, X1: 300, Y1: 200}, Flags: device.Clickable}
	over := func(r device.Rect, f device.Flags) device.Element {
		return device.Element{Role: "image", Bounds: r, Flags: f}
	}
	half, all := device.Rect{X0: 150, Y0: 90, X1: 400, Y1: 210}, device.Rect{X0: 90, Y0: 90, X1: 400, Y1: 210}
	part := device.Rect{X0: 180, Y0: 140, X1: 220, Y1: 160}
	for name, c := range map[string]struct {
		elements []device.Element
		covered  bool
	}{
		"nothing lies over it":                   {[]device.Element{button}, false},
		"a button over its middle":               {[]device.Element{button, over(half, device.Clickable)}, false},
		"a button that is disabled":              {[]device.Element{button, over(half, device.Clickable|device.Disabled)}, false},
		"a sheet over all of it":                 {[]device.Element{button, over(all, device.Scrollable)}, true},
		"a picture that reacts to nothing":       {[]device.Element{button, over(all, 0)}, false},
		"a part of it that reacts":               {[]device.Element{button, over(part, device.Clickable)}, false},
		"a part that is as large":                {[]device.Element{button, over(button.Bounds, device.Clickable)}, true},
		"a list below it, before it in the tree": {[]device.Element{over(all, device.Scrollable), button}, false},
	} {
		phone := &slides{scenes: [][]device.Element{c.elements}}
		w := newWorld(t)
		w.opts.Driver, w.task.Policy.Reversible = phone, []string{"tap"}
		w.play(on("tap", "Go"))
		if refused := w.host.events[0].Detail == "covered"; refused != c.covered || (len(phone.taps) == 1) == c.covered {
			t.Errorf("%s: refused %v, taps %v", name, refused, phone.taps)
		}
		for _, p := range phone.taps {
			for _, e := range c.elements[1:] {
				if e.Flags != 0 && e.Text == "" && e.Bounds.Contains(p) {
					t.Errorf("%s: %v is not the button's", name, p)
				}
			}
			if !button.Bounds.Contains(p) {
				t.Errorf("%s: tapped %v", name, p)
			}
		}
	}
}

// R-RUN-3: what pays, buys or deletes an account waits for a person, whatever
// the app calls it by.
func TestWhatPaysIsNotTouched(t *testing.T) {
	t.Parallel()
	box := device.Rect{X0: 100, Y0: 100, X1: 700, Y1: 300}
	pay := device.Element{Role: "button", Text: "Pay $12", Bounds: box, Flags: device.Clickable}
	card := device.Element{Role: "layout", Bounds: box, Flags: device.Clickable}
	label := device.Element{Role: "text", Text: "Buy now", Bounds: device.Rect{X0: 200, Y0: 150, X1: 600, Y1: 250}}
	icon := device.Element{Role: "button", ID: "btn_pay_now", Bounds: box, Flags: device.Clickable}
	amount := device.Element{Role: "field", Label: "Transfer to", Bounds: box, Flags: device.Editable | device.Focused}
	save := device.Element{Role: "button", Text: "Save", Bounds: box, Flags: device.Clickable}
	for name, c := range map[string]struct {
		elements []device.Element
		m        move
		denied   bool
	}{
		"a button that says so":           {[]device.Element{pay}, propose("tap", `{"ref":"e1"}`), true},
		"a point on it":                   {[]device.Element{pay}, propose("tap", `{"x":650,"y":280}`), true},
		"a card whose text says so":       {[]device.Element{card, label}, propose("tap", `{"ref":"e1"}`), true},
		"a point on the card":             {[]device.Element{card, label}, propose("tap", `{"x":110,"y":110}`), true},
		"a slider":                        {[]device.Element{pay}, propose("swipe", `{"ref":"e1","direction":"right"}`), true},
		"a picture whose id says so":      {[]device.Element{icon}, propose("long_press", `{"ref":"e1"}`), true},
		"enter in a field that says so":   {[]device.Element{amount}, propose("key", `{"key":"enter"}`), true},
		"typing into that field":          {[]device.Element{amount}, propose("type_text", `{"text":"Bob","submit":true}`), true},
		"an address that says so":         {[]device.Element{save}, propose("open_url", `{"url":"https://shop.example/checkout"}`), true},
		"a button that says nothing such": {[]device.Element{save}, propose("tap", `{"ref":"e1"}`), false},
	} {
		phone := &slides{scenes: [][]device.Element{c.elements}}
		w := newWorld(t)
		w.opts.Driver, w.task.Policy.Reversible = phone, []string{"tap"}
		w.play(c.m)
		first := w.host.events[0]
		if denied := first.Detail == "policy_denied" && first.Verdict.Rule == "confirm_words"; denied != c.denied || (len(w.host.permits) == 0) != c.denied {
			t.Errorf("%s: %+v, permits %v", name, first, w.host.permits)
		}
	}
}

// canvas is a phone whose app draws without describing anything: all that
// changes is the shade of its picture.
type canvas struct {
	shades []uint8 // of the looks, the last for good
	react  bool    // a touch changes the shade
	taps   int
}

func (*canvas) Info(context.Context) (device.Info, error) { return device.Info{ID: "canvas"}, nil }

func (c *canvas) Observe(context.Context) (device.Scene, error) {
	shade := c.shades[0]
	if len(c.shades) > 1 {
		c.shades = c.shades[1:]
	}
	g := image.NewGray(image.Rect(0, 0, 10, 20))
	for i := range g.Pix {
		g.Pix[i] = shade
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, g); err != nil {
		return device.Scene{}, err
	}
	size := device.Size{W: 10, H: 20}
	shot, err := device.NewScreenshot(buf.Bytes(), size, 0)
	if err != nil {
		return device.Scene{}, err
	}
	return device.Seal(device.Scene{App: "a.game", Size: size, Opaque: true, Screenshot: shot,
		Elements: []device.Element{{Role: "note", Label: "drawn", Bounds: device.Rect{X1: 10, Y1: 20}}}}), nil
}

func (c *canvas) Glance(ctx context.Context) (device.Scene, error) {
	s, err := c.Observe(ctx)
	s.Screenshot = nil
	return s, err
}

func (c *canvas) Do(context.Context, device.Action) error {
	c.taps++
	if c.react {
		c.shades = []uint8{200}
	}
	return nil
}

func (*canvas) Close() error { return nil }

// R-RUN-4, R-RUN-5: where an app describes nothing of what it draws, its
// picture tells whether the screen is still the one that was decided on, and
// whether anything came of a touch.
func TestAScreenThatIsOnlyDrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phone  canvas
		taps   int
		state  runner.State
		detail string // of the first event
	}{
		"the picture changes with the touch": {canvas{shades: []uint8{0}, react: true}, 1, runner.Succeeded, ""},
		"nothing comes of it":                {canvas{shades: []uint8{0}}, 1, runner.Indeterminate, "effect_unseen"},
		"it changed before the touch":        {canvas{shades: []uint8{0, 90}}, 0, runner.Succeeded, "stale_scene"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opts.Driver = &c.phone
				got := w.play(propose("tap", `{"x":5,"y":5}`), finish("drawn"))
				if got.State != c.state || c.phone.taps != c.taps || w.host.events[0].Detail != c.detail {
					t.Errorf("%+v after %d taps, first %+v", got, c.phone.taps, w.host.events[0])
				}
			})
		})
	}
}
