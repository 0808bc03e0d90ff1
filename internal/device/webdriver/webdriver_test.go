package webdriver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"interlock/internal/device"
	"interlock/internal/device/webdriver"
)

func TestMain(m *testing.M) {
	if err := webdriver.Programs(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// phone is a browser on a page of ours.
type phone struct {
	*webdriver.Browser
	t    *testing.T
	site string
}

func open(t *testing.T, page string) *phone {
	t.Helper()
	return openWith(t, webdriver.Options{}, page)
}

func openWith(t *testing.T, o webdriver.Options, page string) *phone {
	t.Helper()
	site := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	b, err := webdriver.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p := &phone{b, t, site.URL}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		site.CloseClientConnections()
		site.Close()
	})
	p.do(device.OpenURL{URL: site.URL + "/" + page})
	return p
}

func (p *phone) do(a device.Action) {
	p.t.Helper()
	if err := p.Do(p.t.Context(), a); err != nil {
		p.t.Fatalf("%v: %v", a, err)
	}
}

func (p *phone) see() device.Scene {
	p.t.Helper()
	s, err := p.Observe(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// find returns the elements of a scene with that text or label.
func find(s device.Scene, words string) (found []device.Element) {
	for _, e := range s.Elements {
		if e.Text == words || e.Label == words {
			found = append(found, e)
		}
	}
	return found
}

// the returns the one element with the text or label that can be acted on.
func (p *phone) the(s device.Scene, words string) device.Element {
	p.t.Helper()
	var acts []device.Element
	for _, e := range find(s, words) {
		if e.Actionable() {
			acts = append(acts, e)
		}
	}
	if len(acts) != 1 {
		p.t.Fatalf("%d elements %q can be acted on in %+v", len(acts), words, s.Elements)
	}
	return acts[0]
}

func (p *phone) tap(words string) {
	p.t.Helper()
	p.do(device.Tap{At: p.the(p.see(), words).Bounds.Center()})
}

func (p *phone) wants(words string) {
	p.t.Helper()
	if s := p.see(); len(find(s, words)) == 0 {
		p.t.Errorf("%q is not in %+v", words, s.Elements)
	}
}

// R-RUN-2, R-RUN-6
func TestAFormIsFilledInAnyScript(t *testing.T) {
	t.Parallel()
	p := openWith(t, webdriver.Options{Screenshots: true}, "form.html")
	s := p.see()
	if s.Size != (device.Size{W: 412, H: 915}) || s.App != strings.TrimPrefix(p.site, "http://") || s.Screenshot == nil {
		t.Errorf("size %v, app %q, picture %v", s.Size, s.App, s.Screenshot)
	}
	name := p.the(s, "Name")
	if !name.Flags.Has(device.Editable) || name.Text != "old" || name.Role != "field" || name.ID != "name" {
		t.Errorf("the name field: %+v", name)
	}
	if secret := p.the(s, "Password"); !secret.Flags.Has(device.Password) || secret.Text != "" {
		t.Errorf("the password field: %+v", secret)
	}
	if gone := find(s, "Delete"); len(gone) != 1 || gone[0].Actionable() {
		t.Errorf("the disabled button: %+v", gone)
	}
	at := name.Bounds.Center()
	p.do(device.TypeText{Into: &at, Text: "Ada 🚀 שלום é", Clear: true})
	note := p.the(p.see(), "Note").Bounds.Center()
	p.do(device.TypeText{Into: &note, Text: "two\nlines"})
	box := p.the(p.see(), "I agree")
	p.do(device.Tap{At: box.Bounds.Center()})
	if got := find(p.see(), "I agree"); len(got) == 0 || !anyChecked(p.see()) {
		t.Errorf("the box is not checked: %+v", got)
	}
	p.tap("Save")
	p.wants("Saved Ada 🚀 שלום é / two lines / agreed")
}

func anyChecked(s device.Scene) bool {
	for _, e := range s.Elements {
		if e.Flags.Has(device.Checked) {
			return true
		}
	}
	return false
}

func TestEnterSubmitsAndDeleteTakesOneCharacter(t *testing.T) {
	t.Parallel()
	p := open(t, "form.html")
	at := p.the(p.see(), "Name").Bounds.Center()
	p.do(device.TypeText{Into: &at, Text: "Ada👍🏽", Clear: true})
	p.do(device.Press{Key: device.Delete})
	if got := p.the(p.see(), "Name").Text; got != "Ada" {
		t.Errorf("after deleting one character: %q", got)
	}
	p.do(device.TypeText{Text: "!", Submit: true})
	p.wants("Saved Ada! / / not agreed")
}

// A dialog on top, a look-alike below it, and what is out of sight: none of it
// can be tapped by mistake. R-RUN-4
func TestWhatIsCoveredOrOutOfSightIsNotInTheScene(t *testing.T) {
	t.Parallel()
	p := open(t, "covered.html")
	s := p.see()
	if same := find(s, "Confirm"); len(same) != 1 || same[0].ID != "yes" {
		t.Errorf("the buttons that can be seen: %+v", same)
	}
	for _, words := range []string{"Hidden", "Far away"} {
		if got := find(s, words); len(got) != 0 {
			t.Errorf("%q can't be seen and is in the scene: %+v", words, got)
		}
	}
	p.tap("Confirm")
	p.wants("yes")
	p.tap("Confirm") // the one below, now
	p.wants("below")
}

// Fault 11 of the peers' lists: an alert that a look would have dismissed.
func TestADialogOfThePageIsTheWholeSceneUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	p := open(t, "dialogs.html")
	for _, c := range []struct{ button, said string }{{"Cancel", "kept"}, {"OK", "deleted"}} {
		p.tap("Delete")
		s := p.see()
		if again := p.see(); again.Hash != s.Hash || len(s.Elements) != 3 || s.App != strings.TrimPrefix(p.site, "http://") || s.Screenshot != nil || len(find(s, "Delete all? 🗑")) != 1 {
			t.Fatalf("the dialog: %+v, again %+v", s, again)
		}
		err := p.Do(t.Context(), device.OpenURL{URL: p.site})
		if !errors.Is(err, device.ErrRefused) || device.WasDispatched(err) != device.No {
			t.Errorf("opening a page beneath the dialog: %v", err)
		}
		p.tap(c.button)
		p.wants(c.said)
	}
	p.tap("Delete")
	p.do(device.Press{Key: device.Back})
	p.wants("kept")
}

func TestFramesAndShadowTreesAreSeenAndReached(t *testing.T) {
	t.Parallel()
	p := open(t, "deep.html")
	p.tap("In the frame")
	p.wants("framed")
	p.tap("In the shadow")
	p.wants("shaded")
	at := p.the(p.see(), "Word").Bounds.Center()
	p.do(device.TypeText{Into: &at, Text: "שלום"})
	if got := p.the(p.see(), "Word").Text; got != "שלום" {
		t.Errorf("typed in the frame: %q", got)
	}
	if drawing := find(p.see(), "A drawing"); len(drawing) != 1 || drawing[0].Role != "canvas" {
		t.Errorf("the canvas: %+v", drawing)
	}
}

func TestAListScrollsAndGrows(t *testing.T) {
	t.Parallel()
	p := open(t, "list.html")
	if first := p.see(); len(find(first, "Entry 1")) != 1 || len(find(first, "Entry 40")) != 0 {
		t.Fatalf("at first: %d elements", len(first.Elements))
	}
	for range 12 {
		if len(find(p.see(), "Entry 40")) == 1 {
			return
		}
		p.do(device.Swipe{From: device.Point{X: 300, Y: 800}, To: device.Point{X: 300, Y: 200}, For: 300 * time.Millisecond})
	}
	t.Error("entry 40 never came into sight")
}

// Every element that is offered is hit in its middle: the page itself says what
// was touched. R-RUN-4
func TestATapLandsInsideItsElement(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(`<!doctype html><meta name="viewport" content="width=device-width"><style>body{margin:0}button{position:absolute;font-size:8px;padding:0;border:0}</style><p id="said" style="position:absolute;top:880px">nothing</p>`)
	n := 0
	for y := 5; y < 850; y += 47 {
		for x := 3; x < 390; x += 61 {
			n++
			fmt.Fprintf(&page, `<button style="left:%dpx;top:%dpx;width:%dpx;height:%dpx" onclick="said.textContent='hit %d'">b%d</button>`, x, y, 12+n%20, 9+n%17, n, n)
		}
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(page.String()))
	}))
	p := open(t, "form.html")
	t.Cleanup(site.Close)
	p.do(device.OpenURL{URL: site.URL})
	s := p.see()
	for i := 1; i <= n; i += 3 { // every third: 42 sizes and places
		p.do(device.Tap{At: p.the(s, fmt.Sprintf("b%d", i)).Bounds.Center()})
		if now := p.see(); len(find(now, fmt.Sprintf("hit %d", i))) != 1 {
			t.Fatalf("tapped b%d at %v and the page says %+v", i, p.the(s, fmt.Sprintf("b%d", i)).Bounds, find(now, "nothing"))
		}
	}
}

// For each of 40 screens: its size, its rotation and the density of its pixels.
// R-RUN-4
func TestATapLandsInsideItsElementOnEveryScreen(t *testing.T) {
	t.Parallel()
	p := openWith(t, webdriver.Options{Screenshots: true}, "corners.html")
	for _, size := range []device.Size{{W: 412, H: 915}, {W: 320, H: 568}, {W: 360, H: 640}, {W: 800, H: 1280}, {W: 601, H: 962}} {
		for _, ratio := range []float64{1, 2.625} {
			for _, angle := range []int{0, 90, 180, 270} {
				w, h := size.W, size.H
				if angle%180 == 90 {
					w, h = h, w
				}
				name := fmt.Sprintf("%dx%d at %v, turned by %d", w, h, ratio, angle)
				if err := p.Turn(t.Context(), w, h, ratio, angle); err != nil {
					t.Fatal(err)
				}
				s := p.see()
				if s.Size != (device.Size{W: w, H: h}) || s.Rotation != angle {
					t.Fatalf("%s: the scene says %v, %d", name, s.Size, s.Rotation)
				}
				at := p.the(s, "Last").Bounds.Center()
				p.do(device.Tap{At: at})
				if said := fmt.Sprintf("Last %dx%d", w, h); len(find(p.see(), said)) != 1 {
					t.Fatalf("%s: tapped %v and the page does not say %q", name, at, said)
				}
				corner, ok := s.Screenshot.Transform.ToDevice(device.Point{X: s.Screenshot.Transform.Image.W - 1, Y: s.Screenshot.Transform.Image.H - 1})
				if !ok || corner.X < w-3 || corner.Y < h-3 || !s.Size.Contains(corner) {
					t.Errorf("%s: the last pixel of the picture is at %v", name, corner)
				}
			}
		}
	}
}

// A pixel of the picture is where it says on the screen.
func TestThePictureMapsToTheScreen(t *testing.T) {
	t.Parallel()
	s := openWith(t, webdriver.Options{Screenshots: true}, "form.html").see()
	transform := s.Screenshot.Transform
	corner, ok := transform.ToDevice(device.Point{X: transform.Image.W - 1, Y: transform.Image.H - 1})
	if !ok || corner.X < s.Size.W-2 || corner.Y < s.Size.H-2 || !s.Size.Contains(corner) {
		t.Errorf("the last pixel of %v is at %v of %v", transform.Image, corner, s.Size)
	}
}

func TestWhatABrowserCanNotDoIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	p := open(t, "form.html")
	for _, a := range []device.Action{
		device.OpenApp{Package: "com.example"}, device.HideKeyboard{}, device.Press{Key: "power"},
		device.OpenURL{URL: "file:///etc/passwd"}, device.OpenURL{URL: "javascript:alert(1)"}, device.OpenURL{URL: "chrome://settings"}, device.OpenURL{URL: "http:"},
	} {
		if err := p.Do(t.Context(), a); !errors.Is(err, device.ErrRefused) || device.WasDispatched(err) != device.No {
			t.Errorf("%v: %v", a, err)
		}
	}
	p.wants("Contact")
}

func TestAPageThatDoesNotLoadIsForTheNextLookToSee(t *testing.T) {
	t.Parallel()
	p := open(t, "form.html")
	p.do(device.OpenURL{URL: "http://127.0.0.1:1/nothing"})
	if s := p.see(); len(find(s, "Contact")) != 0 {
		t.Errorf("still the old page: %+v", s.Elements)
	}
	p.do(device.Press{Key: device.Back})
	p.wants("Contact")
}

// R-RUN-5: a browser that died mid-way is lost, and nobody claims that nothing
// was done.
func TestADeadBrowserIsLost(t *testing.T) {
	t.Parallel()
	p := open(t, "form.html")
	p.Kill()
	_, err := p.Observe(t.Context())
	if !errors.Is(err, device.ErrLost) {
		t.Errorf("a look: %v", err)
	}
	if err := p.Do(t.Context(), device.Tap{At: device.Point{X: 5, Y: 5}}); !errors.Is(err, device.ErrLost) {
		t.Errorf("a tap: %v", err)
	}
}

// What hangs ends with its context, typed.
func TestAPageThatNeverAnswersEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	p := open(t, "form.html")
	t.Cleanup(func() { close(held); site.CloseClientConnections(); site.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := p.Do(ctx, device.OpenURL{URL: site.URL})
	if err == nil || device.WasDispatched(err) != device.Unknown {
		t.Errorf("got %v, want an error that says unknown", err)
	}
	var typed *device.Error
	if !errors.As(err, &typed) || strings.Contains(err.Error(), site.URL) {
		t.Errorf("%v is no driver's error, or holds the address", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	dir, err := os.MkdirTemp("", "w") // not the test's own, whose path is too long for the browser's sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	b, err := webdriver.Open(t.Context(), webdriver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if during, err := os.ReadDir(dir); err != nil || len(during) != 1 {
		t.Errorf("%d names while it runs, %v; want the one folder", len(during), err)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := b.Observe(t.Context()); !errors.Is(err, device.ErrLost) {
		t.Errorf("after the end: %v", err)
	}
}
