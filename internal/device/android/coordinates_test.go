package android_test

import (
	"fmt"
	"testing"

	"interlock/internal/device"
	"interlock/internal/device/android/adbdtest"
)

// R-RUN-4, faults 15, 16, 17 and 18: on every screen a tap lands in the element
// that it is aimed at, by its ref and by the picture.
func TestATapLandsInsideItsElementOnEveryScreen(t *testing.T) {
	t.Parallel()
	screens := []adbdtest.Options{
		{Width: 540, Height: 1200},
		{Width: 1080, Height: 2400},
		{Width: 360, Height: 640}, // smaller than the picture may be
		{Width: 720, Height: 1560, Override: [2]int{540, 1170}},
		{Width: 884, Height: 1104}, // a foldable, nearly square
	}
	for _, screen := range screens {
		for _, density := range []int{120, 200, 320} {
			for turned := range 4 {
				o := screen
				o.Density, o.Turned = density, turned
				t.Run(fmt.Sprintf("%dx%d of %v at %d dpi turned by %d", o.Width, o.Height, o.Override, density, turned), func(t *testing.T) {
					t.Parallel()
					tapEverything(t, o)
				})
			}
		}
	}
}

func tapEverything(t *testing.T, o adbdtest.Options) {
	w := newWorld(t, o)
	w.opts.Screenshots, w.opts.ImageEdge = true, 768
	w.open()
	w.do(device.OpenApp{Package: adbdtest.Notes})
	s := w.see()
	want := device.Size{W: o.Width, H: o.Height}
	if o.Override[0] != 0 {
		want = device.Size{W: o.Override[0], H: o.Override[1]}
	}
	if o.Turned%2 == 1 {
		want.W, want.H = want.H, want.W
	}
	if s.Size != want || s.Rotation != o.Turned*90 || s.Screenshot == nil || s.Screenshot.Transform.Device != s.Size {
		t.Fatalf("turned %d, size %v, picture %v; want the size %v", s.Rotation, s.Size, s.Screenshot, want)
	}
	tried := 0
	for _, e := range s.Elements {
		if !e.Flags.Has(device.Clickable) || e.ID == "new" {
			continue
		}
		center := e.Bounds.Center()
		for how, at := range map[string]device.Point{"by its ref": center, "by the picture": byPicture(t, s, center)} {
			w.do(device.Tap{At: at})
			if got := w.behind.Touched(); got != e.Text {
				t.Errorf("%q tapped %s at %v: %q was touched", e.Text, how, at, got)
			}
			tried++
		}
		if tried == 4 {
			break
		}
	}
	if tried == 0 {
		t.Errorf("nothing could be tapped in %+v", s.Elements)
	}
}

// byPicture is where a tap goes that is aimed at the pixel of the picture that
// shows p.
func byPicture(t *testing.T, s device.Scene, p device.Point) device.Point {
	t.Helper()
	tr := s.Screenshot.Transform
	at, ok := tr.ToDevice(device.Point{X: p.X * tr.Image.W / tr.Device.W, Y: p.Y * tr.Image.H / tr.Device.H})
	if !ok {
		t.Fatalf("%v is not in the picture %v", p, tr)
	}
	return at
}
