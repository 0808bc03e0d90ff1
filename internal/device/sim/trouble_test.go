package sim_test

import (
	"slices"
	"testing"

	"interlock/internal/device"
	"interlock/internal/device/sim"
)

// R-RUN-4: the decoys that a screen can put before a finger, each in its way.
func TestDecoys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble sim.Trouble
		rows    []string // after the title
	}{
		"rows that turned round": {sim.Reorder, []string{"open_settings Settings", "open_contacts Contacts"}},
		"twins":                  {sim.Twin, []string{"open_contacts Contacts", "open_contacts Contacts", "open_settings Settings", "open_settings Settings"}},
		"look-alikes":            {sim.LookAlike, []string{"ad_open_contacts Contacts", "ad_open_settings Settings"}},
	} {
		p := sim.New(sim.Options{})
		p.Inject(sim.Fault{At: sim.AtObserve, Do: c.trouble})
		s, err := p.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, e := range s.Elements[1:] {
			rows = append(rows, e.ID+" "+e.Text)
		}
		if !slices.Equal(rows, c.rows) {
			t.Errorf("%s: got %q", name, rows)
		}
		if err := p.Do(t.Context(), device.Tap{At: s.Elements[1].Bounds.Center()}); err != nil {
			t.Fatal(err)
		}
		if want := c.trouble != sim.Reorder; (p.Tricked() == 1) != want {
			t.Errorf("%s: tricked %d times", name, p.Tricked())
		}
	}
}

// R-RUN-4: a screen that slides in says so, and a glance moves it on as a look
// does.
func TestAScreenSlidesIn(t *testing.T) {
	t.Parallel()
	p := sim.New(sim.Options{Screenshots: true})
	p.Inject(sim.Fault{At: sim.AtObserve, Do: sim.Slide})
	var places []int
	for range 5 {
		s, err := p.Glance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Screenshot != nil {
			t.Error("a glance took a picture")
		}
		if y := s.Elements[1].Bounds.Y0; s.Unsettled != (y > 200) {
			t.Errorf("unsettled %v at %d", s.Unsettled, y)
		}
		places = append(places, s.Elements[1].Bounds.Y0)
	}
	if want := []int{470, 380, 290, 200, 200}; !slices.Equal(places, want) {
		t.Errorf("seen at %v, want %v", places, want)
	}
}

// R-RUN-5: what nobody can tell apart from outside, and what the phone knows.
func TestAnActionThatIsSentMayNotArrive(t *testing.T) {
	t.Parallel()
	for trouble, c := range map[sim.Trouble]struct{ fails, done bool }{
		sim.Swallow: {false, false}, sim.LoseOnTheWay: {true, false}, sim.LoseDuring: {true, true},
	} {
		p := sim.New(sim.Options{})
		p.Inject(sim.Fault{At: sim.AtDo, Do: trouble})
		err := p.Do(t.Context(), device.OpenApp{Package: sim.Settings})
		if (err != nil) != c.fails || err != nil && device.WasDispatched(err) != device.Unknown {
			t.Errorf("%s: %v", trouble, err)
		}
		if got := len(p.Done()) == 1; got != c.done {
			t.Errorf("%s: carried out %v", trouble, got)
		}
	}
}
