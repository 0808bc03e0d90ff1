package runner

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"interlock/internal/device"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/tool"
)

// Bounds of what a call may ask for.
const (
	maxTypedRunes = 2000
	maxURLBytes   = 2048
	minPress      = 300 * time.Millisecond
	maxPress      = 5 * time.Second
	usualPress    = 800 * time.Millisecond
	swipeTime     = 300 * time.Millisecond
	minWait       = 100 * time.Millisecond
	maxWait       = 10 * time.Second
)

// refusal is why a call can't be carried out as proposed: a stable code and a
// sentence for the model.
type refusal struct{ code, reason string }

func refuse(code, format string, args ...any) *refusal {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// operation is a call read against the scene that it was made on. Exactly one
// of action, wait and ends says what to do, unless refused does.
type operation struct {
	call     tool.Call
	args     planner.Arguments
	action   device.Action
	wait     time.Duration
	ends     bool
	target   *device.Element // what the action is aimed at
	point    *device.Point   // where it touches, in device pixels
	strict   bool            // aimed at a bare point: nothing on the screen may have changed
	free     bool            // aimed at nothing on the screen
	reach    policy.Reach
	app      string
	names    []string // of what it touches
	undoable bool     // what it does can surely be taken back
	refused  *refusal
}

// read turns a call into an operation on s.
func read(c tool.Call, s *device.Scene) operation {
	op := operation{call: c, reach: policy.ReachApp, app: s.App}
	args, err := planner.ReadArguments(c)
	if err != nil {
		op.refused = refuse("invalid_arguments", "The arguments do not fit the tool.")
		return op
	}
	op.args = args
	if reader, ok := readers[c.Tool]; ok {
		op.refused = reader(&op, s)
	} else {
		op.refused = refuse("unknown_tool", "There is no such tool.")
	}
	return op
}

var readers = map[string]func(*operation, *device.Scene) *refusal{
	planner.Tap:          readTap,
	planner.LongPress:    readLongPress,
	planner.Swipe:        readSwipe,
	planner.TypeText:     readTypeText,
	planner.Key:          readKey,
	planner.HideKeyboard: readHideKeyboard,
	planner.OpenApp:      readOpenApp,
	planner.OpenURL:      readOpenURL,
	planner.Wait:         readWait,
	planner.Finish:       readEnd,
	planner.Fail:         readEnd,
}

// aim finds the element or the point that a call names.
func (op *operation) aim(s *device.Scene) *refusal {
	byPoint := op.args.X != nil && op.args.Y != nil
	switch {
	case (op.args.Ref == "") == !byPoint, byPoint != (op.args.X != nil || op.args.Y != nil):
		return refuse("bad_target", "Give either a ref, or both x and y.")
	case op.args.Ref != "":
		return op.aimAt(s, op.args.Ref)
	}
	p, ok := device.Point{X: *op.args.X, Y: *op.args.Y}, true
	if s.Screenshot != nil {
		p, ok = s.Screenshot.Transform.ToDevice(p)
	}
	if !ok || !s.Size.Contains(p) {
		return refuse("out_of_bounds", "The point is not on the screen.")
	}
	op.point, op.strict = &p, true
	op.names = describing(s, p)
	return nil
}

func (op *operation) aimAt(s *device.Scene, ref string) *refusal {
	e, ok := s.Element(ref)
	if !ok {
		return refuse("unknown_ref", "There is no element with this ref on the screen.")
	}
	op.target = &e
	if e.Flags.Has(device.Disabled) {
		return refuse("disabled", "The element is disabled.")
	}
	p, ok := openPoint(s, e)
	if !ok {
		return refuse("covered", "Something else lies over the element. Deal with that first.")
	}
	op.point, op.names = &p, names(s, &e)
	return nil
}

func readTap(op *operation, s *device.Scene) *refusal {
	if r := op.aim(s); r != nil {
		return r
	}
	op.undoable = reversible(s, *op.point)
	op.action = device.Tap{At: *op.point}
	return nil
}

func readLongPress(op *operation, s *device.Scene) *refusal {
	if r := op.aim(s); r != nil {
		return r
	}
	d := usualPress
	if op.args.MS != 0 {
		d = millis(op.args.MS)
	}
	if d < minPress || d > maxPress {
		return refuse("out_of_range", "A long press takes 300 to 5000 ms.")
	}
	op.action = device.LongPress{At: *op.point, For: d}
	return nil
}

func readSwipe(op *operation, s *device.Scene) *refusal {
	area := device.Rect{X1: s.Size.W, Y1: s.Size.H}
	if op.args.Ref != "" {
		if r := op.aimAt(s, op.args.Ref); r != nil {
			return r
		}
		area = op.target.Bounds
	}
	vertical := op.args.Direction == "up" || op.args.Direction == "down"
	op.undoable = vertical && op.target == nil || op.target != nil && op.target.Flags.Has(device.Scrollable)
	from, to := stroke(area, op.args.Direction)
	op.action = device.Swipe{From: from, To: to, For: swipeTime}
	return nil
}

// stroke is a swipe over the middle six tenths of area.
func stroke(area device.Rect, direction string) (from, to device.Point) {
	c, dx, dy := area.Center(), (area.X1-area.X0)*3/10, (area.Y1-area.Y0)*3/10
	switch direction {
	case "up":
		return device.Point{X: c.X, Y: c.Y + dy}, device.Point{X: c.X, Y: c.Y - dy}
	case "down":
		return device.Point{X: c.X, Y: c.Y - dy}, device.Point{X: c.X, Y: c.Y + dy}
	case "left":
		return device.Point{X: c.X + dx, Y: c.Y}, device.Point{X: c.X - dx, Y: c.Y}
	default:
		return device.Point{X: c.X - dx, Y: c.Y}, device.Point{X: c.X + dx, Y: c.Y}
	}
}

func readTypeText(op *operation, s *device.Scene) *refusal {
	if op.args.Ref != "" {
		if r := op.aimAt(s, op.args.Ref); r != nil {
			return r
		}
	} else if i := slices.IndexFunc(s.Elements, func(e device.Element) bool { return e.Flags.Has(device.Focused | device.Editable) }); i >= 0 {
		e := s.Elements[i]
		op.target, op.names = &e, names(s, &e)
	}
	if op.target == nil || !op.target.Flags.Has(device.Editable) {
		return refuse("no_field", "Text can be typed only into a field: give the ref of one.")
	}
	if r := typable(op.args.Text); r != nil {
		return r
	}
	op.undoable = !op.args.Submit
	op.action = device.TypeText{Into: op.point, Text: op.args.Text, Clear: op.args.Clear, Submit: op.args.Submit}
	return nil
}

func typable(text string) *refusal {
	if utf8.RuneCountInString(text) > maxTypedRunes {
		return refuse("too_long", "Type at most %d characters at once.", maxTypedRunes)
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return refuse("control_character", "The text holds a line break or another control character; use submit for enter.")
		}
	}
	return nil
}

func readKey(op *operation, s *device.Scene) *refusal {
	key := device.Key(op.args.Key)
	op.action, op.undoable = device.Press{Key: key}, key != device.Enter
	switch key {
	case device.Enter:
		if i := slices.IndexFunc(s.Elements, focused); i >= 0 {
			op.names = names(s, &s.Elements[i])
		}
	case device.Home:
		op.reach, op.free = policy.ReachNothing, true
	case device.Back: // the way out of an app that may not be acted on
		op.reach = policy.ReachNothing
	}
	return nil
}

func readHideKeyboard(op *operation, s *device.Scene) *refusal {
	op.reach = policy.ReachNothing
	if !s.KeyboardShown {
		return refuse("no_keyboard", "No keyboard is shown.")
	}
	op.action, op.undoable = device.HideKeyboard{}, true
	return nil
}

var packageName = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)+$`)

func readOpenApp(op *operation, _ *device.Scene) *refusal {
	op.app, op.free = op.args.Package, true
	if len(op.args.Package) > 255 || !packageName.MatchString(op.args.Package) {
		return refuse("bad_package", "This is not the package name of an app.")
	}
	op.action, op.undoable = device.OpenApp{Package: op.args.Package}, true
	return nil
}

// readOpenURL: which app a phone opens an address with can't be told
// beforehand. A browser opens it itself, in place of the page that it shows.
func readOpenURL(op *operation, s *device.Scene) *refusal {
	op.reach, op.app, op.free = policy.ReachAnywhere, "", true
	u, err := url.Parse(op.args.URL)
	if err != nil || len(op.args.URL) > maxURLBytes || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return refuse("bad_url", "Only an http or https address without a user name can be opened.")
	}
	op.action, op.names = device.OpenURL{URL: u.String()}, []string{u.Path, u.RawQuery, u.Fragment}
	if s.Web {
		op.reach, op.app = policy.ReachApp, u.Host
	}
	return nil
}

func readWait(op *operation, _ *device.Scene) *refusal {
	op.reach = policy.ReachNothing
	op.wait = millis(op.args.MS)
	if op.wait < minWait || op.wait > maxWait {
		return refuse("out_of_range", "A wait takes 100 to 10000 ms.")
	}
	return nil
}

func readEnd(op *operation, _ *device.Scene) *refusal {
	op.reach, op.ends = policy.ReachNothing, true
	return nil
}

// millis turns a model's number into a duration that can't overflow.
func millis(n int) time.Duration {
	return time.Duration(min(max(n, 0), 1_000_000)) * time.Millisecond
}

// facts are what the policy hears of the operation.
func (op *operation) facts(lock []string) policy.Facts {
	return policy.Facts{
		Tool: op.call.Tool, Risk: planner.RiskOf(op.call.Tool), Ends: op.ends,
		Reach: op.reach, App: op.app, AppLock: lock,
		Names: op.names, Reversible: op.undoable,
		PasswordField: op.call.Tool == planner.TypeText && op.target != nil && op.target.Flags.Has(device.Password),
	}
}

// holds reports whether the operation, read on was, still means the same on
// now, so that the action lands on what the proposal meant:
//   - a bare point: nothing has changed;
//   - an element: it is still there, the same at the same place, nothing came
//     or went that goes by the same names and could be taken for it, and the
//     same things lie under the point that will be touched;
//   - the screen as a whole: the same app in the same position, the same field
//     in focus, and something to act on that was there before;
//   - an app, an address or the home key: always.
func (op *operation) holds(was, now *device.Scene) bool {
	switch {
	case op.free:
		return true
	case op.strict:
		return was.Shows(now)
	case was.Tree != now.Tree || was.Opaque != now.Opaque:
		return false // another reading of the screen: nothing can be compared
	case was.App != now.App || was.Size != now.Size || was.Rotation != now.Rotation || was.KeyboardShown != now.KeyboardShown:
		return false
	case op.target == nil:
		return sameFocus(was, now) && related(was, now)
	}
	found, ok := now.Find(*op.target)
	if !ok || !slices.Equal(places(was, op.target), places(now, op.target)) {
		return false
	}
	if op.point == nil { // typed into what is in focus
		return found.Flags.Has(device.Focused)
	}
	return slices.EqualFunc(was.At(*op.point), now.At(*op.point), device.Element.Same)
}

// related reports whether anything that could be acted on still can be: where
// nothing can, as under a dialog, it is another screen.
func related(was, now *device.Scene) bool {
	some := false
	for _, e := range was.Elements {
		if e.Actionable() {
			if _, still := now.Find(e); still {
				return true
			}
			some = true
		}
	}
	return !some
}

func focused(e device.Element) bool { return e.Flags.Has(device.Focused) }

func sameFocus(was, now *device.Scene) bool {
	i, j := slices.IndexFunc(was.Elements, focused), slices.IndexFunc(now.Elements, focused)
	if i < 0 || j < 0 {
		return i < 0 && j < 0
	}
	return was.Elements[i].Same(now.Elements[j])
}
