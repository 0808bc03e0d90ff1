package android

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"interlock/internal/device"
)

// Do carries out one action.
func (p *Phone) Do(ctx context.Context, a device.Action) error {
	if p.closed.Load() {
		return device.Fail(device.ErrLost, device.No)
	}
	switch a := a.(type) {
	case device.Tap:
		return p.touch(ctx, a.At, a.At, 0)
	case device.LongPress:
		return p.touch(ctx, a.At, a.At, a.For)
	case device.Swipe:
		return p.touch(ctx, a.From, a.To, a.For)
	case device.TypeText:
		return p.typeText(ctx, a)
	case device.Press:
		return p.press(ctx, a.Key)
	case device.HideKeyboard:
		return p.hideKeyboard(ctx)
	case device.OpenApp:
		return p.openApp(ctx, a.Package)
	case device.OpenURL:
		return p.openURL(ctx, a.URL)
	}
	return device.Refuse("this phone can't do that")
}

// restartedExit is the exit code by which the phone says that it is not in the
// life in which it was claimed, and did nothing.
const restartedExit = 93

// act runs a command that changes something. The phone itself checks first
// that it was meant for it as it is now. Sent says whether part of the action
// was sent before.
func (p *Phone) act(ctx context.Context, sent bool, command string) error {
	return p.actFor(ctx, 0, sent, command)
}

// actFor is act for a command that takes a while by itself.
func (p *Phone) actFor(ctx context.Context, while time.Duration, sent bool, command string) error {
	l := p.limits.act
	l.time += while
	o, err := p.shell(ctx, l, p.guard()+command)
	switch {
	case err != nil:
		return acting(err, sent)
	case o.exit == restartedExit:
		return device.Fail(device.ErrLost.Because(errRestarted), device.Unknown)
	case o.exit != 0 || failed(o):
		return device.Fail(device.ErrFailed.Because(fmt.Errorf("adb: the command ended with exit code %d", o.exit)), device.Unknown)
	}
	return nil
}

// guard makes the phone refuse a command in another life.
func (p *Phone) guard() string {
	if p.boot == "" {
		return ""
	}
	return fmt.Sprintf(`read -r b <%s; [ "$b" = %s ] || exit %d; `, bootFile, quote(p.boot), restartedExit)
}

var failure = regexp.MustCompile(`(?m)^(Error|Exception|java\.lang\.|Security exception|Failure)`)

// failed reports a failure that Android only writes: its commands exit with 0.
func failed(o output) bool { return failure.MatchString(o.text()) }

// touch drags a finger from one place to another in the time d, or taps where
// that is 0.
func (p *Phone) touch(ctx context.Context, from, to device.Point, d time.Duration) error {
	for _, at := range []device.Point{from, to} {
		if at.X < 0 || at.Y < 0 || at.X >= device.MaxEdge || at.Y >= device.MaxEdge {
			return device.Refuse("the point is not on the screen")
		}
	}
	return p.actFor(ctx, d, false, touchCommand(from, to, d))
}

func touchCommand(from, to device.Point, d time.Duration) string {
	if d == 0 {
		return fmt.Sprintf("input tap %d %d", from.X, from.Y)
	}
	return fmt.Sprintf("input swipe %d %d %d %d %d", from.X, from.Y, to.X, to.Y, max(1, d.Milliseconds()))
}

// keyCodes are Android's.
var keyCodes = map[device.Key]int{device.Back: 4, device.Home: 3, device.Enter: keyEnter, device.Delete: keyDelete}

const (
	keyEnter         = 66
	keyTab           = 61
	keyDelete        = 67
	keyForwardDelete = 112
	keyMoveEnd       = 123
	keyPaste         = 279
)

func (p *Phone) press(ctx context.Context, k device.Key) error {
	code, ok := keyCodes[k]
	if !ok {
		return device.Refuse("this phone has no such key")
	}
	return p.act(ctx, false, fmt.Sprintf("input keyevent %d", code))
}

// hideKeyboard goes back, which puts the keyboard away if one is shown and
// would leave the screen if none is.
func (p *Phone) hideKeyboard(ctx context.Context) error {
	shown, err := p.keyboardShown(ctx)
	switch {
	case errors.Is(err, errNotSaid):
		return device.Refuse("the phone does not say whether a keyboard is shown")
	case err != nil:
		return looking(err)
	case !shown:
		return device.Refuse("no keyboard is shown")
	}
	return p.act(ctx, false, fmt.Sprintf("input keyevent %d", keyCodes[device.Back]))
}

var (
	packageName   = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)+$`)
	componentName = regexp.MustCompile(`^[A-Za-z][\w.]*/[\w.$]+$`)
)

// openApp starts what the app's icon starts.
func (p *Phone) openApp(ctx context.Context, app string) error {
	if len(app) > 255 || !packageName.MatchString(app) {
		return device.Refuse("this is not the package name of an app")
	}
	o, err := p.shell(ctx, p.limits.ask, "cmd package resolve-activity --brief -c android.intent.category.LAUNCHER "+quote(app))
	if err != nil {
		return looking(err)
	}
	start := componentOf(app, string(o.out))
	if strings.Contains(string(o.out), chooser) { // the app has several icons
		o, err = p.shell(ctx, p.limits.ask, "cmd package query-activities --brief -a android.intent.action.MAIN -c android.intent.category.LAUNCHER "+quote(app))
		if err != nil {
			return looking(err)
		}
		start = componentOf(app, string(o.out))
	}
	if start == "" {
		return device.Refuse("no app of this name is installed, or it can't be started")
	}
	return p.act(ctx, false, "am start -n "+quote(start))
}

// chooser is what Android names where several activities would do.
const chooser = ".ResolverActivity"

// componentOf returns the first component of the app that a report names.
func componentOf(app, report string) string {
	for _, word := range strings.Fields(report) {
		if componentName.MatchString(word) && strings.HasPrefix(word, app+"/") {
			return word
		}
	}
	return ""
}

// openURL opens an address in whatever app takes it.
func (p *Phone) openURL(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return device.Refuse("only http and https addresses can be opened")
	}
	return p.act(ctx, false, "am start -a android.intent.action.VIEW -d "+quote(u.String()))
}
