package sim

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"interlock/internal/device"
)

// The screens.
const (
	homeScreen    screen = "home"
	settingsMain  screen = "settings"
	settingsLock  screen = "lock"
	settingsAbout screen = "about"
	contactList   screen = "contacts"
	contactForm   screen = "form"
	contactDetail screen = "detail"
	browserPage   screen = "page"
)

var firstScreens = map[string]screen{Home: homeScreen, Settings: settingsMain, Contacts: contactList, Browser: browserPage}

// people are in the phone from the start, in order.
var people = []string{"Alan Turing", "Annie Easley", "Barbara Liskov", "Charles Babbage", "Dennis Ritchie", "Dorothy Vaughan",
	"Edsger Dijkstra", "Frances Allen", "George Boole", "Grace Hopper", "Hedy Lamarr", "John McCarthy", "Karen Jones",
	"Katherine Johnson", "Ken Thompson", "Margaret Hamilton", "Niklaus Wirth", "Radia Perlman", "Tony Hoare", "Valerie Thomas"}

// widget is one thing on a screen before it has a place.
type widget struct {
	id, role, text, label string
	flags                 device.Flags
	act, hold             func(*Phone) // on a tap, on a long press; nil: nothing
}

// view is what a screen is made of.
type view struct {
	title   string
	corner  *widget // in the title bar, on the right
	rows    []widget
	scrolls bool
	secure  bool
}

// dialog covers the screen until it is answered.
type dialog struct {
	title, text string
	buttons     []widget
}

func (p *Phone) top() screen {
	stack := p.stacks[p.app]
	return stack[len(stack)-1]
}

func (p *Phone) view() view {
	switch p.top() {
	case settingsMain:
		return p.settings()
	case settingsLock:
		return p.lock()
	case settingsAbout:
		return view{title: "About phone", rows: []widget{{role: "text", text: "Model: Sim One"}, {role: "text", text: "Version: 1"}}}
	case contactList:
		return p.contactList()
	case contactForm:
		return p.form()
	case contactDetail:
		return p.detail()
	case browserPage:
		return view{title: "Browser", rows: []widget{{id: "address", role: "text", text: p.addressed}}}
	}
	return view{title: "Home", rows: []widget{
		button("open_contacts", "Contacts", func(p *Phone) { p.open(Contacts) }),
		button("open_settings", "Settings", func(p *Phone) { p.open(Settings) }),
	}}
}

func (p *Phone) settings() view {
	return view{title: "Settings", scrolls: true, rows: []widget{
		p.toggle("wifi", "Wi-Fi"), p.toggle("bluetooth", "Bluetooth"), p.toggle("airplane", "Airplane mode"),
		p.toggle("landscape", "Landscape"), p.toggle("sound", "Sound"), p.toggle("vibration", "Vibration"),
		p.toggle("location", "Location"), p.toggle("saver", "Battery saver"), p.toggle("sync", "Automatic sync"),
		button("lock", "Screen lock", func(p *Phone) { p.push(settingsLock) }),
		p.toggle("subtitles", "Subtitles"), p.toggle("large", "Large text"), p.toggle("dark", "Dark theme"),
		button("about", "About phone", func(p *Phone) { p.push(settingsAbout) }),
	}}
}

func (p *Phone) lock() view {
	pin := p.field("pin", "PIN")
	pin.flags |= device.Password
	return view{title: "Screen lock", secure: true, corner: saveButton((*Phone).savePIN), rows: []widget{pin}}
}

func (p *Phone) contactList() view {
	v := view{title: "Contacts", scrolls: true}
	add := button("new", "New contact", func(p *Phone) { p.push(contactForm) })
	v.corner = &add
	for i, c := range p.contacts {
		row := button("contact", c.name, func(p *Phone) { p.chosen = i; p.push(contactDetail) })
		row.hold = func(p *Phone) { p.chosen = i; p.askDelete() }
		v.rows = append(v.rows, row)
	}
	return v
}

func (p *Phone) form() view {
	return view{title: "New contact", corner: saveButton((*Phone).saveContact),
		rows: []widget{p.field("name", "Name"), p.field("phone", "Phone")}}
}

func (p *Phone) detail() view {
	c := p.contacts[p.chosen]
	remove := button("delete", "Delete", (*Phone).askDelete)
	return view{title: "Contact", corner: &remove, rows: []widget{{role: "text", text: c.name}, {role: "text", text: c.phone}}}
}

func button(id, text string, act func(*Phone)) widget {
	return widget{id: id, role: "button", text: text, flags: device.Clickable, act: act}
}

func saveButton(act func(*Phone)) *widget {
	w := button("save", "Save", act)
	return &w
}

func (p *Phone) toggle(id, text string) widget {
	w := widget{id: id, role: "switch", text: text, flags: device.Clickable | device.Checkable,
		act: func(p *Phone) { p.switches[id] = !p.switches[id] }}
	if p.switches[id] {
		w.flags |= device.Checked
	}
	return w
}

func (p *Phone) field(id, label string) widget {
	w := widget{id: id, role: "field", text: p.fields[id], label: label, flags: device.Clickable | device.Editable,
		act: func(p *Phone) { p.focus, p.keyboard = id, true }}
	if p.focus == id {
		w.flags |= device.Focused
	}
	return w
}

func (p *Phone) open(app string) {
	p.leaveField()
	p.app = app
}

func (p *Phone) push(s screen) {
	p.leaveField()
	p.stacks[p.app] = append(p.stacks[p.app], s)
}

// pop leaves the screen, or the app from its first one.
func (p *Phone) pop() {
	p.leaveField()
	if stack := p.stacks[p.app]; len(stack) > 1 {
		p.stacks[p.app] = stack[:len(stack)-1]
		return
	}
	p.app = Home
}

func (p *Phone) leaveField() { p.focus, p.keyboard = "", false }

func (p *Phone) dismiss() { p.dialog = nil }

func (p *Phone) say(title, text string) {
	p.leaveField()
	p.dialog = &dialog{title: title, text: text, buttons: []widget{button("ok", "OK", (*Phone).dismiss)}}
}

func (p *Phone) saveContact() {
	name := strings.TrimSpace(p.fields["name"])
	if name == "" {
		p.say("Name is missing", "Type a name first.")
		return
	}
	p.contacts = append(p.contacts, contact{name: name, phone: p.fields["phone"]})
	slices.SortStableFunc(p.contacts, func(a, b contact) int { return strings.Compare(a.name, b.name) })
	delete(p.fields, "name")
	delete(p.fields, "phone")
	p.pop()
	p.scrolled[contactList] = 0
	p.say("Contact saved", name)
}

func (p *Phone) askDelete() {
	name := p.contacts[p.chosen].name
	p.dialog = &dialog{title: "Delete contact", text: name, buttons: []widget{
		button("cancel", "Cancel", (*Phone).dismiss),
		button("confirm", "Delete", func(p *Phone) {
			p.contacts = slices.Delete(p.contacts, p.chosen, p.chosen+1)
			p.dismiss()
			if p.top() == contactDetail {
				p.pop()
			}
		}),
	}}
}

func (p *Phone) savePIN() {
	n := utf8.RuneCountInString(p.fields["pin"])
	delete(p.fields, "pin")
	p.pop()
	p.say("Screen lock", fmt.Sprintf("The PIN has %d characters.", n))
}
