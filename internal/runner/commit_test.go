package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/runner"
)

// book is a ledger on a disk of its own: what was kept outlives a Run.
type book struct {
	kept   []runner.Commit
	before func() error // called before it is written
	after  func() error // and after
}

func (b *book) Commits(context.Context) ([]runner.Commit, error) { return slices.Clone(b.kept), nil }

func (b *book) Keep(_ context.Context, all []runner.Commit) error {
	if b.before != nil {
		if err := b.before(); err != nil {
			return err
		}
	}
	b.kept = slices.Clone(all)
	if b.after != nil {
		return b.after()
	}
	return nil
}

// R-RUN-5: what came of an action that can't be taken back is seen, or the
// attempt is over; another action may well come to nothing.
func TestTheEffectOfACommitIsSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  sim.Fault
		moves  []move
		state  runner.State
		reason string
		last   runner.Outcome
		took   time.Duration
	}{
		"nothing came of it":                    {sim.Fault{At: sim.AtDo, Do: sim.Swallow}, []move{on("tap", "Settings")}, runner.Indeterminate, "effect_unseen", runner.Unclear, 2500 * time.Millisecond},
		"the phone was lost before it was seen": {sim.Fault{At: sim.AtObserve, Skip: 2, Do: sim.Lose}, []move{on("tap", "Settings")}, runner.Indeterminate, "device_lost", runner.Unclear, 0},
		"it was seen":                           {sim.Fault{At: sim.AtDo, Skip: 9, Do: sim.Lose}, []move{on("tap", "Settings"), finish("Wi-Fi")}, runner.Succeeded, "", runner.Ended, 0},
		"nothing came of what can be undone":    {sim.Fault{At: sim.AtDo, Skip: 1, Do: sim.Swallow}, []move{open(sim.Settings), on("tap", "Wi-Fi"), finish("Wi-Fi")}, runner.Succeeded, "", runner.Ended, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.phone.Inject(c.fault)
				began := time.Now()
				got := w.play(c.moves...)
				w.ends(got, c.state, c.reason)
				if last := w.host.events[len(w.host.events)-1].Outcome; last != c.last || time.Since(began) != c.took || !got.Acted {
					t.Errorf("last event %s after %v, acted %v", last, time.Since(began), got.Acted)
				}
			})
		})
	}
}

// R-RUN-5: a slow app is given its time, and more while it shows progress.
func TestASlowEffectIsWaitedFor(t *testing.T) {
	t.Parallel()
	at := func(y int) device.Rect { return device.Rect{X0: 100, Y0: y, X1: 300, Y1: y + 100} }
	order := device.Element{Role: "button", Text: "Place it", Bounds: at(100), Flags: device.Clickable}
	progress := device.Element{Role: "progressbar", Bounds: at(400)}
	thanks := device.Element{Role: "text", Text: "Thank you", Bounds: at(100)}
	for name, c := range map[string]struct {
		show  []device.Element
		looks int // that still see it after the touch
		state runner.State
	}{
		"it comes at the last look":           {[]device.Element{order}, 5, runner.Succeeded},
		"it comes too late":                   {[]device.Element{order}, 6, runner.Indeterminate},
		"it loads and comes at the last look": {[]device.Element{order, progress}, 23, runner.Succeeded},
		"it loads for ever":                   {[]device.Element{order, progress}, 24, runner.Indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				phone := &slides{}
				for range 2 + c.looks {
					phone.scenes = append(phone.scenes, c.show)
				}
				phone.scenes = append(phone.scenes, []device.Element{thanks})
				w := newWorld(t)
				w.opts.Driver = phone
				if got := w.play(on("tap", "Place it"), finish("Thank you")); got.State != c.state || len(phone.taps) != 1 {
					t.Errorf("%+v after %d taps", got, len(phone.taps))
				}
			})
		})
	}
}

// R-RUN-5: that a button got the focus is not what it is there for.
func TestTheFocusIsNoEffect(t *testing.T) {
	t.Parallel()
	order := device.Element{Role: "button", Text: "Place it", Bounds: device.Rect{X0: 100, Y0: 100, X1: 300, Y1: 200}, Flags: device.Clickable}
	touched, gray := order, order
	touched.Flags |= device.Focused
	gray.Flags |= device.Focused | device.Disabled
	for name, c := range map[string]struct {
		then  device.Element
		m     move
		state runner.State
	}{
		"a touch that only moved it": {touched, on("tap", "Place it"), runner.Indeterminate},
		"a touch that did more":      {gray, on("tap", "Place it"), runner.Succeeded},
		"a key that only moved it":   {touched, propose("key", `{"key":"enter"}`), runner.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opts.Driver = &slides{scenes: [][]device.Element{{order}, {order}, {c.then}}}
				if got := w.play(c.m, finish("Place it")); got.State != c.state {
					t.Errorf("ended as %+v", got)
				}
			})
		})
	}
}

// R-RUN-5: what the operator or the policy calls irreversible is done once on
// one screen; what nobody has classified may be done again once its effect was
// seen.
func TestWhatCannotBeTakenBackIsDoneOnce(t *testing.T) {
	t.Parallel()
	home := propose("key", `{"key":"home"}`)
	for name, c := range map[string]struct {
		policy policy.Document
		taps   int
	}{
		"irreversible, says the operator": {policy.Document{Irreversible: []string{"tap"}}, 1},
		"unclassified":                    {policy.Document{}, 2},
		"reversible, says the operator":   {policy.Document{Reversible: []string{"tap"}}, 2},
	} {
		w := newWorld(t)
		w.task.Policy = c.policy
		w.ends(w.play(on("tap", "Settings"), home, on("tap", "Settings")), runner.Failed, "gave_up")
		taps := 0
		for _, a := range w.phone.Done() {
			if _, ok := a.(device.Tap); ok {
				taps++
			}
		}
		if refused := w.host.events[2].Detail == "already_sent"; taps != c.taps || refused != (c.taps == 1) {
			t.Errorf("%s: %d taps, refused %v", name, taps, refused)
		}
	}
}

// R-RUN-5: the ledger is written before the host's leave, so that the leave is
// the last thing before the touch, and nothing is sent without it.
func TestTheLedgerIsWrittenBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := &book{}
	w.opts.Ledger = b
	w.ends(w.play(open(sim.Contacts)), runner.Failed, "gave_up")
	if len(b.kept) != 0 {
		t.Errorf("what can be undone is in the ledger: %v", b.kept)
	}
	w = newWorld(t)
	w.opts.Ledger = b
	b.before = func() error {
		if len(w.phone.Done())+len(w.host.permits) != 0 {
			t.Errorf("%d actions and %d permits before the ledger", len(w.phone.Done()), len(w.host.permits))
		}
		return nil
	}
	w.ends(w.play(on("tap", "Contacts")), runner.Failed, "gave_up")
	if c := b.kept; len(c) != 1 || c[0].Hash != w.host.permits[0].ActionHash || c[0].Step != 1 || c[0].Tool != planner.Tap || c[0].At.Location() != time.UTC {
		t.Errorf("kept %+v", c)
	}

	w = newWorld(t)
	w.opts.Ledger = &book{before: func() error { return errors.New("disk full") }}
	w.ends(w.play(on("tap", "Contacts")), runner.Failed, "not_recorded")
	if len(w.phone.Done())+len(w.host.permits) != 0 {
		t.Errorf("done %v, permits %v", w.phone.Done(), w.host.permits)
	}
}

// R-RUN-5: a process that takes up an attempt believes its ledger.
func TestAnAttemptIsTakenUpByItsLedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kept  []runner.Commit
		state runner.State
	}{
		"nothing was sent":           {nil, runner.Succeeded},
		"all that was sent was seen": {[]runner.Commit{{Hash: "h", Step: 1, Tool: "tap", Seen: true}}, runner.Succeeded},
		"the last was not":           {[]runner.Commit{{Hash: "h", Step: 1, Tool: "tap", Seen: true}, {Hash: "i", Step: 2, Tool: "tap"}}, runner.Indeterminate},
	} {
		w := newWorld(t)
		w.opts.Ledger = &book{kept: c.kept}
		if got := w.play(open(sim.Settings), finish("Wi-Fi")); got.State != c.state || got.State == runner.Indeterminate && (!got.Acted || len(w.phone.Done()) != 0) {
			t.Errorf("%s: %+v, done %v", name, got, w.phone.Done())
		}
	}
}

// R-RUN-5: a proposal that was surely not sent is not in the way of another.
func TestWhatWasNotSentIsTakenOutOfTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := &book{}
	w.opts.Ledger, w.task.Policy.Irreversible = b, []string{"open_app"}
	// The device refuses an app that it does not have, before anything is sent.
	w.ends(w.play(open("com.example.none"), open(sim.Settings), finish("Wi-Fi")), runner.Succeeded, "")
	if len(b.kept) != 1 || b.kept[0].Hash != w.host.permits[1].ActionHash {
		t.Errorf("kept %+v", b.kept)
	}
}
