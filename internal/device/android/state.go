package android

import (
	"regexp"
	"strconv"
	"strings"

	"interlock/internal/device"
)

// What Android's own reports say. They differ between versions; what can't be
// read is left out, never guessed.

var sizeLine = regexp.MustCompile(`(?m)^(Physical|Override) size:\s*(\d{1,5})x(\d{1,5})`)

// readSize reads "wm size": the override where there is one.
func readSize(report string) (device.Size, bool) {
	var size device.Size
	for _, m := range sizeLine.FindAllStringSubmatch(report, 4) {
		w, _ := strconv.Atoi(m[2]) // at most five digits
		h, _ := strconv.Atoi(m[3])
		if size.W == 0 || m[1] == "Override" {
			size = device.Size{W: w, H: h}
		}
	}
	return size, size.W > 0 && size.H > 0
}

// turned is size after n quarter turns.
func turned(s device.Size, n int) device.Size {
	if n%2 == 1 {
		return device.Size{W: s.H, H: s.W}
	}
	return s
}

var orientation = regexp.MustCompile(`(?:SurfaceOrientation|mCurrentOrientation|orientation)[:=]\s*(?:ROTATION_)?(\d{1,3})`)

// readRotation reads the quarter turns out of "dumpsys input" or "dumpsys
// display".
func readRotation(report string) (int, bool) {
	m := orientation.FindStringSubmatch(report)
	if m == nil {
		return 0, false
	}
	n, _ := strconv.Atoi(m[1])
	if n >= 90 {
		n /= 90
	}
	return n, n <= 3
}

// windows is what "dumpsys window" says of the windows on the screen.
type windows struct {
	focus    string      // of the window in front, as Android names it: "package/activity" or "StatusBar"
	secure   bool        // that window forbids pictures
	keyboard device.Rect // where the keyboard takes touches, if it is shown
	fallback string      // the app in front while no window has the focus
}

var (
	currentFocus = regexp.MustCompile(`mCurrentFocus=Window\{([0-9a-f]+) u\d+ ([^}]*)\}`)
	focusedApp   = regexp.MustCompile(`mFocusedApp=.*?\bu\d+ ([\w.]+)/`)
	windowStart  = regexp.MustCompile(`(?m)^ *Window #\d+ Window\{([0-9a-f]+) u\d+ ([^}]*)\}:`)
	windowFlags  = regexp.MustCompile(`\bfl=((?:#?[0-9a-fA-F]+\b)|[A-Z_]+(?: [A-Z_]+)*)`)
	touchRegion  = regexp.MustCompile(`touchable region=SkRegion\(\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)`)
)

const flagSecure = 0x2000

// readWindows reads "dumpsys window". Where several displays have a focus, the
// last one counts.
func readWindows(report string) (w windows) {
	var focus string
	if all := currentFocus.FindAllStringSubmatch(report, 8); len(all) > 0 {
		focus, w.focus = all[len(all)-1][1], all[len(all)-1][2]
	}
	if m := focusedApp.FindStringSubmatch(report); m != nil {
		w.fallback = m[1]
	}
	starts := windowStart.FindAllStringSubmatchIndex(report, 400)
	for i, at := range starts {
		section := report[at[1]:]
		if i+1 < len(starts) {
			section = report[at[1]:starts[i+1][0]]
		}
		id, name := report[at[2]:at[3]], report[at[4]:at[5]]
		if id == focus && isSecure(section) {
			w.secure = true
		}
		if name == "InputMethod" {
			w.keyboard = readRegion(section)
		}
	}
	return w
}

// isSecure reads a window's flags, which newer versions spell out.
func isSecure(section string) bool {
	m := windowFlags.FindStringSubmatch(section)
	if m == nil {
		return false
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(m[1], "#"), 16, 32); err == nil {
		return n&flagSecure != 0
	}
	for _, word := range strings.Fields(m[1]) {
		if word == "SECURE" {
			return true
		}
	}
	return false
}

func readRegion(section string) device.Rect {
	m := touchRegion.FindStringSubmatch(section)
	if m == nil {
		return device.Rect{}
	}
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[1+i]) // an overflow becomes the largest number, and is off the screen
	}
	return device.Rect{X0: n[0], Y0: n[1], X1: n[2], Y1: n[3]}
}

// app is the package of the window in front, "" where its name holds none.
func (w windows) app() string {
	app, _, ok := strings.Cut(w.focus, "/")
	if !ok {
		return ""
	}
	return app
}

var inputShown = regexp.MustCompile(`mInputShown=(true|false)`)

// readKeyboard reads "dumpsys input_method". Known is false where it does not
// say.
func readKeyboard(report string) (shown, known bool) {
	m := inputShown.FindStringSubmatch(report)
	return m != nil && m[1] == "true", m != nil
}

var displayLine = regexp.MustCompile(`(?m)^Display (\d{1,20}) `)

// readDisplays reads "dumpsys SurfaceFlinger --display-id".
func readDisplays(report string) (ids []string) {
	for _, m := range displayLine.FindAllStringSubmatch(report, 16) {
		ids = append(ids, m[1])
	}
	return ids
}
