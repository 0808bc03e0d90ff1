package webdriver

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"interlock/internal/device"
)

// Do carries out one action.
func (b *Browser) Do(ctx context.Context, a device.Action) error {
	text, open, err := b.dialog(ctx)
	if err != nil {
		return failed(err, false)
	}
	if open {
		return b.answer(ctx, text, a)
	}
	switch a := a.(type) {
	case device.Tap:
		return b.touch(ctx, false, down(a.At), lift())
	case device.LongPress:
		return b.touch(ctx, false, down(a.At), pause(a.For), lift())
	case device.Swipe:
		return b.touch(ctx, false, down(a.From), move(a.To, a.For), lift())
	case device.TypeText:
		return b.typeText(ctx, a)
	case device.Press:
		return b.press(ctx, a.Key)
	case device.HideKeyboard:
		return device.Refuse("this browser shows no keyboard, so there is none to hide")
	case device.OpenApp:
		return device.Refuse("a browser has no apps; open an address instead")
	case device.OpenURL:
		return b.open(ctx, a.URL)
	}
	return device.Refuse("this browser can't do that")
}

// answer does what can be done while a dialog is open: tap one of its buttons,
// or go back, which dismisses it.
func (b *Browser) answer(ctx context.Context, _ string, a device.Action) error {
	var path string
	switch a := a.(type) {
	case device.Tap:
		switch {
		case dialogOK.Contains(a.At):
			path = "/alert/accept"
		case dialogCancel.Contains(a.At):
			path = "/alert/dismiss"
		}
	case device.Press:
		if a.Key == device.Back {
			path = "/alert/dismiss"
		}
	}
	if path == "" {
		return device.Refuse("a dialog is open; tap its OK or Cancel first")
	}
	return b.send(ctx, http.MethodPost, path, struct{}{}, false)
}

// send sends one command of an action. Sent says whether part of the action
// was sent before.
func (b *Browser) send(ctx context.Context, method, path string, body any, sent bool) error {
	err := b.session.call(ctx, method, path, body, nil)
	if err == nil || is(err, "unexpected alert open") { // what it opened is for the next look
		return nil
	}
	return failed(err, sent)
}

// touchStep is one step of a finger, as the protocol has it.
type touchStep map[string]any

func down(p device.Point) []touchStep {
	return []touchStep{{"type": "pointerMove", "duration": 0, "x": p.X, "y": p.Y, "origin": "viewport"}, {"type": "pointerDown", "button": 0}}
}
func lift() []touchStep { return []touchStep{{"type": "pointerUp", "button": 0}} }
func pause(d time.Duration) []touchStep {
	return []touchStep{{"type": "pause", "duration": d.Milliseconds()}}
}
func move(p device.Point, d time.Duration) []touchStep {
	return []touchStep{{"type": "pointerMove", "duration": d.Milliseconds(), "x": p.X, "y": p.Y, "origin": "viewport"}}
}

// touch moves one finger.
func (b *Browser) touch(ctx context.Context, sent bool, parts ...[]touchStep) error {
	var steps []touchStep
	for _, p := range parts {
		steps = append(steps, p...)
	}
	return b.send(ctx, http.MethodPost, "/actions", map[string]any{"actions": []any{
		map[string]any{"type": "pointer", "id": "finger", "parameters": map[string]string{"pointerType": "touch"}, "actions": steps},
	}}, sent)
}

// keys presses keys, each let go in the end.
func (b *Browser) keys(ctx context.Context, sent bool, keys ...string) error {
	var steps []touchStep
	for _, k := range keys {
		steps = append(steps, touchStep{"type": "keyDown", "value": k})
	}
	for i := len(keys) - 1; i >= 0; i-- {
		steps = append(steps, touchStep{"type": "keyUp", "value": keys[i]})
	}
	return b.send(ctx, http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys", "actions": steps}}}, sent)
}

// Keys by the code points that the protocol gives them.
const (
	keyBackspace = "\ue003"
	keyEnter     = "\ue007"
	keyControl   = "\ue009"
	keyDelete    = "\ue017"
)

// typeText types into the field at Into, or into the focused one. The text goes
// to whatever has the focus, in any script and in any frame.
func (b *Browser) typeText(ctx context.Context, a device.TypeText) error {
	sent := false
	if a.Into != nil {
		if err := b.touch(ctx, sent, down(*a.Into), lift()); err != nil {
			return err
		}
		sent = true
	}
	if a.Clear {
		if err := b.keys(ctx, sent, keyControl, "a"); err != nil {
			return err
		}
		sent = true
		if err := b.keys(ctx, sent, keyDelete); err != nil {
			return err
		}
	}
	if a.Text != "" {
		insert := map[string]any{"cmd": "Input.insertText", "params": map[string]string{"text": a.Text}}
		if err := b.send(ctx, http.MethodPost, "/goog/cdp/execute", insert, sent); err != nil {
			return err
		}
		sent = true
	}
	if a.Submit {
		return b.keys(ctx, sent, keyEnter)
	}
	return nil
}

func (b *Browser) press(ctx context.Context, k device.Key) error {
	switch k {
	case device.Back:
		return b.send(ctx, http.MethodPost, "/back", struct{}{}, false)
	case device.Home:
		return b.send(ctx, http.MethodPost, "/url", map[string]string{"url": startPage}, false)
	case device.Enter:
		return b.keys(ctx, false, keyEnter)
	case device.Delete:
		return b.keys(ctx, false, keyBackspace)
	}
	return device.Refuse("this browser has no such key")
}

// open loads a page. That it did not load is for the next look to see: the
// browser then shows a page of its own that says so.
func (b *Browser) open(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return device.Refuse("only http and https addresses can be opened")
	}
	err = b.session.call(ctx, http.MethodPost, "/url", map[string]string{"url": address}, nil)
	if err == nil || is(err, "unknown error", "timeout", "unexpected alert open", "insecure certificate") && kindOf(err) != device.ErrLost {
		return nil
	}
	return failed(err, false)
}
