package device

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Action is one thing done to a phone. The set is closed: there is no shell.
// Every action may change something, so none is ever repeated blindly. No
// action prints the text that it types.
type Action interface {
	fmt.Stringer
	action()
}

// Tap touches one point.
type Tap struct{ At Point }

// LongPress holds one point.
type LongPress struct {
	At  Point
	For time.Duration
}

// Swipe drags a finger in a straight line.
type Swipe struct {
	From, To Point
	For      time.Duration
}

// TypeText types into the field at Into, which it focuses first, or into the
// focused one where Into is nil.
type TypeText struct {
	Into   *Point
	Text   string
	Clear  bool // empty the field first
	Submit bool // press enter afterwards
}

// Press presses a key.
type Press struct{ Key Key }

// HideKeyboard puts the keyboard away and does nothing else. A driver refuses
// it where no keyboard is shown, because going back instead would leave the
// screen.
type HideKeyboard struct{}

// OpenApp brings an app to the front.
type OpenApp struct{ Package string }

// OpenURL opens an http or https address in whatever app the phone uses.
type OpenURL struct{ URL string }

// Key is a key of the phone.
type Key string

// The keys.
const (
	Back   Key = "back"
	Home   Key = "home"
	Enter  Key = "enter"
	Delete Key = "delete" // removes one character, as a person sees it, before the cursor
)

func (Tap) action()          {}
func (LongPress) action()    {}
func (Swipe) action()        {}
func (TypeText) action()     {}
func (Press) action()        {}
func (HideKeyboard) action() {}
func (OpenApp) action()      {}
func (OpenURL) action()      {}

func (a Tap) String() string       { return fmt.Sprintf("tap %v", a.At) }
func (a LongPress) String() string { return fmt.Sprintf("long press %v for %v", a.At, a.For) }
func (a Swipe) String() string     { return fmt.Sprintf("swipe %v to %v in %v", a.From, a.To, a.For) }
func (a TypeText) String() string {
	return fmt.Sprintf("type %d characters", utf8.RuneCountInString(a.Text))
}
func (a Press) String() string      { return "press " + string(a.Key) }
func (HideKeyboard) String() string { return "hide the keyboard" }
func (a OpenApp) String() string    { return "open " + a.Package }
func (OpenURL) String() string      { return "open an address" }
