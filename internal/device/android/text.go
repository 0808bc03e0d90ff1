package android

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// Bounds of one command that types.
const (
	asciiChunk  = 200
	helperChunk = 500 // characters
	keyChunk    = 100 // keys pressed by one command
	maxCleared  = 5000
)

// How long a field that was touched may take to get the focus, and an input
// method that was chosen to come up.
const (
	focusTime  = 1500 * time.Millisecond
	methodTime = 5 * time.Second
)

// typeText touches the field, empties it, types and submits, as far as asked
// for. Whether the text can be typed at all is settled before anything is sent.
func (p *Phone) typeText(ctx context.Context, a device.TypeText) error {
	by, err := p.channel(ctx, a.Text)
	if err != nil {
		return err
	}
	sent := false
	if a.Into != nil {
		if err := p.act(ctx, sent, touchCommand(*a.Into, *a.Into, 0)); err != nil {
			return err
		}
		sent = true
		p.awaitKeyboard(ctx)
	}
	if a.Clear {
		if err := p.clear(ctx, sent, p.lengthAt(a.Into)); err != nil {
			return err
		}
		sent = true
	}
	if a.Text != "" {
		if err := by(ctx, sent, a.Text); err != nil {
			return err
		}
		sent = true
	}
	if a.Submit {
		return p.keys(ctx, sent, keyEnter, 1)
	}
	return nil
}

// awaitKeyboard waits until the field that was touched takes text. A phone with
// keys of its own shows no keyboard, so the wait is short and its end no error.
func (p *Phone) awaitKeyboard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, focusTime)
	defer cancel()
	for {
		if shown, err := p.keyboardShown(ctx); shown || err != nil {
			return
		}
		if sleep.For(ctx, lookPause/2) != nil {
			return
		}
	}
}

// lengthAt is how much the field at that place held when it was seen last, the
// focused one where at is nil.
func (p *Phone) lengthAt(at *device.Point) int {
	for _, f := range p.fields {
		if (at == nil && f.focused) || (at != nil && f.at.Contains(*at)) {
			return min(f.length, maxCleared)
		}
	}
	return 0
}

// clear removes n characters on either side of the cursor, wherever it is.
func (p *Phone) clear(ctx context.Context, sent bool, n int) error {
	if err := p.keys(ctx, sent, keyMoveEnd, 1); err != nil {
		return err
	}
	if err := p.keys(ctx, true, keyDelete, n); err != nil {
		return err
	}
	return p.keys(ctx, true, keyForwardDelete, n)
}

// keys presses one key n times.
func (p *Phone) keys(ctx context.Context, sent bool, code, n int) error {
	for ; n > 0; n -= keyChunk {
		if err := p.act(ctx, sent, "input keyevent"+strings.Repeat(fmt.Sprintf(" %d", code), min(n, keyChunk))); err != nil {
			return err
		}
		sent = true
	}
	return nil
}

// typist types a text that it was found fit for.
type typist func(ctx context.Context, sent bool, text string) error

// channel returns the way to type text, or refuses it. Android's own command
// takes printable ASCII alone and loses the whole text for one character
// beyond it, so anything else needs a helper on the phone.
func (p *Phone) channel(ctx context.Context, text string) (typist, error) {
	ascii := true
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return nil, device.Refuse("the text holds a control character, which can't be typed")
		}
		ascii = ascii && r < 0x7f
	}
	if ascii {
		return p.typeASCII, nil
	}
	o, err := p.shell(ctx, p.limits.ask, "ime list -s -a; pm path "+clipboardHelper)
	switch installed := string(o.out); {
	case err != nil:
		return nil, looking(err)
	case strings.Contains(installed, methodHelper) && p.opts.StateDir != "":
		return p.typeByMethod, nil
	case strings.Contains(installed, "package:"):
		return p.typeByClipboard, nil
	}
	return nil, device.Refuse("this phone can type only the letters, digits and signs of ASCII; a helper for other text is not installed on it")
}

// typeASCII types with Android's own command. It reads "%s" as a space, and
// takes no line break.
func (p *Phone) typeASCII(ctx context.Context, sent bool, text string) error {
	for _, part := range asciiParts(text) {
		var command string
		switch part {
		case "\n":
			command = fmt.Sprintf("input keyevent %d", keyEnter)
		case "\t":
			command = fmt.Sprintf("input keyevent %d", keyTab)
		default:
			command = "input text " + quote(strings.ReplaceAll(part, " ", "%s"))
		}
		if err := p.act(ctx, sent, command); err != nil {
			return err
		}
		sent = true
	}
	return nil
}

// asciiParts cuts text at line breaks and tabs, which stand alone, within every
// "%s", and where a part would become too long.
func asciiParts(text string) (parts []string) {
	start := 0
	cut := func(at int) {
		if at > start {
			parts = append(parts, text[start:at])
			start = at
		}
	}
	for i := range len(text) {
		switch {
		case text[i] == '\n' || text[i] == '\t':
			cut(i)
			cut(i + 1)
		case i > start && text[i-1] == '%' && text[i] == 's', i-start == asciiChunk:
			cut(i)
		}
	}
	cut(len(text))
	return parts
}

// The helpers for text beyond ASCII. People install them; see docs/DEVICES.md.
const (
	methodHelper    = "com.android.adbkeyboard/.AdbIME"
	clipboardHelper = "com.mobilenext.devicekit"
)

// chunks cuts text between characters, as a person sees them.
func chunks(text string) (parts []string) {
	for text != "" {
		end := 0
		for n := 0; n < helperChunk && end < len(text); n++ {
			end += device.FirstCharacter(text[end:])
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return parts
}

// typeByMethod types through an input method that takes text from broadcasts,
// and puts the phone's own back.
func (p *Phone) typeByMethod(ctx context.Context, sent bool, text string) (err error) {
	defer func() {
		if back := p.putBack(context.WithoutCancel(ctx)); back != nil && err == nil {
			err = acting(back, true)
		}
	}()
	if err := p.borrowMethod(ctx, sent); err != nil {
		return err
	}
	for _, part := range chunks(text) {
		if err := p.act(ctx, true, "am broadcast -a ADB_INPUT_B64 --es msg "+quote(encoded(part))); err != nil {
			return err
		}
	}
	return nil
}

// typeByClipboard types by pasting, and leaves the clipboard empty: what was on
// it can't be read.
func (p *Phone) typeByClipboard(ctx context.Context, sent bool, text string) error {
	const receiver = " -n " + clipboardHelper + "/.ClipboardBroadcastReceiver"
	const set, empty = "am broadcast -a devicekit.clipboard.set", "am broadcast -a devicekit.clipboard.clear" + receiver
	for _, part := range chunks(text) {
		if err := p.act(ctx, sent, set+" -e encoding base64 -e text "+quote(encoded(part))+receiver); err != nil {
			return err
		}
		sent = true
		if err := p.keys(ctx, true, keyPaste, 1); err != nil {
			p.act(context.WithoutCancel(ctx), true, empty)
			return err
		}
	}
	return p.act(ctx, true, empty)
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
