package android

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"interlock/internal/device"
)

// Bounds of a hierarchy.
const (
	maxNodes = 100_000
	maxDepth = 1000 // nodes deeper than that are read as if they were no deeper
)

// hierarchy is a window's description, as uiautomator read it.
type hierarchy struct {
	source   device.Tree
	rotation int // quarter turns; -1 where it does not say
	app      string
	apps     map[string]bool // every package that has a node
	nodes    []device.Element
	lengths  []int // runes of each node's text, also of a password's
	webEmpty bool  // a web page is in it without anything inside
}

// Why there is no hierarchy.
var (
	errNoTree  = errors.New("adb: uiautomator wrote no description of the screen")
	errTreeCut = errors.New("adb: uiautomator's description of the screen was cut")
)

// readHierarchy reads a dump with whatever came before and after it. It takes
// no dump that has no end, since nobody could tell what is missing.
func readHierarchy(dump []byte) (hierarchy, error) {
	start := bytes.Index(dump, []byte("<hierarchy"))
	if start < 0 {
		return hierarchy{}, errNoTree
	}
	end := bytes.LastIndex(dump, []byte("</hierarchy>"))
	if end < start {
		if empty := bytes.Index(dump[start:], []byte("/>")); empty < 0 || bytes.ContainsAny(dump[start+1:start+empty], "<>") {
			return hierarchy{}, errTreeCut
		}
		end = len(dump)
	}
	r := reader{hierarchy: hierarchy{rotation: -1, apps: map[string]bool{}}}
	m := markup{rest: dump[start:end]}
	for m.next() && len(r.nodes) < maxNodes {
		r.take(&m.tag)
	}
	r.webEmpty = r.webs > 0 && r.inWeb == 0
	return r.hierarchy, nil
}

// reader builds a hierarchy out of tags.
type reader struct {
	hierarchy
	open        []frame
	deeper      int // open nodes beyond maxDepth
	webs, inWeb int
}

// frame is what an open node says about those inside it.
type frame struct {
	clip   *device.Rect // nothing inside shows beyond it; nil: no limit
	hidden bool
	web    bool
}

func (r *reader) take(t *tag) {
	switch {
	case t.closing && t.name != "node":
	case t.closing && r.deeper > 0:
		r.deeper--
	case t.closing:
		r.open = r.open[:max(0, len(r.open)-1)]
	case t.name == "hierarchy":
		if n, err := strconv.Atoi(t.get("rotation")); err == nil && n >= 0 && n <= 3 {
			r.rotation = n
		}
	case t.name == "node":
		inside := r.node(t)
		switch {
		case t.empty:
		case len(r.open) == maxDepth:
			r.deeper++
		default:
			r.open = append(r.open, inside)
		}
	}
}

// node keeps a node that shows something or can be acted on, and returns what
// holds for those inside it.
func (r *reader) node(t *tag) frame {
	var around frame
	if len(r.open) > 0 {
		around = r.open[len(r.open)-1]
	}
	if app := t.get("package"); app != "" {
		if r.app == "" {
			r.app = app
		}
		r.apps[app] = true
	}
	inside := around
	inside.hidden = around.hidden || t.get("visible-to-user") == "false"
	bounds := readBounds(t.get("bounds"))
	if around.clip != nil {
		bounds = within(bounds, *around.clip)
	}
	e := device.Element{ID: shortID(t.get("resource-id")), Role: role(t.get("class")), Bounds: bounds, Flags: flags(t),
		Text: t.get("text"), Label: t.get("content-desc")}
	if hint := t.get("hint"); e.Flags.Has(device.Editable) && hint != "" {
		if e.Label == "" {
			e.Label = hint
		}
		if e.Text == hint { // Android shows the hint as if it were the content
			e.Text = ""
		}
	}
	if e.Label == e.Text && !e.Flags.Has(device.Editable) {
		e.Label = ""
	}
	if e.Flags.Has(device.Scrollable) && !bounds.Empty() {
		inside.clip = &bounds
	}
	if around.web {
		r.inWeb++
	}
	if e.Role == roleWeb {
		r.webs++
		inside.web = true
	}
	if !inside.hidden && worth(e) {
		r.nodes = append(r.nodes, e)
		r.lengths = append(r.lengths, len([]rune(e.Text)))
	}
	return inside
}

// worth reports whether an element tells or takes anything.
func worth(e device.Element) bool {
	return e.Text != "" || e.Label != "" || e.Role == roleWeb ||
		e.Flags&(device.Clickable|device.Editable|device.Checkable|device.Scrollable) != 0
}

// readBounds reads "[x0,y0][x1,y1]"; anything else has no area.
func readBounds(s string) device.Rect {
	var n [4]int
	s = strings.ReplaceAll(strings.Trim(s, "[]"), "][", ",")
	for i := range n {
		word, rest, more := strings.Cut(s, ",")
		v, err := strconv.Atoi(word)
		if err != nil || more == (i == 3) {
			return device.Rect{}
		}
		n[i], s = v, rest
	}
	return device.Rect{X0: n[0], Y0: n[1], X1: n[2], Y1: n[3]}
}

// within returns the part of r that lies in limit.
func within(r, limit device.Rect) device.Rect {
	r = device.Rect{X0: max(r.X0, limit.X0), Y0: max(r.Y0, limit.Y0), X1: min(r.X1, limit.X1), Y1: min(r.Y1, limit.Y1)}
	if r.Empty() {
		return device.Rect{}
	}
	return r
}

// shortID is the name of a resource within its app. The names that Android's
// own layouts give are on every second row of a list, so they name nothing.
func shortID(id string) string {
	if strings.HasPrefix(id, "android:id/") {
		return ""
	}
	if _, short, ok := strings.Cut(id, ":id/"); ok {
		return short
	}
	return id
}

const roleWeb = "web"

// roles are the roles of Android's own widgets, and of those of its support
// libraries, by the last part of the class's name without "AppCompat" or
// "Material" in front.
var roles = map[string]string{
	"Button": "button", "ImageButton": "button", "FloatingActionButton": "button", "Chip": "button",
	"EditText": "field", "AutoCompleteTextView": "field", "MultiAutoCompleteTextView": "field", "TextInputEditText": "field", "SearchView$SearchAutoComplete": "field",
	"CheckBox": "checkbox", "CheckedTextView": "checkbox", "RadioButton": "radio", "Switch": "switch", "SwitchCompat": "switch", "ToggleButton": "switch",
	"ImageView": "image", "SeekBar": "slider", "ProgressBar": "progress", "Spinner": "list", "ListView": "list", "RecyclerView": "list", "GridView": "list",
	"ScrollView": "scroll", "HorizontalScrollView": "scroll", "NestedScrollView": "scroll", "ViewPager": "scroll", "WebView": roleWeb, "TextView": "text",
}

func role(class string) string {
	short := class[strings.LastIndexByte(class, '.')+1:]
	short = strings.TrimPrefix(strings.TrimPrefix(short, "AppCompat"), "Material")
	if r, ok := roles[short]; ok {
		return r
	}
	return "group"
}

// flagNames are the attributes that become flags.
var flagNames = map[string]device.Flags{
	"clickable": device.Clickable, "long-clickable": device.Clickable, "checkable": device.Checkable, "checked": device.Checked, "focused": device.Focused,
	"scrollable": device.Scrollable, "selected": device.Selected, "password": device.Password,
}

func flags(t *tag) (f device.Flags) {
	for _, a := range t.attrs {
		switch {
		case a.value == "true":
			f |= flagNames[a.name]
		case a.name == "enabled" && a.value == "false":
			f |= device.Disabled
		}
	}
	if role(t.get("class")) == "field" {
		f |= device.Editable
	}
	return f
}
