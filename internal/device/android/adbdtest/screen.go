package adbdtest

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"strings"
	"sync"
)

// Heights in density-independent pixels.
const (
	statusBar  = 24
	rowHeight  = 56
	keysHeight = 240
)

type box struct{ x0, y0, x1, y1 int }

func (b box) String() string { return fmt.Sprintf("[%d,%d][%d,%d]", b.x0, b.y0, b.x1, b.y1) }

// size is the screen's as the phone is turned.
func (p *Phone) size() (w, h int) {
	w, h = p.opts.Width, p.opts.Height
	if o := p.opts.Override; o[0] != 0 {
		w, h = o[0], o[1]
	}
	if p.opts.Turned%2 == 1 {
		w, h = h, w
	}
	return w, h
}

func (p *Phone) px(dp int) int { return dp * p.opts.Density / 160 }

// keys is where the keyboard lies when it is shown.
func (p *Phone) keys() box {
	w, h := p.size()
	return box{0, h - min(p.px(keysHeight), h/2), w, h}
}

// place gives each widget that is on the screen its place.
func (p *Phone) place() (widgets []widget, boxes []box) {
	w, h := p.size()
	y := p.px(statusBar)
	for i, one := range p.list() {
		if y >= h {
			break
		}
		inset := p.px(8 + i%3*4)
		widgets = append(widgets, one)
		boxes = append(boxes, box{inset, y, w - inset, min(y+p.px(rowHeight), h)})
		y += p.px(rowHeight)
	}
	return widgets, boxes
}

func (p *Phone) at(x, y int) (widget, bool) {
	if k := p.keys(); p.state.keyboard && y >= k.y0 {
		return widget{}, false
	}
	widgets, boxes := p.place()
	for i, b := range boxes {
		if x >= b.x0 && x < b.x1 && y >= b.y0 && y < b.y1 {
			return widgets[i], true
		}
	}
	return widget{}, false
}

// dump is uiautomator's description of the screen.
func (p *Phone) dump(toTerminal bool) result {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation="%d">`, p.opts.Turned)
	w, h := p.size()
	p.node(&b, widget{class: "android.widget.FrameLayout", scroll: p.state.app == Notes && p.state.screens[Notes] == "list"}, box{0, 0, w, h}, false)
	widgets, boxes := p.place()
	for i, one := range widgets {
		p.node(&b, one, boxes[i], true)
	}
	if p.state.app == Browser {
		p.node(&b, widget{class: "android.view.View", text: "Welcome"}, box{0, h / 2, w, h}, true)
	}
	b.WriteString("</node></hierarchy>")
	if toTerminal {
		b.WriteString("UI hierchary dumped to: /dev/tty\n")
	}
	return says(b.String())
}

func (p *Phone) node(b *strings.Builder, w widget, at box, whole bool) {
	text := w.text
	if w.edit && text == "" {
		text = w.hint // as Android does
	}
	fmt.Fprintf(b, `<node index="0" text="%s" resource-id="%s" class="%s" package="%s" content-desc="%s" checkable="%t" checked="%t" clickable="%t" enabled="true" focusable="%t" focused="%t" scrollable="%t" long-clickable="%t" password="%t" selected="false" hint="%s" bounds="%s"`,
		html.EscapeString(text), w.id, w.class, p.state.app, html.EscapeString(w.desc), w.check, w.checked, w.click != nil || w.edit, w.edit,
		w.edit && w.short() == p.state.focus, w.scroll, w.hold != nil, w.password, w.hint, at)
	if whole {
		b.WriteString(" />")
	} else {
		b.WriteString(">")
	}
}

// picture is what screencap writes: grey, or black where the screen is secure.
func (p *Phone) picture() []byte {
	w, h := p.size()
	shade := color.Gray{Y: 0xc0}
	if p.secure() {
		shade.Y = 0
	}
	return plain(plainPicture{w, h, shade})
}

type plainPicture struct {
	w, h  int
	shade color.Gray
}

// drawn keeps the pictures of all phones: drawing one takes longer than all
// else that a phone does.
var drawn sync.Map // of plainPicture to []byte

func plain(of plainPicture) []byte {
	if b, ok := drawn.Load(of); ok {
		return b.([]byte)
	}
	img := image.NewPaletted(image.Rect(0, 0, of.w, of.h), color.Palette{of.shade})
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img); err != nil {
		panic(err) // into memory, of a picture that we made
	}
	drawn.Store(of, out.Bytes())
	return out.Bytes()
}
