package android

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// How often a screen is read that is just changing, and the pause between.
const (
	looks     = 4
	lookPause = 250 * time.Millisecond
)

// Observe reads the screen once the parts of it fit together.
func (p *Phone) Observe(ctx context.Context) (device.Scene, error) {
	return p.see(ctx, looks, p.opts.Screenshots)
}

// Glance reads the screen once, without a picture.
func (p *Phone) Glance(ctx context.Context) (device.Scene, error) {
	return p.see(ctx, 1, false)
}

// see looks at most so many times. A phone that does not answer is connected
// anew once, since looking may be repeated.
func (p *Phone) see(ctx context.Context, tries int, picture bool) (device.Scene, error) {
	if p.closed.Load() {
		return device.Scene{}, device.Fail(device.ErrLost, device.No)
	}
	s, err := p.look(ctx, tries, picture)
	if err != nil && errors.Is(kindOf(err), device.ErrLost) && !errors.Is(err, errRestarted) && p.heal(ctx) == nil {
		s, err = p.look(ctx, tries, picture)
	}
	if err != nil {
		return device.Scene{}, looking(err)
	}
	return device.Seal(s), nil
}

// sight is one reading of the phone.
type sight struct {
	tree      hierarchy
	noTree    error // why there is no tree
	boot      string
	size      device.Size // as the phone is turned
	rotation  int         // quarter turns
	windows   windows
	noWindows error
	keyboard  bool
	picture   []byte // PNG; nil: none was wanted, or noPicture says why
	noPicture error
}

// look reads until what was read fits together, or as often as it may.
func (p *Phone) look(ctx context.Context, tries int, picture bool) (s device.Scene, err error) {
	var seen sight
	for try := 1; ; try++ {
		if seen, err = p.read(ctx, picture); err != nil {
			return s, err
		}
		if seen.fits() || try == tries {
			break
		}
		if err := sleep.For(ctx, lookPause); err != nil {
			return s, err
		}
	}
	p.remember(seen.tree)
	return p.scene(seen)
}

// fits reports whether the parts of a reading, taken one after the other, are
// of one screen.
func (s *sight) fits() bool {
	if s.noTree != nil {
		return true // it was asked for often enough
	}
	app := s.windows.app()
	return (app == "" || s.tree.apps[app]) && !s.tree.webEmpty && (s.picture == nil || upright(s.picture, s.size))
}

// read reads everything once. The description comes first: it takes longest,
// and says when the screen is at rest.
func (p *Phone) read(ctx context.Context, picture bool) (s sight, err error) {
	s.tree, s.noTree = p.tree(ctx)
	if err := s.noTree; err != nil && !incomplete(err) {
		return s, err
	}
	var asking sync.WaitGroup
	var noSize error
	asking.Go(func() { noSize = p.readSize(ctx, &s) })
	asking.Go(func() { s.noWindows = p.readWindows(ctx, &s.windows) })
	asking.Go(func() { s.keyboard, _ = p.keyboardShown(ctx) })
	if picture {
		asking.Go(func() { s.picture, s.noPicture = p.capture(ctx) })
	}
	asking.Wait()
	switch {
	case noSize != nil:
		return s, noSize
	case p.boot != "" && s.boot != p.boot:
		return s, device.ErrLost.Because(errRestarted)
	}
	if s.rotation = s.tree.rotation; s.noTree != nil || s.rotation < 0 {
		s.rotation = p.readRotation(ctx)
	}
	s.size = turned(s.size, s.rotation)
	return s, nil
}

// errRestarted is a phone that is not in the life in which it was claimed.
var errRestarted = errors.New("adb: the phone has restarted since it was claimed")

// readSize asks for the phone's boot and natural size.
func (p *Phone) readSize(ctx context.Context, s *sight) error {
	o, err := p.shell(ctx, p.limits.ask, "cat "+bootFile+"; echo; wm size")
	if err != nil {
		return err
	}
	boot, _, _ := strings.Cut(string(o.out), "\n")
	s.boot = strings.TrimSpace(boot)
	var ok bool
	if s.size, ok = readSize(string(o.out)); !ok {
		return device.ErrFailed.Because(errors.New("adb: wm size says no size"))
	}
	return nil
}

func (p *Phone) readWindows(ctx context.Context, w *windows) error {
	o, err := p.shell(ctx, p.limits.ask, "dumpsys window")
	if err == nil {
		*w = readWindows(string(o.out))
	}
	return err
}

func (p *Phone) keyboardShown(ctx context.Context) (bool, error) {
	o, err := p.shell(ctx, p.limits.ask, "dumpsys input_method")
	if err != nil {
		return false, err
	}
	shown, known := readKeyboard(string(o.out))
	if !known {
		return false, errNotSaid
	}
	return shown, nil
}

// errNotSaid is a report of Android's without what it was asked for.
var errNotSaid = errors.New("adb: dumpsys input_method does not say whether the keyboard is shown")

// readRotation asks where the description does not say; 0 where nobody does.
func (p *Phone) readRotation(ctx context.Context) int {
	for _, report := range []string{"dumpsys input", "dumpsys display"} {
		if o, err := p.shell(ctx, p.limits.ask, report); err == nil {
			if n, ok := readRotation(string(o.out)); ok {
				return n
			}
		}
	}
	return 0
}

// scene makes a scene of what was read.
func (p *Phone) scene(seen sight) (device.Scene, error) {
	s := device.Scene{App: seen.app(), Size: seen.size, Rotation: seen.rotation * 90, KeyboardShown: seen.keyboard, Secure: seen.windows.secure,
		Elements: seen.tree.nodes, Tree: seen.tree.source, Opaque: seen.tree.webEmpty, Unsettled: !seen.fits() || seen.tree.source == treeBrief}
	if seen.keyboard {
		s.Elements = above(s.Elements, seen.windows.keyboard)
	}
	if seen.showable() {
		var err error
		if s.Screenshot, err = device.NewScreenshot(seen.picture, seen.size, p.opts.ImageEdge); err != nil {
			seen.noPicture = err
		}
	}
	if seen.noTree == nil {
		return s, nil
	}
	if !p.opts.Screenshots || seen.noPicture != nil {
		return s, device.ErrFailed.Because(errors.Join(seen.noTree, seen.noPicture))
	}
	note := "the phone gives no description of this screen; only the picture shows it"
	if s.Secure {
		note = "the phone gives no description of this screen, and the app forbids pictures of it"
	}
	s.Tree, s.Opaque, s.Elements = treeNone, true, []device.Element{{Role: "note", Label: note, Bounds: device.Rect{X1: s.Size.W, Y1: s.Size.H}}}
	return s, nil
}

// app is the app in front, "" where the reading can't tell: one app has the
// focus and another was described.
func (s *sight) app() string {
	app := s.windows.app()
	switch {
	case s.noTree != nil && app == "":
		return s.windows.fallback
	case s.noTree == nil && app == "":
		return s.tree.app
	case s.noTree == nil && !s.tree.apps[app]:
		return ""
	}
	return app
}

// showable reports whether the picture may be shown. Where the phone does not say whether the screen is secure, a black picture
// says it.
func (s *sight) showable() bool {
	return s.picture != nil && !s.windows.secure && (s.noWindows == nil || !black(s.picture))
}

// above takes away what lies under the keyboard.
func above(elements []device.Element, keyboard device.Rect) []device.Element {
	if keyboard.Empty() {
		return elements
	}
	kept := elements[:0]
	for _, e := range elements {
		if e.Bounds.Y1 > keyboard.Y0 && e.Bounds.X0 < keyboard.X1 && e.Bounds.X1 > keyboard.X0 && e.Bounds.Y0 < keyboard.Y1 {
			e.Bounds.Y1 = keyboard.Y0
		}
		if !e.Bounds.Empty() {
			kept = append(kept, e)
		}
	}
	return kept
}

// field is a field of the last scene, for knowing how much there is to clear.
type field struct {
	at      device.Rect
	length  int
	focused bool
}

func (p *Phone) remember(h hierarchy) {
	p.fields = p.fields[:0]
	for i, e := range h.nodes {
		if e.Flags.Has(device.Editable) {
			p.fields = append(p.fields, field{e.Bounds, h.lengths[i], e.Flags.Has(device.Focused)})
		}
	}
}
