package android_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/device"
	"interlock/internal/device/android"
	"interlock/internal/device/android/adbdtest"
)

const (
	ownMethod    = "com.example.keys/.Keys"
	helperMethod = "com.android.adbkeyboard/.AdbIME"
)

// R-RUN-2, faults 7, 8 and 10
func TestTextOfAnyScriptIsTypedByAHelper(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("שלום 👩‍👩‍👧 é ", 150)
	for name, o := range map[string]adbdtest.Options{
		"by an input method": {Method: true},
		"by the clipboard":   {Pasting: true},
		"by both":            {Method: true, Pasting: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := claimed(t, o)
			w.form()
			for _, text := range []string{"Ada 🚀 שלום", "'; reboot; '", long} {
				at := w.the(w.see(), "Title").Bounds.Center()
				w.do(device.TypeText{Into: &at, Text: text, Clear: true})
				if got := w.behind.Field("title"); got != text {
					t.Errorf("the field holds %q, want %q", got, text)
				}
			}
			if w.behind.Method() != ownMethod || w.behind.Enabled(helperMethod) || w.behind.Clipboard() != "" {
				t.Errorf("left behind: method %q, the helper enabled %v, clipboard %q", w.behind.Method(), w.behind.Enabled(helperMethod), w.behind.Clipboard())
			}
			if left, err := os.ReadDir(w.opts.StateDir); err != nil || len(left) != 0 {
				t.Errorf("in the state folder are %v, %v", left, err)
			}
		})
	}
}

// R-RUN-2: the input method is put back also where the program that changed it
// is gone: the phone is lost in the middle of the text, and the next to open it
// finds the note.
func TestTheInputMethodIsPutBackAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, adbdtest.Options{Method: true})
	w.opts = android.Hurried(w.opts, time.Second)
	w.open()
	w.form()
	w.behind.Answer("am broadcast", adbdtest.Reply{After: true, Die: true})
	err := w.typeInto("Title", "שלום")
	if !errors.Is(err, device.ErrLost) || device.WasDispatched(err) != device.Unknown {
		t.Errorf("the text that was cut off: %v", err)
	}
	if got := w.behind.Method(); got != helperMethod {
		t.Fatalf("the phone has %q while it can't be reached", got)
	}
	w.behind.Return()
	w.open()
	if w.behind.Method() != ownMethod || w.behind.Enabled(helperMethod) {
		t.Errorf("the phone has %q, the helper enabled: %v", w.behind.Method(), w.behind.Enabled(helperMethod))
	}
}

func TestADamagedNoteChangesNothing(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"not JSON":                "{",
		"of another phone":        `{"serial":"other","method":"a.b/.C","enabled":false}`,
		"a method with a command": `{"serial":"SERIAL","method":"a.b/.C'; reboot","enabled":false}`,
		"more than there is":      `{"serial":"SERIAL","method":"a.b/.C","enabled":false,"run":"reboot"}`,
	} {
		w := claimed(t, adbdtest.Options{Method: true})
		w.form()
		w.behind.Answer("am broadcast", adbdtest.Reply{After: true, Die: true})
		if err := w.typeInto("Title", "שלום"); err == nil {
			t.Fatal("the text that was cut off is said to be typed")
		}
		notes, err := filepath.Glob(filepath.Join(w.opts.StateDir, "*.json"))
		if err != nil || len(notes) != 1 {
			t.Fatalf("the notes are %v, %v", notes, err)
		}
		if err := os.WriteFile(notes[0], []byte(strings.ReplaceAll(content, "SERIAL", w.behind.Serial())), 0o600); err != nil {
			t.Fatal(err)
		}
		w.behind.Return()
		before := len(changes(w.behind.Commands()))
		w.open()
		if after := changes(w.behind.Commands()); slices.ContainsFunc(after[before:], func(c string) bool { return strings.HasPrefix(c, "ime") }) {
			t.Errorf("%s: the phone was sent %q", name, after[before:])
		}
	}
}

func TestWithoutAStateFolderNoInputMethodIsChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, adbdtest.Options{Method: true})
	w.opts.StateDir = ""
	w.open()
	w.form()
	if err := w.typeInto("Title", "שלום"); device.WasDispatched(err) != device.No || !errors.Is(err, device.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// Fault 9: what Android's own command makes of the parts is the text.
func TestEveryASCIITextSurvivesAndroidsOwnCommand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("%s %%sab'\"$`\\;&\n\tz"))).Draw(t, "text")
		var typed strings.Builder
		for _, part := range android.ASCIIParts(text) {
			if part == "" || len(part) > 200 || (len(part) > 1 && strings.ContainsAny(part, "\n\t")) {
				t.Fatalf("the part %q", part)
			}
			typed.WriteString(strings.ReplaceAll(strings.ReplaceAll(part, " ", "%s"), "%s", " "))
		}
		if typed.String() != text {
			t.Fatalf("%q becomes %q", text, typed.String())
		}
	})
}
