package adbdtest

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The apps.
const (
	Launcher = "com.example.launcher"
	Notes    = "com.example.notes"
	Settings = "com.example.settings"
	Browser  = "com.example.browser"
)

// state is what the phone shows; everything in it is forgotten at a restart.
type state struct {
	app      string
	screens  map[string]string // of each app
	fields   map[string]string
	focus    string // id of the field that takes text
	cursor   int    // in its text, in bytes
	rising   bool   // the keyboard is coming up: text is lost until somebody has seen it
	keyboard bool
	scrolled int
	notes    []string
	address  string
	touched  string // id or text of the widget that was touched last
	held     string // of the one that was held
	trick    Trick
	tricked  int // touches of decoys
	switches map[string]bool
}

func newState() state {
	return state{app: Launcher, screens: map[string]string{Notes: "list", Settings: "main"}, fields: map[string]string{},
		switches: map[string]bool{}, notes: []string{"Milk", "Stamps", "Bread", "Tea", "Rice", "Salt", "Soap", "Thread", "Paper", "Pens", "Glue", "Rope", "Oil", "Flour"}}
}

// widget is one thing on a screen.
type widget struct {
	class, id, text, desc, hint string
	click, hold                 func(*Phone)
	edit, password, scroll      bool
	check, checked              bool
}

// list returns the widgets of the screen, from top to bottom.
func (p *Phone) list() []widget { return p.tricky(p.plain()) }

func (p *Phone) plain() []widget {
	s := &p.state
	switch s.app + " " + s.screens[s.app] {
	case Notes + " list":
		w := []widget{{class: "android.widget.TextView", text: "Notes"},
			{class: "android.widget.Button", id: Notes + ":id/new", text: "New note", click: func(p *Phone) { p.show("form") }}}
		for _, n := range s.notes[min(s.scrolled, len(s.notes)):] {
			w = append(w, widget{class: "android.widget.TextView", id: "android:id/title", text: n,
				click: func(*Phone) {}, hold: func(p *Phone) { p.remove(n) }})
		}
		return w
	case Notes + " form":
		return []widget{{class: "android.widget.TextView", text: "New note"},
			{class: "android.widget.EditText", id: Notes + ":id/title", text: s.fields["title"], hint: "Title", edit: true},
			{class: "android.widget.EditText", id: Notes + ":id/body", text: s.fields["body"], desc: "Body", edit: true},
			{class: "android.widget.Button", id: Notes + ":id/save", text: "Save", click: (*Phone).saveNote}}
	case Settings + " main":
		return []widget{{class: "android.widget.TextView", text: "Settings"},
			{class: "android.widget.Switch", id: Settings + ":id/wifi", text: "Wi-Fi", check: true, checked: s.switches["wifi"], click: func(p *Phone) { p.state.switches["wifi"] = !p.state.switches["wifi"] }},
			{class: "android.widget.Button", id: Settings + ":id/turn", text: "Turn the screen", click: func(p *Phone) { p.opts.Turned = (p.opts.Turned + 1) % 4 }},
			{class: "android.widget.Button", id: Settings + ":id/lock", text: "Screen lock", click: func(p *Phone) { p.show("lock") }}}
	case Settings + " lock":
		return []widget{{class: "android.widget.TextView", text: "Screen lock"},
			{class: "android.widget.EditText", id: Settings + ":id/pin", text: strings.Repeat("•", utf8.RuneCountInString(s.fields["pin"])), desc: "PIN", edit: true, password: true}}
	case Browser + " ":
		return []widget{{class: "android.webkit.WebView", text: s.address}}
	}
	return []widget{
		{class: "android.widget.TextView", text: "Notes", desc: "Notes", click: func(p *Phone) { p.front(Notes) }},
		{class: "android.widget.TextView", text: "Settings", desc: "Settings", click: func(p *Phone) { p.front(Settings) }}}
}

// secure reports whether the screen forbids pictures.
func (p *Phone) secure() bool { return p.state.app == Settings && p.state.screens[Settings] == "lock" }

func (p *Phone) front(app string) {
	p.state.app = app
	p.blur()
}

func (p *Phone) show(screen string) {
	p.state.screens[p.state.app] = screen
	p.blur()
}

func (p *Phone) blur() {
	p.state.focus, p.state.cursor, p.state.keyboard, p.state.scrolled = "", 0, false, 0
}

func (p *Phone) remove(note string) {
	p.state.notes = slices.DeleteFunc(p.state.notes, func(n string) bool { return n == note })
}

// back puts the keyboard away, or leaves the screen.
func (p *Phone) back() {
	s := &p.state
	first := map[string]string{Notes: "list", Settings: "main"}[s.app]
	switch {
	case s.keyboard:
		s.keyboard = false
	case s.screens[s.app] != first:
		p.show(first)
	default:
		p.front(Launcher)
	}
}

// tap does what the widget at that place does.
func (p *Phone) tap(x, y int, held bool) {
	w, ok := p.at(x, y)
	if !ok {
		p.state.touched = ""
		return
	}
	p.state.touched = w.name()
	if held {
		p.state.held = w.name()
	}
	switch {
	case w.edit:
		p.state.rising = !p.state.keyboard
		p.state.focus, p.state.keyboard, p.state.cursor = w.short(), true, 0
	case held && w.hold != nil:
		w.hold(p)
	case w.click != nil:
		w.click(p)
	}
}

func (w widget) name() string {
	if s := w.short(); s != "" {
		return s
	}
	return w.text
}

// short is the widget's own name, "" where Android's layout named it.
func (w widget) short() string {
	if strings.HasPrefix(w.id, "android:") {
		return ""
	}
	_, s, _ := strings.Cut(w.id, ":id/")
	return s
}

// insert puts text where the cursor is.
func (p *Phone) insert(text string) {
	if s := &p.state; s.focus != "" && !s.rising {
		now := s.fields[s.focus]
		s.fields[s.focus] = now[:s.cursor] + text + now[s.cursor:]
		s.cursor += len(text)
	}
}

// erase removes the character before the cursor, or the one after it.
func (p *Phone) erase(before bool) {
	s := &p.state
	left, right := s.fields[s.focus][:s.cursor], s.fields[s.focus][s.cursor:]
	if before {
		_, n := utf8.DecodeLastRuneInString(left)
		left = left[:len(left)-n]
	} else {
		_, n := utf8.DecodeRuneInString(right)
		right = right[n:]
	}
	s.fields[s.focus], s.cursor = left+right, len(left)
}

// endOfLine moves the cursor to the end of its line.
func (p *Phone) endOfLine() {
	s := &p.state
	rest := s.fields[s.focus][s.cursor:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	s.cursor += len(rest)
}

// key does what a key does, by Android's number of it.
func (p *Phone) key(code string) {
	s := &p.state
	switch n, _ := strconv.Atoi(code); n {
	case 3:
		p.front(Launcher)
	case 4:
		p.back()
	case 66:
		switch s.app + " " + s.focus {
		case Notes + " title":
			p.saveNote()
		case Notes + " body":
			p.insert("\n")
		}
	case 67, 112:
		if s.focus != "" {
			p.erase(n == 67)
		}
	case 123:
		if s.focus != "" {
			p.endOfLine()
		}
	case 279:
		p.insert(p.clipboard)
	}
}

func (p *Phone) saveNote() {
	s := &p.state
	s.notes = append([]string{s.fields["title"]}, s.notes...)
	s.fields["title"], s.fields["body"] = "", ""
	p.show("list")
}

// What a test asks or sets.

// Turn turns the phone to so many quarter turns from its natural position.
func (p *Phone) Turn(quarters int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opts.Turned = quarters
}

// Set changes what the phone is.
func (p *Phone) Set(change func(*Options)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.opts)
}

// Notes lists the notes, newest first.
func (p *Phone) Notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.state.notes)
}

// Field returns what a field holds, by its short id.
func (p *Phone) Field(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.fields[id]
}

// Touched returns the short id, or the text, of the widget that was touched
// last; "" where the touch hit none.
func (p *Phone) Touched() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.touched
}

// Shows returns the app in front with its screen, such as "com.example.notes form".
func (p *Phone) Shows() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.app + " " + p.state.screens[p.state.app]
}

// Method returns the input method that is chosen.
func (p *Phone) Method() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.method
}

// Enabled reports whether an input method can be chosen.
func (p *Phone) Enabled(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enabled[method]
}

// Clipboard returns what the clipboard holds.
func (p *Phone) Clipboard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clipboard
}
