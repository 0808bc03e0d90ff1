package android_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"interlock/internal/device"
	"interlock/internal/device/android"
	"interlock/internal/device/android/adbdtest"
)

func TestMain(m *testing.M) {
	if missing := adbdtest.Missing(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// world is a phone that a driver has claimed through a real adb server.
type world struct {
	*testing.T
	adb    *adbdtest.Server
	behind *adbdtest.Phone
	phone  *android.Phone
	opts   android.Options
}

func newWorld(t *testing.T, o adbdtest.Options) *world {
	t.Helper()
	w := &world{T: t, adb: adbdtest.StartServer(t), behind: adbdtest.New(t, o)}
	w.adb.Connect(t, w.behind)
	w.opts = android.Options{Serial: w.behind.Serial(), Server: w.adb.Address, StateDir: t.TempDir()}
	return w
}

// claimed opens the phone as well.
func claimed(t *testing.T, o adbdtest.Options) *world {
	t.Helper()
	w := newWorld(t, o)
	w.open()
	return w
}

func (w *world) open() {
	w.Helper()
	p, err := android.Open(w.Context(), w.opts)
	if err != nil {
		w.Fatal(err)
	}
	w.phone = p
	w.Cleanup(func() {
		if err := p.Close(); err != nil {
			w.Error(err)
		}
	})
}

func (w *world) see() device.Scene {
	w.Helper()
	s, err := w.phone.Observe(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) do(a device.Action) {
	w.Helper()
	if err := w.phone.Do(w.Context(), a); err != nil {
		w.Fatalf("%v: %v", a, err)
	}
}

// the returns the one element of s with that text or label that can be acted
// on.
func (w *world) the(s device.Scene, words string) device.Element {
	w.Helper()
	var found []device.Element
	for _, e := range s.Elements {
		if (e.Text == words || e.Label == words) && e.Actionable() {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		w.Fatalf("%d elements %q can be acted on in %+v", len(found), words, s.Elements)
	}
	return found[0]
}

func (w *world) tap(words string) {
	w.Helper()
	w.do(device.Tap{At: w.the(w.see(), words).Bounds.Center()})
}

func (w *world) typeInto(words, text string) error {
	at := w.the(w.see(), words).Bounds.Center()
	return w.phone.Do(w.Context(), device.TypeText{Into: &at, Text: text})
}

// form opens the form for a note.
func (w *world) form() {
	w.Helper()
	w.do(device.OpenApp{Package: adbdtest.Notes})
	w.tap("New note")
}
