package webdriver_test

import (
	"testing"

	"interlock/internal/device"
	"interlock/internal/device/webdriver"
)

// R-RUN-4: a glance sees what a look sees, without a picture, so that what was
// decided on one can be compared with the other.
func TestAGlanceSeesWhatALookSees(t *testing.T) {
	t.Parallel()
	p := openWith(t, webdriver.Options{Screenshots: true}, "form.html")
	seen := p.see()
	glanced, err := p.Glance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if glanced.Hash != seen.Hash || glanced.Screenshot != nil || seen.Screenshot == nil || seen.Tree != "dom" || seen.Unsettled || glanced.Unsettled {
		t.Errorf("seen %+v, glanced %+v", seen, glanced)
	}
}

// R-RUN-4: a page that never rests says so, with what it shows all the same.
func TestAPageThatNeverRestsSaysSo(t *testing.T) {
	t.Parallel()
	p := open(t, "moving.html")
	s := p.see()
	if !s.Unsettled || len(find(s, "Still")) != 1 || len(find(s, "Mover")) != 1 {
		t.Errorf("unsettled %v: %+v", s.Unsettled, s.Elements)
	}
	seen := map[device.Rect]bool{}
	for range 20 { // it comes round to each place
		g, err := p.Glance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[p.the(g, "Mover").Bounds] = true
		if at := p.the(g, "Still").Bounds; at != p.the(s, "Still").Bounds {
			t.Errorf("what stands still is at %v", at)
		}
	}
	if len(seen) < 2 {
		t.Errorf("every glance saw it at %v", seen)
	}
}
