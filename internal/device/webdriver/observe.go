package webdriver

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// script returns what the page shows; see the comment at its top.
//
//go:embed scene.js
var script string

// page is what the script returns.
type page struct {
	Host     string    `json:"host"`
	Width    int       `json:"width"`
	Height   int       `json:"height"`
	Rotation int       `json:"rotation"`
	Ready    bool      `json:"ready"`
	Elements []element `json:"elements"`

	moving bool // it had not come to rest when it was read
}

type element struct {
	ID     string   `json:"id"`
	Role   string   `json:"role"`
	Text   string   `json:"text"`
	Label  string   `json:"label"`
	Bounds [4]int   `json:"bounds"`
	Flags  []string `json:"flags"`
}

// How long a page may take to come to rest, and how often it is looked at.
const (
	settleTime  = 3 * time.Second
	settlePause = 100 * time.Millisecond
)

// The ways in which a screen is read.
const (
	treePage   device.Tree = "dom"
	treeDialog device.Tree = "dialog"
)

// Observe reads the page once it shows the same twice in a row.
func (b *Browser) Observe(ctx context.Context) (device.Scene, error) {
	return b.scene(ctx, b.settled, b.opts.Screenshots)
}

// Glance reads the page as it is, without a picture.
func (b *Browser) Glance(ctx context.Context) (device.Scene, error) {
	return b.scene(ctx, b.once, false)
}

// scene reads what is shown: a dialog, or the page in the way that read says.
func (b *Browser) scene(ctx context.Context, read func(context.Context) (page, error), picture bool) (device.Scene, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime+callTimeout)
	defer cancel()
	dialog, open, err := b.dialog(ctx)
	if err != nil {
		return device.Scene{}, observing(err)
	}
	if open {
		return b.dialogScene(dialog), nil
	}
	shown, err := read(ctx)
	if is(err, "unexpected alert open") { // it came up meanwhile
		if dialog, open, err = b.dialog(ctx); err == nil && open {
			return b.dialogScene(dialog), nil
		}
	}
	if err != nil {
		return device.Scene{}, observing(err)
	}
	b.host = shown.Host
	scene := shown.scene()
	if picture {
		if scene.Screenshot, err = b.screenshot(ctx, scene.Size); err != nil {
			return device.Scene{}, observing(err)
		}
	}
	return device.Seal(scene), nil
}

// observing is the error of a look: nothing was dispatched.
func observing(err error) error { return device.Fail(kindOf(err).Because(err), device.No) }

// settled looks until two looks in a row are the same and the page has loaded,
// or until the time is up.
func (b *Browser) settled(ctx context.Context) (page, error) {
	until := time.Now().Add(settleTime)
	var last []byte
	for {
		now, err := b.look(ctx)
		if err != nil {
			return page{}, err
		}
		p, err := readPage(now)
		if err != nil {
			return page{}, err
		}
		rests := p.Ready && bytes.Equal(now, last)
		if p.moving = !rests; rests || time.Now().After(until) {
			return p, nil
		}
		last = now
		if err := sleep.For(ctx, settlePause); err != nil {
			return page{}, err
		}
	}
}

// once reads the page at one look; nobody knows whether one that has loaded is
// on its way, but what it shows is where it is.
func (b *Browser) once(ctx context.Context) (page, error) {
	now, err := b.look(ctx)
	if err != nil {
		return page{}, err
	}
	p, err := readPage(now)
	p.moving = !p.Ready
	return p, err
}

func readPage(now json.RawMessage) (p page, err error) {
	if err := json.Unmarshal(now, &p); err != nil {
		return page{}, errors.New("webdriver: the page's description is not readable")
	}
	return p, nil
}

// look describes the page as it is now. A page that is just being replaced is
// looked at again.
func (b *Browser) look(ctx context.Context) (json.RawMessage, error) {
	const tries = 20
	for try := 1; ; try++ {
		var text string
		err := b.session.call(ctx, http.MethodPost, "/execute/sync", map[string]any{"script": script, "args": []int{device.MaxElements, device.MaxTextRunes}}, &text)
		if err == nil {
			return json.RawMessage(text), nil
		}
		if !is(err, "javascript error", "no such execution context", "unknown error", "stale element reference") || try == tries || kindOf(err) == device.ErrLost {
			return nil, err
		}
		if err := sleep.For(ctx, settlePause); err != nil {
			return nil, err
		}
	}
}

func (p page) scene() device.Scene {
	s := device.Scene{App: p.Host, Web: true, Tree: treePage, Unsettled: p.moving, Size: device.Size{W: p.Width, H: p.Height}, Rotation: p.Rotation}
	for _, e := range p.Elements {
		s.Elements = append(s.Elements, device.Element{ID: e.ID, Role: e.Role, Text: e.Text, Label: e.Label,
			Bounds: device.Rect{X0: e.Bounds[0], Y0: e.Bounds[1], X1: e.Bounds[2], Y1: e.Bounds[3]}, Flags: flags(e.Flags)})
	}
	return s
}

var flagOf = map[string]device.Flags{
	"clickable": device.Clickable, "editable": device.Editable, "checkable": device.Checkable, "checked": device.Checked, "focused": device.Focused,
	"scrollable": device.Scrollable, "selected": device.Selected, "disabled": device.Disabled, "password": device.Password,
}

func flags(names []string) (f device.Flags) {
	for _, n := range names {
		f |= flagOf[n]
	}
	return f
}

// dialog returns the text of the dialog that the page's script has opened.
func (b *Browser) dialog(ctx context.Context) (text string, open bool, err error) {
	err = b.session.call(ctx, http.MethodGet, "/alert/text", nil, &text)
	if is(err, "no such alert") {
		return "", false, nil
	}
	return text, err == nil, err
}

// The places of a dialog's parts in its scene. The browser draws none of it
// where a page could be tapped: a tap on a button answers the dialog.
var (
	dialogText   = device.Rect{X0: 20, Y0: 300, X1: 392, Y1: 400}
	dialogCancel = device.Rect{X0: 20, Y0: 420, X1: 196, Y1: 470}
	dialogOK     = device.Rect{X0: 216, Y0: 420, X1: 392, Y1: 470}
)

// dialogScene shows a dialog of the page that was seen last: the browser
// tells neither address nor picture while one is open.
func (b *Browser) dialogScene(text string) device.Scene {
	return device.Seal(device.Scene{App: b.host, Web: true, Tree: treeDialog, Size: device.Size{W: width, H: height}, Elements: []device.Element{
		{Role: "dialog", Text: text, Bounds: dialogText},
		{Role: "button", Text: "Cancel", Bounds: dialogCancel, Flags: device.Clickable},
		{Role: "button", Text: "OK", Bounds: dialogOK, Flags: device.Clickable},
	}})
}

func (b *Browser) screenshot(ctx context.Context, screen device.Size) (*device.Screenshot, error) {
	var encoded string
	if err := b.session.call(ctx, http.MethodGet, "/screenshot", nil, &encoded); err != nil {
		return nil, err
	}
	picture, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("webdriver: the screenshot is not in base64")
	}
	return device.NewScreenshot(picture, screen, b.opts.ImageEdge)
}
