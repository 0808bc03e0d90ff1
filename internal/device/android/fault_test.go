package android_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/android"
	"interlock/internal/device/android/adbdtest"
	"interlock/internal/fault"
)

// seeing is a phone whose driver takes pictures.
func seeing(t *testing.T, o adbdtest.Options) *world {
	t.Helper()
	w := newWorld(t, o)
	w.opts.Screenshots = true
	w.open()
	return w
}

const restless = "ERROR: could not get idle state.\n"

// The numbers count the faults that drivers of phones are publicly known for.
// R-RUN-2, R-RUN-6
func TestFaultsOfObserving(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		phone adbdtest.Options
		given func(w *world)
		want  func(w *world, s device.Scene)
	}{
		{"fault 1: a screen that never rests is described in brief", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump /dev/tty", adbdtest.Reply{Out: restless})
		}, func(w *world, s device.Scene) {
			w.the(s, "Notes")
			if s.Tree != "uiautomator-brief" || !s.Unsettled {
				w.Errorf("tree %q, unsettled %v", s.Tree, s.Unsettled)
			}
			w.see()
			if got := w.behind.Commands(); strings.Count(strings.Join(got, "\n"), "uiautomator dump /dev/tty") != 1 {
				w.Errorf("it was asked for whole again: %q", got)
			}
		}},
		{"fault 2: a screen that is never described costs its ten seconds once", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Out: restless}, adbdtest.Reply{Out: restless})
		}, func(w *world, s device.Scene) {
			again := w.see()
			if n := strings.Count(strings.Join(w.behind.Commands(), "\n"), "uiautomator"); n != 2 {
				w.Errorf("uiautomator was run %d times, want 2", n)
			}
			if again.Hash != s.Hash || again.Screenshot == nil || again.Tree != "picture" || !again.Opaque {
				w.Errorf("the second look is %+v", again)
			}
			w.do(device.OpenApp{Package: adbdtest.Notes}) // another window is asked again
			w.the(w.see(), "New note")
		}},
		{"fault 3: a failure on standard output with exit code 0 is no empty screen", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Out: "ERROR: null root node returned by UiTestAutomationBridge.\n"})
		}, func(w *world, s device.Scene) { w.the(s, "Notes") }},
		{"fault 4: a screen without any description is shown as a picture that says so", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Out: restless}, adbdtest.Reply{Out: restless})
		}, func(w *world, s device.Scene) {
			if s.Screenshot == nil || len(s.Elements) != 1 || s.Elements[0].Role != "note" || s.Elements[0].Actionable() || s.App != adbdtest.Launcher {
				w.Errorf("app %q, picture %v, elements %+v", s.App, s.Screenshot, s.Elements)
			}
		}},
		{"fault 18: a picture of the screen before it turned is not shown", adbdtest.Options{}, func(w *world) {
			w.behind.Turn(1)
			w.behind.Answer("screencap", adbdtest.Reply{Out: picture(1080, 2400)})
		}, func(w *world, s device.Scene) {
			if s.Rotation != 90 || s.Size != (device.Size{W: 2400, H: 1080}) || s.Screenshot == nil || s.Screenshot.Transform.Device != s.Size {
				w.Errorf("turned %d, size %v, picture %v", s.Rotation, s.Size, s.Screenshot)
			}
		}},
		{"fault 19: two displays, a warning before the picture", adbdtest.Options{Displays: 2}, func(*world) {}, func(w *world, s device.Scene) {
			if s.Screenshot == nil {
				w.Error("no picture")
			}
			w.see()
			if got := strings.Join(w.behind.Commands(), "\n"); strings.Count(got, "screencap -p -d 4619827259835644672") != 2 || strings.Count(got, "--display-id") != 1 {
				w.Errorf("the phone was asked %q", got)
			}
		}},
		{"fault 19: a warning before the picture that names no display", adbdtest.Options{}, func(w *world) {
			for range 4 { // as often as it looks
				w.behind.Answer("screencap", adbdtest.Reply{Out: "WARNING: linker: something\n", After: true})
			}
		}, func(w *world, s device.Scene) {
			if s.Screenshot == nil {
				w.Error("no picture")
			}
		}},
		{"fault 20: a capture that fails is no picture, and none is made up", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("screencap", adbdtest.Reply{Err: "capture failed", Exit: 1})
		}, func(w *world, s device.Scene) {
			if s.Screenshot != nil {
				w.Error("there is a picture")
			}
			w.the(s, "Notes")
		}},
		{"fault 20: a picture that is cut is none", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("screencap", adbdtest.Reply{Edit: func(b []byte) []byte { return b[:len(b)/2] }})
		}, func(w *world, s device.Scene) {
			if s.Screenshot != nil {
				w.Error("there is a picture")
			}
		}},
		{"fault 21: a secure screen has no picture and is still described", adbdtest.Options{}, func(w *world) {
			w.do(device.OpenApp{Package: adbdtest.Settings})
			w.tap("Screen lock")
		}, func(w *world, s device.Scene) {
			if pin := w.the(s, "PIN"); !s.Secure || s.Screenshot != nil || !pin.Flags.Has(device.Password) {
				w.Errorf("secure %v, picture %v, field %+v", s.Secure, s.Screenshot, pin)
			}
		}},
		{"fault 21: a black picture is not shown where the phone does not say whether it is secure", adbdtest.Options{}, func(w *world) {
			w.do(device.OpenApp{Package: adbdtest.Settings})
			w.tap("Screen lock")
			w.behind.Answer("dumpsys window", adbdtest.Reply{Hang: true})
		}, func(w *world, s device.Scene) {
			if s.Screenshot != nil {
				w.Error("there is a picture")
			}
		}},
		{"fault 24: an empty tree in a transition is read again", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Out: `<hierarchy rotation="0"></hierarchy>`})
		}, func(w *world, s device.Scene) { w.the(s, "Notes") }},
		{"fault 28: a tree of another app than the one in front is read again", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Out: `<hierarchy rotation="0"><node text="Old" package="com.old" clickable="true" bounds="[0,0][500,500]" /></hierarchy>`})
		}, func(w *world, s device.Scene) {
			if s.App != adbdtest.Launcher || len(find(s, "Old")) != 0 {
				w.Errorf("app %q with %+v", s.App, s.Elements)
			}
		}},
		{"fault 29: an empty web page is read once more", adbdtest.Options{}, func(w *world) {
			w.do(device.OpenURL{URL: "https://example.org/"})
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Out: `<hierarchy rotation="0"><node class="android.webkit.WebView" text="https://example.org/" package="com.example.browser" bounds="[0,0][1080,2400]" /></hierarchy>`})
		}, func(w *world, s device.Scene) {
			if len(find(s, "https://example.org/")) == 0 {
				w.Errorf("elements %+v", s.Elements)
			}
		}},
		{"fault 30: emoji as halves of surrogate pairs", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Edit: func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte("Notes"), []byte("Notes &#55357;&#56832; \xed\xa0\xbd\xed\xb8\x80 &#55357; &#0; &oops; \x0b"))
			}})
		}, func(w *world, s device.Scene) { w.the(s, "Notes 😀 😀 \ufffd \ufffd &oops;") }},
		{"fault 36: a report that takes too long costs no more than its own time", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("dumpsys window", adbdtest.Reply{Hang: true})
			w.behind.Answer("dumpsys input_method", adbdtest.Reply{Hang: true})
		}, func(w *world, s device.Scene) {
			w.the(s, "Notes")
			if s.App != adbdtest.Launcher {
				w.Errorf("app %q, want what the description says", s.App)
			}
		}},
		{"a description that is cut is read again", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Edit: func(b []byte) []byte { return b[:len(b)/2] }})
		}, func(w *world, s device.Scene) { w.the(s, "Settings") }},
		{"a description that comes a line at a time", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump", adbdtest.Reply{Edit: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("<node"), []byte("\n<node")) }, Drip: 5 * time.Millisecond})
		}, func(w *world, s device.Scene) { w.the(s, "Settings") }},
		{"a phone on which uiautomator can't write to the terminal", adbdtest.Options{}, func(w *world) {
			w.behind.Answer("uiautomator dump /dev/tty", adbdtest.Reply{Out: "UI hierchary dumped to: /dev/tty\n", Err: "java.io.FileNotFoundException: /dev/tty: open failed: ENXIO"})
		}, func(w *world, s device.Scene) {
			w.the(s, "Settings")
			w.see()
			if got := strings.Join(w.behind.Commands(), "\n"); strings.Count(got, "/dev/tty") != 1 {
				w.Errorf("the terminal was tried again: %q", got)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.phone)
			w.opts.Screenshots, w.opts.ImageEdge = true, 400 // scaled, and so decoded
			w.opts = android.Hurried(w.opts, 2*time.Second)
			w.open()
			tt.given(w)
			tt.want(w, w.see())
		})
	}
}

// picture is a white one.
func picture(width, height int) string {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // into memory
	}
	return b.String()
}

// R-RUN-2, R-RUN-5: every failure is typed, and says what is known of the
// action.
func TestFaultsOfActing(t *testing.T) {
	t.Parallel()
	tap := device.Tap{At: device.Point{X: 500, Y: 200}}
	for _, tt := range []struct {
		name       string
		given      func(w *world)
		action     device.Action
		want       *fault.Error
		dispatched device.Dispatched
	}{
		{"fault 35: the connection ends in the middle of a command", func(w *world) {
			w.behind.Answer("input tap", adbdtest.Reply{Out: "half an ans", Die: true})
		}, tap, device.ErrLost, device.Unknown},
		{"the phone freezes", func(w *world) { w.behind.Freeze() }, tap, device.ErrLost, device.Unknown},
		{"a command never ends", func(w *world) {
			w.behind.Answer("input tap", adbdtest.Reply{Hang: true})
		}, tap, device.ErrLost, device.Unknown},
		{"the phone is offline", func(w *world) {
			w.behind.Drop()
			w.adb.Await(w, w.behind, "offline")
		}, tap, device.ErrLost, device.No},
		{"the phone is not connected any more", func(w *world) {
			w.behind.Drop()
			if _, err := w.adb.Ask("host:disconnect:" + w.behind.Serial()); err != nil {
				w.Fatal(err)
			}
		}, tap, device.ErrLost, device.No},
		{"the adb server is gone, and can't be started again", func(w *world) { w.adb.Block(w) }, tap, device.ErrLost, device.No},
		{"the phone has restarted", func(w *world) {
			w.behind.Restart()
			w.adb.Ask("host:disconnect:" + w.behind.Serial())
			w.adb.Connect(w, w.behind)
		}, tap, device.ErrLost, device.Unknown},
		{"the command fails with an exit code", func(w *world) {
			w.behind.Answer("input tap", adbdtest.Reply{Err: "java.lang.SecurityException: Injecting input events requires the caller to have the INJECT_EVENTS permission.", Exit: 255})
		}, tap, device.ErrFailed, device.Unknown},
		{"the command writes without end", func(w *world) {
			w.behind.Answer("input tap", adbdtest.Reply{Out: strings.Repeat("more ", 20_000)})
		}, tap, device.ErrFailed, device.Unknown},
		{"fault 32: am start exits 0 where the activity is missing", func(w *world) {
			w.behind.Answer("am start", adbdtest.Reply{Out: "Starting: Intent { cmp=x }\nError type 3\nError: Activity class {x} does not exist.\n"})
		}, device.OpenApp{Package: adbdtest.Notes}, device.ErrFailed, device.Unknown},
		{"fault 31: an app without an icon can't be started, and nothing is sent", func(w *world) {
			w.behind.Answer("cmd package resolve-activity", adbdtest.Reply{Out: "No activity found\n"})
		}, device.OpenApp{Package: adbdtest.Notes}, device.ErrRefused, device.No},
		{"fault 34: whether there is a keyboard to hide can't be told", func(w *world) {
			w.behind.Answer("dumpsys input_method", adbdtest.Reply{Out: "nothing to see"})
		}, device.HideKeyboard{}, device.ErrRefused, device.No},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, adbdtest.Options{})
			w.opts = android.Hurried(w.opts, 500*time.Millisecond)
			w.open()
			tt.given(w)
			err := w.phone.Do(t.Context(), tt.action)
			if !errors.Is(err, tt.want) || device.WasDispatched(err) != tt.dispatched {
				t.Errorf("got %v, want %s with dispatched %s", err, tt.want.Code, tt.dispatched)
			}
		})
	}
}

// R-RUN-2
func TestAPhoneThatCantBeClaimedSaysWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		given func(w *world)
		want  string
	}{
		{"its owner has not allowed this computer", func(w *world) {
			w.behind.Unauthorize()
			w.adb.Ask("host:disconnect:" + w.behind.Serial())
			var asking sync.WaitGroup // the server waits ten seconds for leave
			asking.Go(func() { w.adb.Ask("host:connect:" + w.behind.Serial()) })
			w.Cleanup(func() { w.adb.Stop(); asking.Wait() })
			w.adb.Await(w, w.behind, "authorizing")
		}, device.ErrUnauthorized.Code},
		{"it is not there", func(w *world) {
			w.behind.Drop()
			w.adb.Ask("host:disconnect:" + w.behind.Serial())
		}, device.ErrLost.Code},
		{"its serial number can't be one", func(w *world) { w.opts.Serial = "a b" }, "device_serial"},
		{"there are two, and none is named", func(w *world) {
			w.opts.Serial = ""
			w.adb.Connect(w, adbdtest.New(w, adbdtest.Options{}))
		}, "device_ambiguous"},
		{"there is none, and none is named", func(w *world) {
			w.opts.Serial = ""
			w.behind.Drop()
			w.adb.Ask("host:disconnect:" + w.behind.Serial())
		}, device.ErrLost.Code},
		{"it is frozen", func(w *world) { w.behind.Freeze() }, device.ErrLost.Code},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, adbdtest.Options{})
			w.opts = android.Hurried(w.opts, 500*time.Millisecond)
			tt.given(w)
			_, err := android.Open(t.Context(), w.opts)
			if err == nil || fault.Of(err).Code != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// Fault 5
func TestAnotherProgramsAutomationIsSaidToBeBusy(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	for name, r := range map[string]adbdtest.Reply{
		"killed":             {Out: "Killed \n", Exit: 137},
		"already registered": {Err: "java.lang.IllegalStateException: UiAutomationService android.accessibilityservice.IAccessibilityServiceClient$Stub$Proxy@1 already registered!", Exit: 1},
	} {
		w.behind.Answer("uiautomator", r)
		if _, err := w.phone.Observe(t.Context()); !errors.Is(err, device.ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.see()
}

// Fault 35: a phone that went offline is brought back, and the server and the
// other phones are left alone.
func TestALookBringsBackAPhoneThatWentOffline(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	other := adbdtest.New(t, adbdtest.Options{})
	w.adb.Connect(t, other)
	o := w.opts
	o.Serial = other.Serial()
	second, err := android.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	w.behind.Drop()
	w.adb.Await(t, w.behind, "offline")
	w.behind.Return()
	w.the(w.see(), "Notes")
	if _, err := second.Observe(t.Context()); err != nil {
		t.Errorf("the other phone: %v", err)
	}
}

// R-RUN-2: after each kind of loss the next attempt works.
func TestTheNextAttemptWorksAfterTheLossHeals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lose, heal func(w *world) }{
		"a cable pulled":  {func(w *world) { w.behind.Drop() }, func(w *world) { w.behind.Return() }},
		"frozen":          {func(w *world) { w.behind.Freeze() }, func(w *world) { w.behind.Thaw() }},
		"restarted":       {func(w *world) { w.behind.Restart() }, func(*world) {}},
		"unauthorized":    {func(w *world) { w.behind.Unauthorize() }, func(w *world) { w.behind.Authorize() }},
		"server gone":     {func(w *world) { w.adb.Block(w) }, func(w *world) { w.adb.Unblock(w); w.adb.Connect(w, w.behind) }},
		"server restarts": {func(w *world) { w.adb.Restart(w) }, func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, adbdtest.Options{})
			w.opts = android.Hurried(w.opts, time.Second)
			w.open()
			c.lose(w)
			err := w.phone.Do(t.Context(), device.Press{Key: device.Home})
			if err == nil || (!errors.Is(err, device.ErrLost) && !errors.Is(err, device.ErrUnauthorized)) {
				t.Errorf("while it is lost: %v", err)
			}
			c.heal(w)
			w.open()
			w.the(w.see(), "Notes")
		})
	}
}

// R-RUN-2: a connection that is dead while the server takes it for alive is
// made anew, to claim the phone and to look at it.
func TestADeadConnectionIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, adbdtest.Options{})
	w.opts = android.Hurried(w.opts, time.Second)
	w.behind.Wedge()
	w.open()
	w.behind.Wedge()
	w.the(w.see(), "Notes")
}

// The deadline is the caller's too.
func TestALookEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	w.behind.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := w.phone.Observe(ctx); device.WasDispatched(err) != device.No {
		t.Errorf("got %v", err)
	}
}

// R-RUN-4: what was read in another life of the phone is no scene.
func TestALookAtAPhoneThatRestartedSaysItIsLost(t *testing.T) {
	t.Parallel()
	w := claimed(t, adbdtest.Options{})
	w.behind.Restart()
	if _, err := w.phone.Observe(t.Context()); !errors.Is(err, device.ErrLost) {
		t.Errorf("got %v", err)
	}
}
