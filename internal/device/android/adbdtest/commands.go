package adbdtest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The input methods.
const (
	usualMethod  = "com.example.keys/.Keys"
	helperMethod = "com.android.adbkeyboard/.AdbIME"
)

func (p *Phone) input(a []string) result {
	switch {
	case len(a) == 3 && a[0] == "tap":
		x, y := number(a[1]), number(a[2])
		p.tap(x, y, false)
	case len(a) == 6 && a[0] == "swipe":
		p.swipe(number(a[1]), number(a[2]), number(a[3]), number(a[4]))
	case len(a) >= 2 && a[0] == "keyevent":
		for _, code := range a[1:] {
			p.key(code)
		}
	case len(a) >= 1 && a[0] == "text":
		return p.inputText(a[1:])
	default:
		return complains(255, "Error: Unknown command\n")
	}
	return result{}
}

// inputText takes one word of printable ASCII; anything else loses all of it.
func (p *Phone) inputText(a []string) result {
	if len(a) != 1 || strings.IndexFunc(a[0], func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return complains(255, "Exception occurred while executing 'text':\njava.lang.NullPointerException: Attempt to get length of null array\n")
	}
	p.insert(strings.ReplaceAll(a[0], "%s", " "))
	return result{}
}

func (p *Phone) swipe(x0, y0, x1, y1 int) {
	if x0 == x1 && y0 == y1 {
		p.tap(x0, y0, true)
		return
	}
	p.state.scrolled = min(max(0, p.state.scrolled+(y0-y1)/max(1, p.px(rowHeight))), max(0, len(p.state.notes)-2))
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func (p *Phone) uiautomator(a []string) result {
	if len(a) < 2 || a[0] != "dump" || a[len(a)-1] != "/dev/tty" {
		return complains(1, "Usage: uiautomator dump\n")
	}
	return p.dump(true)
}

const warning = "[Warning] Multiple displays were found, but no display id was specified! Defaulting to the first display found, however this default is not guaranteed to be consistent across captures. A display id should be specified.\nA display ID can be specified with the [-d display-id] option.\nSee \"dumpsys SurfaceFlinger --display-id\" for valid display IDs.\n"

// firstDisplay is the id of the display that shows the phone's screen.
const firstDisplay = "4619827259835644672"

func (p *Phone) screencap(a []string) result {
	named := len(a) == 3 && a[1] == "-d"
	switch {
	case len(a) == 0 || a[0] != "-p":
		return complains(1, "usage: screencap\n")
	case named && a[2] != firstDisplay:
		return complains(1, "Display Id '"+a[2]+"' is not valid.\n")
	case p.opts.Displays > 1 && !named:
		return says(warning + string(p.picture()))
	}
	return result{out: p.picture()}
}

func (p *Phone) wm(a []string) result {
	if len(a) != 1 || a[0] != "size" {
		return complains(255, "Error: unknown command\n")
	}
	text := fmt.Sprintf("Physical size: %dx%d\n", p.opts.Width, p.opts.Height)
	if o := p.opts.Override; o[0] != 0 {
		text += fmt.Sprintf("Override size: %dx%d\n", o[0], o[1])
	}
	return says(text)
}

func (p *Phone) dumpsys(a []string) result {
	switch strings.Join(a, " ") {
	case "window":
		return says(p.windowReport())
	case "input_method":
		p.state.rising = false
		return says(fmt.Sprintf("Input Method Manager State:\n  mCurMethodId=%s\n  mShowRequested=%t mInputShown=%t\n", p.method, p.state.keyboard, p.state.keyboard))
	case "input":
		return says(fmt.Sprintf("  Input Reader State:\n    SurfaceOrientation: %d\n", p.opts.Turned))
	case "SurfaceFlinger --display-id":
		return says("Display " + firstDisplay + " (HWC display 0): port=0 pnpId=GGL displayName=\"inner\"\nDisplay 4619827551948147201 (HWC display 1): port=1 pnpId=GGL displayName=\"outer\"\n")
	}
	return says("")
}

// windowReport is "dumpsys window" as Android 14 writes it, in part.
func (p *Phone) windowReport() string {
	w, h := p.size()
	secure := ""
	if p.secure() {
		secure = " SECURE"
	}
	var b strings.Builder
	b.WriteString("WINDOW MANAGER WINDOWS (dumpsys window windows)\n")
	if p.state.keyboard {
		k := p.keys()
		fmt.Fprintf(&b, "  Window #0 Window{aa11 u0 InputMethod}:\n    mAttrs={(0,0)(fillxfill) ty=INPUT_METHOD fmt=TRANSPARENT\n      fl=NOT_FOCUSABLE LAYOUT_IN_SCREEN}\n    touchable region=SkRegion((%d,%d,%d,%d))\n", k.x0, k.y0, k.x1, k.y1)
	}
	fmt.Fprintf(&b, "  Window #1 Window{bb22 u0 %s/%s.Main}:\n    mAttrs={(0,0)(fillxfill) ty=BASE_APPLICATION fmt=OPAQUE\n      fl=LAYOUT_IN_SCREEN%s LAYOUT_INSET_DECOR\n      pfl=NO_MOVE_ANIMATION}\n    touchable region=SkRegion((0,0,%d,%d))\n", p.state.app, p.state.app, secure, w, h)
	fmt.Fprintf(&b, "  mCurrentFocus=Window{bb22 u0 %s/%s.Main}\n  mFocusedApp=ActivityRecord{cc33 u0 %s/.Main t7}\n", p.state.app, p.state.app, p.state.app)
	return b.String()
}

func (p *Phone) cmd(a []string) result {
	if len(a) < 2 || a[0] != "package" || a[1] != "resolve-activity" {
		return complains(20, "cmd: Can't find service: "+strings.Join(a, " ")+"\n")
	}
	app := a[len(a)-1]
	if !slices.Contains([]string{Launcher, Notes, Settings}, app) {
		return says("No activity found\n")
	}
	return says("priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=false\n" + app + "/.Main\n")
}

func (p *Phone) am(a []string) result {
	switch {
	case len(a) == 3 && a[0] == "start" && a[1] == "-n":
		app, _, _ := strings.Cut(a[2], "/")
		if !slices.Contains([]string{Launcher, Notes, Settings}, app) {
			return says("Starting: Intent { cmp=" + a[2] + " }\nError type 3\nError: Activity class {" + a[2] + "} does not exist.\n")
		}
		p.front(app)
		return says("Starting: Intent { cmp=" + a[2] + " }\n")
	case len(a) == 5 && a[0] == "start" && a[1] == "-a" && a[3] == "-d":
		p.front(Browser)
		p.state.address = a[4]
		return says("Starting: Intent { act=" + a[2] + " dat=" + a[4] + " }\n")
	case len(a) >= 3 && a[0] == "broadcast" && a[1] == "-a":
		p.broadcast(a[2], a[3:])
		return says("Broadcasting: Intent { act=" + a[2] + " flg=0x400000 }\nBroadcast completed: result=0\n")
	}
	return complains(255, "Error: Unknown command\n")
}

// broadcast reaches a helper, if there is one that listens; nobody is told
// whether there is.
func (p *Phone) broadcast(action string, a []string) {
	extra := func(name string) string {
		for i := 0; i+2 < len(a); i++ {
			if (a[i] == "-e" || a[i] == "--es") && a[i+1] == name {
				return a[i+2]
			}
		}
		return ""
	}
	switch action {
	case "ADB_INPUT_B64":
		if text, err := base64.StdEncoding.DecodeString(extra("msg")); err == nil && p.method == helperMethod {
			p.insert(string(text))
		}
	case "devicekit.clipboard.set":
		if text, err := base64.StdEncoding.DecodeString(extra("text")); err == nil && p.opts.Pasting && extra("encoding") == "base64" {
			p.clipboard = string(text)
		}
	case "devicekit.clipboard.clear":
		p.clipboard = ""
	}
}

func (p *Phone) ime(a []string) result {
	switch {
	case len(a) >= 2 && a[0] == "list":
		out := ""
		for _, m := range []string{usualMethod, helperMethod} {
			if p.enabled[m] || (slices.Contains(a, "-a") && (m != helperMethod || p.opts.Method)) {
				out += m + "\n"
			}
		}
		return says(out)
	case len(a) != 2 || (a[1] == helperMethod && !p.opts.Method):
		return complains(255, "Error: Unknown input method\n")
	case a[0] == "enable":
		p.enabled[a[1]] = true
	case a[0] == "disable":
		delete(p.enabled, a[1])
	case a[0] == "set" && p.enabled[a[1]]:
		p.method = a[1]
	default:
		return complains(255, "Error: can't do that\n")
	}
	return says("Input method " + a[1] + ": " + a[0] + "\n")
}

func (p *Phone) settings(a []string) result {
	if strings.Join(a, " ") == "get secure default_input_method" {
		return says(p.method + "\n")
	}
	return says("null\n")
}

func (p *Phone) pm(a []string) result {
	if strings.Join(a, " ") == "path com.mobilenext.devicekit" && p.opts.Pasting {
		return says("package:/data/app/devicekit/base.apk\n")
	}
	return result{exit: 1}
}
