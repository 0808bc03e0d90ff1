// Package device says what a phone shows and what can be done to it: a Scene,
// an Action, and the Driver that gives the one and takes the other. Drivers
// (device/sim and, over a wire, real phones) differ in how they reach the
// screen; the Scene that they return is the same.
//
// Nothing on a screen can be trusted. A driver hands what it read to Seal,
// which bounds it, repairs its text, forgets the content of password fields
// and the picture of a secure screen, numbers the elements and hashes the
// whole. A Scene that Seal made is a value: nobody changes it afterwards, and
// a ref such as "e5" means something only together with the Scene it is from.
//
// An action either reached the phone or it did not, and sometimes nobody can
// tell. Every error of a driver therefore says whether the action was
// dispatched: No only where that is certain, else Unknown. Whoever receives
// Unknown must not repeat the action. No error's text holds what is on the
// screen or what was typed.
package device

import "context"

// Driver is one phone. Its methods block until done or until ctx ends, and
// their errors are *Error. One task at a time drives a phone: a Driver need
// not accept concurrent calls, except that Close may come at any time.
type Driver interface {
	// Info says what the phone is. It does not change while the driver is open.
	Info(ctx context.Context) (Info, error)

	// Observe reads the screen once it has settled, or as it is where it
	// does not settle within the driver's own bound. It changes nothing.
	Observe(ctx context.Context) (Scene, error)

	// Do carries out one action and returns nil once the phone has taken
	// it. What came of it is for the next Observe to see. An action that the
	// phone can't do is refused with ErrRefused before anything is sent.
	Do(ctx context.Context, a Action) error

	// Close ends the session and puts back what the driver changed on the
	// phone for its own use. A second Close does nothing.
	Close() error
}

// Glancer is a Driver that can look without taking a picture and without
// waiting for the screen to settle, which is what a second look right before
// an action needs.
type Glancer interface {
	// Glance reads the screen as it is. Its scene has the same hash as one of
	// Observe's would have, and no picture.
	Glance(ctx context.Context) (Scene, error)
}

// Glance looks at d's screen in the cheapest way that d has.
func Glance(ctx context.Context, d Driver) (Scene, error) {
	if g, ok := d.(Glancer); ok {
		return g.Glance(ctx)
	}
	return d.Observe(ctx)
}

// Info describes a phone to people and to the planner. None of it is secret.
type Info struct {
	ID       string // the driver's name for it: an adb serial, a session, "sim"
	Platform string // "android", "ios", "web" or "sim"
	Model    string
	Version  string // of the platform, as the phone says it
}
