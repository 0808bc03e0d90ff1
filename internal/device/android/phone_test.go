package android_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/android/adbdtest"
)

// R-RUN-2
func TestASceneIsWhatThePhoneShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, adbdtest.Options{})
	w.opts.Screenshots = true
	w.open()
	w.form()
	s := w.see()
	if s.App != adbdtest.Notes || s.Size != (device.Size{W: 1080, H: 2400}) || s.Rotation != 0 || s.KeyboardShown || s.Secure || s.Screenshot == nil {
		t.Errorf("app %q, size %v, turned %d, keyboard %v, secure %v, picture %v", s.App, s.Size, s.Rotation, s.KeyboardShown, s.Secure, s.Screenshot)
	}
	title := w.the(s, "Title")
	if title.ID != "title" || title.Role != "field" || title.Text != "" || !title.Flags.Has(device.Editable) {
		t.Errorf("the empty field shows its hint as if it were its content: %+v", title)
	}
	if info, err := w.phone.Info(t.Context()); err != nil || info.Platform != "android" || info.Model != "Notes One" || info.Version != "14" || info.ID != w.behind.Serial() {
		t.Errorf("the phone is %+v, %v", info, err)
	}
}

// R-RUN-2
func TestEachActionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	w.form()
	if err := w.typeInto("Title", "it's 100%s & \"more\" $HOME; reboot"); err != nil {
		t.Fatal(err)
	}
	if got, want := w.behind.Field("title"), "it's 100%s & \"more\" $HOME; reboot"; got != want {
		t.Errorf("the field holds %q, want %q", got, want)
	}
	s := w.see()
	if !s.KeyboardShown || !w.the(s, "Title").Flags.Has(device.Focused) {
		t.Errorf("keyboard %v, field %+v", s.KeyboardShown, w.the(s, "Title"))
	}
	w.do(device.Press{Key: device.Delete})
	w.do(device.HideKeyboard{})
	if got := w.behind.Shows(); got != adbdtest.Notes+" form" {
		t.Errorf("hiding the keyboard led to %q", got)
	}
	if err := w.phone.Do(t.Context(), device.HideKeyboard{}); device.WasDispatched(err) != device.No {
		t.Errorf("fault 34: hiding no keyboard: %v", err)
	}
	w.do(device.TypeText{Text: "Tea for two", Clear: true, Submit: true})
	if got := w.behind.Notes(); got[0] != "Tea for two" {
		t.Errorf("the notes are %q", got)
	}
	w.tap("New note")
	body := w.the(w.see(), "Body").Bounds.Center()
	w.do(device.TypeText{Into: &body, Text: "one\ntwo"})
	w.see()
	w.do(device.TypeText{Into: &body, Text: "three", Clear: true})
	if got := w.behind.Field("body"); got != "three" {
		t.Errorf("the field that was cleared holds %q", got)
	}
	w.do(device.Press{Key: device.Back})
	w.do(device.Press{Key: device.Back})
	w.do(device.LongPress{At: w.the(w.see(), "Milk").Bounds.Center(), For: time.Second})
	if slices.Contains(w.behind.Notes(), "Milk") {
		t.Error("holding the note did not remove it")
	}
	w.do(device.Swipe{From: device.Point{X: 500, Y: 2000}, To: device.Point{X: 500, Y: 1400}, For: 300 * time.Millisecond})
	if s := w.see(); len(find(s, "Tea for two")) != 0 || len(find(s, "Flour")) == 0 {
		t.Errorf("the list did not scroll: %+v", s.Elements)
	}
	w.do(device.Press{Key: device.Home})
	if got := w.see().App; got != adbdtest.Launcher {
		t.Errorf("home led to %q", got)
	}
	w.do(device.OpenURL{URL: "https://example.org/?a=1&b='2'"})
	if s := w.see(); s.App != adbdtest.Browser || len(find(s, "https://example.org/?a=1&b='2'")) == 0 {
		t.Errorf("the address led to %q with %+v", s.App, s.Elements)
	}
}

func find(s device.Scene, words string) (found []device.Element) {
	for _, e := range s.Elements {
		if e.Text == words || e.Label == words {
			found = append(found, e)
		}
	}
	return found
}

// R-RUN-2
func TestWhatCantBeDoneIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	w.see()
	for name, a := range map[string]device.Action{
		"an app that is not installed":   device.OpenApp{Package: "com.example.none"},
		"a package name with a command":  device.OpenApp{Package: "a.b;reboot"},
		"an address of another kind":     device.OpenURL{URL: "intent://x#Intent;end"},
		"fault 7: Hebrew without helper": device.TypeText{Text: "שלום"},
		"fault 8: emoji without helper":  device.TypeText{Text: "🚀"},
		"a control character":            device.TypeText{Text: "a\x1bb"},
		"a key that Android lacks":       device.Press{Key: "reboot"},
		"a place beside the screen":      device.Tap{At: device.Point{X: -1, Y: 5}},
		"fault 34: no keyboard to hide":  device.HideKeyboard{},
	} {
		before := len(changes(w.behind.Commands()))
		err := w.phone.Do(t.Context(), a)
		if err == nil || device.WasDispatched(err) != device.No {
			t.Errorf("%s: %v", name, err)
		}
		if after := changes(w.behind.Commands()); len(after) != before {
			t.Errorf("%s: the phone was sent %q", name, after[before:])
		}
	}
}

// changes are the commands that may change something.
func changes(commands []string) (out []string) {
	for _, c := range commands {
		for _, verb := range []string{"input ", "am ", "ime enable", "ime set", "ime disable"} {
			if strings.HasPrefix(c, verb) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Fault 33: an app with several icons is started by its first.
func TestAnAppWithSeveralIconsIsOpened(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	w.behind.Answer("cmd package resolve-activity", adbdtest.Reply{Out: "priority=0\nandroid/com.android.internal.app.ResolverActivity\n"})
	w.behind.Answer("cmd package query-activities", adbdtest.Reply{Out: "2 activities found:\n  Activity #0:\n    priority=0\n    " + adbdtest.Notes + "/.First\n  Activity #1:\n    " + adbdtest.Notes + "/.Second\n"})
	w.do(device.OpenApp{Package: adbdtest.Notes})
	if got := changes(w.behind.Commands()); !slices.Contains(got, "am start -n '"+adbdtest.Notes+"/.First'") {
		t.Errorf("the phone was sent %q", got)
	}
}

// R-RUN-2: a glance shows what a look does, but no picture.
func TestAGlanceIsALookWithoutAPicture(t *testing.T) {
	t.Parallel()
	w := newWorld(t, adbdtest.Options{})
	w.opts.Screenshots = true
	w.open()
	for _, change := range []func(){func() {}, w.form, func() { w.tap("Title") }, func() { w.behind.Turn(3) }} {
		change()
		whole := w.see()
		s, err := w.phone.Glance(t.Context())
		if err != nil || s.Hash != whole.Hash || s.Screenshot != nil {
			t.Errorf("hash %s, picture %v, %v; want %s and none", s.Hash, s.Screenshot, err, whole.Hash)
		}
	}
}

// R-RUN-2: what lies under the keyboard can't be aimed at.
func TestNothingIsAimedAtThroughTheKeyboard(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{Width: 720, Height: 1280, Density: 640})
	w.form()
	w.tap("Title")
	s := w.see()
	if !s.KeyboardShown || len(find(s, "Save")) != 0 {
		t.Errorf("keyboard %v, and under it %+v", s.KeyboardShown, find(s, "Save"))
	}
	w.do(device.HideKeyboard{})
	w.the(w.see(), "Save")
}

func TestAClosedPhoneIsNotTouched(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	if err := w.phone.Close(); err != nil {
		t.Fatal(err)
	}
	before := len(w.behind.Commands())
	_, looked := w.phone.Observe(t.Context())
	for _, err := range []error{looked, w.phone.Do(t.Context(), device.Press{Key: device.Home})} {
		if device.WasDispatched(err) != device.No {
			t.Errorf("got %v", err)
		}
	}
	if after := w.behind.Commands(); len(after) != before {
		t.Errorf("the phone was sent %q", after[before:])
	}
}
