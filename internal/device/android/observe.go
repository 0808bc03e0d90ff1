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

// Observe reads the screen. A phone that had gone offline is connected anew
// once, since looking may be repeated.
func (p *Phone) Observe(ctx context.Context) (device.Scene, error) {
	if p.closed.Load() {
		return device.Scene{}, device.Fail(device.ErrLost, device.No)
	}
	s, err := p.look(ctx)
	var before unsent
	if errors.As(err, &before) && errors.Is(kindOf(err), device.ErrLost) && p.heal(ctx) == nil {
		s, err = p.look(ctx)
	}
	if err != nil {
		return device.Scene{}, looking(err)
	}
	return device.Seal(s), nil
}

// sight is one reading of the phone.
type sight struct {
	tree          hierarchy
	noTree        error // why there is no tree
	boot          string
	size          device.Size // as the phone is turned
	windows       windows
	noWindows     error
	keyboard      bool
	picture       []byte // PNG
	noPicture     error
	rotation      int
	knownRotation bool
}

// look reads until what was read fits together, or as often as it may.
func (p *Phone) look(ctx context.Context) (s device.Scene, err error) {
	var seen sight
	for try := 1; ; try++ {
		if seen, err = p.read(ctx); err != nil {
			return s, err
		}
		if seen.fits() || try == looks {
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
		return errors.Is(s.noTree, errRestless)
	}
	app := s.windows.app()
	return (app == "" || s.tree.apps[app]) && !s.tree.webEmpty && (s.picture == nil || upright(s.picture, s.size))
}

// read reads everything once. The description comes first: it takes longest,
// and says when the screen is at rest.
func (p *Phone) read(ctx context.Context) (s sight, err error) {
	s.tree, s.noTree = p.tree(ctx)
	if err := s.noTree; err != nil && !incomplete(err) {
		return s, err
	}
	var asking sync.WaitGroup
	var noSize error
	asking.Go(func() { noSize = p.readSize(ctx, &s) })
	asking.Go(func() { s.noWindows = p.readWindows(ctx, &s.windows) })
	asking.Go(func() { s.keyboard, _ = p.keyboardShown(ctx) })
	if p.opts.Screenshots {
		asking.Go(func() { s.picture, s.noPicture = p.capture(ctx) })
	}
	asking.Wait()
	switch {
	case noSize != nil:
		return s, noSize
	case p.boot != "" && s.boot != p.boot:
		return s, device.ErrLost.Because(errRestarted)
	}
	s.rotation, s.knownRotation = s.tree.rotation, s.noTree == nil && s.tree.rotation >= 0
	if !s.knownRotation {
		s.rotation, s.knownRotation = p.readRotation(ctx)
	}
	s.size = turned(s.size, s.rotation)
	return s, nil
}

// errRestarted is a phone that is not in the life in which it was claimed.
var errRestarted = errors.New("adb: the phone has restarted since it was claimed")

// readSize asks for the phone's boot and natural size.
func (p *Phone) readSize(ctx context.Context, s *sight) error {
	o, err := p.shell(ctx, lookLimits, "cat "+bootFile+"; echo; wm size")
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
	o, err := p.shell(ctx, lookLimits, "dumpsys window")
	if err == nil {
		*w = readWindows(string(o.out))
	}
	return err
}

func (p *Phone) keyboardShown(ctx context.Context) (bool, error) {
	o, err := p.shell(ctx, lookLimits, "dumpsys input_method")
	if err != nil {
		return false, err
	}
	shown, known := readKeyboard(string(o.out))
	if !known {
		return false, errors.New("adb: dumpsys input_method does not say whether the keyboard is shown")
	}
	return shown, nil
}

// readRotation asks where the description does not say.
func (p *Phone) readRotation(ctx context.Context) (int, bool) {
	for _, report := range []string{"dumpsys input", "dumpsys display"} {
		if o, err := p.shell(ctx, lookLimits, report); err == nil {
			if n, ok := readRotation(string(o.out)); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// scene makes a scene of what was read.
func (p *Phone) scene(seen sight) (device.Scene, error) {
	s := device.Scene{Size: seen.size, Rotation: seen.rotation * 90, KeyboardShown: seen.keyboard,
		Secure: seen.windows.secure, Elements: seen.tree.nodes, App: seen.windows.app()}
	if seen.noTree == nil {
		if s.App == "" {
			s.App = seen.tree.app
		} else if !seen.tree.apps[s.App] {
			s.App = "" // one app has the focus and another was described: nobody knows whose screen it is
		}
	} else if s.App == "" {
		s.App = seen.windows.fallback
	}
	if seen.keyboard {
		s.Elements = above(s.Elements, seen.windows.keyboard)
	}
	if seen.noWindows != nil && seen.picture != nil && black(seen.picture) {
		s.Secure = true // it can't be asked, and looks like it
	}
	if !s.Secure && seen.picture != nil && upright(seen.picture, seen.size) {
		var err error
		if s.Screenshot, err = device.NewScreenshot(seen.picture, seen.size, p.opts.ImageEdge); err != nil {
			seen.noPicture = err
		}
	}
	if seen.noTree == nil {
		return s, nil
	}
	if s.Screenshot == nil {
		return s, errors.Join(seen.noTree, seen.noPicture)
	}
	s.Elements = []device.Element{{Role: "note", Label: "the phone gives no description of this screen; only the picture shows it",
		Bounds: device.Rect{X1: s.Size.W, Y1: s.Size.H}}}
	return s, nil
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
