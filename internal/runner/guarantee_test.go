package runner_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/runner"
)

// The acts and the ways that the table is about.
var (
	acts = []string{"tap by ref", "tap by x and y", "type", "key", "swipe"}
	ways = []string{"adb", "webdriver", "sim"}
)

// guarantees are what every path is asked for.
var guarantees = []string{
	"uniqueness", // what is touched is the one that was meant, however many look like it
	"occlusion",  // nothing that lies over it takes the touch
	"visibility", // it is on the screen
	"staleness",  // it is where and what it was when the decision was made
	"evidence",   // what came of it is seen, or the attempt says that nobody knows
	"error code", // what fails says what it was and whether the phone may have acted
}

// A cell is what one path gives of one guarantee: enforced (by the runner,
// before or after any driver, proved on the simulated phone), delegated (to the
// driver, proved by its own tests) or waived; the last two say why.
type cell struct {
	enforced  func(t *testing.T)
	delegated string
	waived    string
}

func (c cell) kinds() (n int) {
	for _, given := range []bool{c.enforced != nil, c.delegated != "", c.waived != ""} {
		if given {
			n++
		}
	}
	return n
}

// Reasons that several cells share.
const (
	noTarget     = "it is aimed at no element: the app, the focus and the position of the screen are what it is bound to"
	placeNotName = "a point names a place and no thing; nothing on the whole screen may have changed instead"
	undone       = "it can be taken back, and the next prompt tells what it changed"
	driversWord  = "only the driver knows whether anything was sent; the runner believes its word, which is proved on the simulated phone"
)

// table has every cell. A row is an act and a guarantee, and holds for all
// ways where it is one cell.
var table = map[string]map[string]map[string]cell{
	"tap by ref": {
		"uniqueness": all(enforced(twinsAreToldApart)),
		"occlusion":  all(enforced(turnedDown(on("tap", "Contacts"), sim.Call, "stale_scene"))),
		"visibility": all(enforced(refused(propose("tap", `{"ref":"e99"}`), "unknown_ref"))),
		"staleness":  all(enforced(turnedDown(on("tap", "Contacts"), sim.Banner, "stale_scene"))),
		"evidence":   all(enforced(nothingCame(on("tap", "Contacts")))),
		"error code": errorCode(on("tap", "Contacts")),
	},
	"tap by x and y": {
		"uniqueness": all(cell{waived: placeNotName}),
		"occlusion":  all(enforced(turnedDown(spotOnContacts, sim.Call, "stale_scene"))),
		"visibility": all(enforced(refused(propose("tap", `{"x":1080,"y":10}`), "out_of_bounds"))),
		"staleness":  all(enforced(turnedDown(spotOnContacts, sim.Banner, "stale_scene"))),
		"evidence":   all(enforced(nothingCame(spotOnContacts))),
		"error code": errorCode(spotOnContacts),
	},
	"type": {
		"uniqueness": all(enforced(theFieldIsTheOne)),
		"occlusion":  all(enforced(turnedDown(on("type_text", "Name", "text", "Ada"), sim.Call, "stale_scene", toForm...))),
		"visibility": all(enforced(refused(propose("type_text", `{"ref":"e1","text":"Ada"}`), "no_field"))),
		"staleness":  all(enforced(turnedDown(on("type_text", "Name", "text", "Ada"), sim.Banner, "stale_scene", toForm...))),
		"evidence":   all(cell{waived: undone}),
		"error code": errorCode(on("type_text", "Name", "text", "Ada"), toForm...),
	},
	"key": {
		"uniqueness": all(cell{waived: noTarget}),
		"occlusion":  all(enforced(turnedDown(propose("key", `{"key":"back"}`), sim.Call, "stale_scene"))),
		"visibility": all(cell{waived: noTarget}),
		"staleness":  all(enforced(turnedDown(propose("key", `{"key":"enter"}`), sim.Call, "stale_scene", inName...))),
		"evidence":   all(enforced(nothingCame(propose("key", `{"key":"enter"}`), inName...))),
		"error code": errorCode(propose("key", `{"key":"back"}`)),
	},
	"swipe": {
		"uniqueness": all(enforced(turnedDown(on("swipe", "Contacts", "direction", "up"), sim.Twin, "stale_scene"))),
		"occlusion":  all(enforced(turnedDown(propose("swipe", `{"direction":"up"}`), sim.Call, "stale_scene", open(sim.Settings)))),
		"visibility": all(enforced(refused(propose("swipe", `{"ref":"e99","direction":"up"}`), "unknown_ref"))),
		"staleness":  all(enforced(turnedDown(on("swipe", "Contacts", "direction", "left"), sim.Banner, "stale_scene"))),
		"evidence":   all(cell{waived: undone}),
		"error code": errorCode(propose("swipe", `{"direction":"up"}`)),
	},
}

func enforced(by func(t *testing.T)) cell { return cell{enforced: by} }

// all is one cell for every way: what is enforced in the runner is enforced
// before the driver is known.
func all(c cell) map[string]cell {
	row := map[string]cell{}
	for _, w := range ways {
		row[w] = c
	}
	return row
}

// errorCode is the row in which the drivers differ.
func errorCode(m move, before ...move) map[string]cell {
	return map[string]cell{"adb": {delegated: driversWord}, "webdriver": {delegated: driversWord}, "sim": enforced(wordIsBelieved(m, before...))}
}

// R-RUN-4, R-RUN-5: no guarantee holds on one path and is forgotten on another.
func TestEveryPathHasEveryGuarantee(t *testing.T) {
	t.Parallel()
	for _, act := range acts {
		for _, guarantee := range guarantees {
			for _, way := range ways {
				c := table[act][guarantee][way]
				if c.kinds() != 1 {
					t.Errorf("%s over %s: %s is neither enforced nor delegated nor waived, or several of these", act, way, guarantee)
				}
			}
			if by := table[act][guarantee]["sim"].enforced; by != nil {
				t.Run(act+": "+guarantee, func(t *testing.T) { synctest.Test(t, by) })
			}
		}
	}
	for act, rows := range table {
		for guarantee, row := range rows {
			for way := range row {
				if !slices.Contains(acts, act) || !slices.Contains(guarantees, guarantee) || !slices.Contains(ways, way) {
					t.Errorf("the table has %s over %s: %s, which nobody asks for", act, way, guarantee)
				}
			}
		}
	}
}

var (
	spotOnContacts = propose("tap", `{"x":540,"y":290}`)
	toForm         = []move{open(sim.Contacts), on("tap", "New contact")}
	inName         = append(slices.Clone(toForm), on("type_text", "Name", "text", " "))
)

// turnedDown proves that m is not carried out when the trouble comes up between
// its decision and its touch.
func turnedDown(m move, trouble sim.Trouble, code string, before ...move) func(*testing.T) {
	return func(t *testing.T) {
		w := newWorld(t)
		w.phone.Inject(sim.Fault{At: sim.AtObserve, Skip: 1 + 2*len(before), Do: trouble})
		w.play(append(slices.Clone(before), m)...)
		e := w.host.events[len(before)]
		if e.Outcome != runner.TurnedDown || e.Detail != code || len(w.phone.Done()) != len(before) || w.phone.Tricked() != 0 {
			t.Errorf("%s(%s), done %v", e.Outcome, e.Detail, w.phone.Done())
		}
	}
}

// refused proves that m can't be aimed.
func refused(m move, code string) func(*testing.T) {
	return func(t *testing.T) {
		w := newWorld(t)
		w.play(m)
		if e := w.host.events[0]; e.Outcome != runner.TurnedDown || e.Detail != code || len(w.phone.Done()) != 0 {
			t.Errorf("%s(%s), done %v", e.Outcome, e.Detail, w.phone.Done())
		}
	}
}

// nothingCame proves that the attempt ends as indeterminate where the phone
// takes m and nothing is seen to come of it.
func nothingCame(m move, before ...move) func(*testing.T) {
	return func(t *testing.T) {
		w := newWorld(t)
		w.phone.Inject(sim.Fault{At: sim.AtDo, Skip: len(before), Do: sim.Swallow})
		w.ends(w.play(append(slices.Clone(before), m)...), runner.Indeterminate, "effect_unseen")
	}
}

// wordIsBelieved proves that an attempt ends by what the driver says of m: not
// sent, and so lost, or perhaps sent, and so indeterminate.
func wordIsBelieved(m move, before ...move) func(*testing.T) {
	return func(t *testing.T) {
		for trouble, want := range map[sim.Trouble]runner.State{
			sim.Lose: runner.DeviceLost, sim.LoseOnTheWay: runner.Indeterminate, sim.LoseDuring: runner.Indeterminate,
		} {
			w := newWorld(t)
			w.phone.Inject(sim.Fault{At: sim.AtDo, Skip: len(before), Do: trouble})
			w.ends(w.play(append(slices.Clone(before), m)...), want, device.ErrLost.Code)
		}
	}
}

// twinsAreToldApart proves that of two rows of one name the ref's own is
// touched.
func twinsAreToldApart(t *testing.T) {
	for nth, want := range map[int]struct {
		app     string
		tricked int
	}{1: {sim.Home, 1}, 2: {sim.Contacts, 0}} {
		w := newWorld(t)
		w.phone.Inject(sim.Fault{At: sim.AtObserve, Do: sim.Twin})
		w.play(propose("tap", fmt.Sprintf(`{"ref":"e%d"}`, nth+1)))
		s, err := w.phone.Observe(t.Context())
		if err != nil || s.App != want.app || w.phone.Tricked() != want.tricked {
			t.Errorf("twin %d: in %s, tricked %d times, %v", nth, s.App, w.phone.Tricked(), err)
		}
	}
}

// theFieldIsTheOne proves that a text goes into the field of its ref.
func theFieldIsTheOne(t *testing.T) {
	w := newWorld(t)
	w.play(append(slices.Clone(toForm), on("type_text", "Phone", "text", "555 0199"))...)
	s := w.seen[len(w.seen)-1].Scene
	for label, want := range map[string]string{"Name": "", "Phone": "555 0199"} {
		if e, _ := s.Element(refOf(s, label)); e.Text != want {
			t.Errorf("%s holds %q", label, e.Text)
		}
	}
}
