package device

import (
	"errors"

	"interlock/internal/fault"
)

// Dispatched says whether an action may have reached the phone.
type Dispatched string

// What can be known of an action that failed. There is no "yes": an action
// that surely happened is not an error.
const (
	No      Dispatched = "no"      // refused or failed before anything was sent
	Unknown Dispatched = "unknown" // sent, or perhaps sent: it must not be repeated blindly
)

// The failures that callers act on.
var (
	// ErrLost is a phone that no longer answers.
	ErrLost = fault.New(fault.Unavailable, "device_lost", "the device no longer answers; check its cable, power or network")
	// ErrUnauthorized is a phone that does not let this host drive it.
	ErrUnauthorized = fault.New(fault.Forbidden, "device_unauthorized", "the device does not allow this host to drive it; allow it on the device's screen")
	// ErrBusy is a phone whose automation somebody else holds.
	ErrBusy = fault.New(fault.Conflict, "device_busy", "another program drives the device; end that program or choose another device")
	// ErrRefused is an action that this phone can't do as it is now; another
	// action may well work.
	ErrRefused = fault.New(fault.Invalid, "device_refused", "the device can't do this now")
	// ErrFailed is any other failure of a phone or its driver.
	ErrFailed = fault.New(fault.Unavailable, "device_failed", "the device failed; the log has the cause")
)

// Error is a failure of a driver.
type Error struct {
	Fault      *fault.Error
	Dispatched Dispatched
}

// Fail builds the error of a driver. Only code that runs before anything is
// sent may say No.
func Fail(f *fault.Error, d Dispatched) *Error { return &Error{Fault: f, Dispatched: d} }

// Refuse says that the phone can't do an action, and why, in one sentence
// that is told to the model.
func Refuse(format string, args ...any) *Error {
	return Fail(fault.New(ErrRefused.Kind, ErrRefused.Code, format, args...), No)
}

// Error is the operator's text.
func (e *Error) Error() string {
	return e.Fault.Error() + " (action dispatched: " + string(e.Dispatched) + ")"
}

// Unwrap returns the fault, so that errors.Is finds the sentinels above.
func (e *Error) Unwrap() error { return e.Fault }

// WasDispatched reads what err, which is not nil, says of the action. An
// error that is not a driver's says Unknown.
func WasDispatched(err error) Dispatched {
	var e *Error
	if errors.As(err, &e) && e.Dispatched == No {
		return No
	}
	return Unknown
}
