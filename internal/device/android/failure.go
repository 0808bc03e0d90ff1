package android

import (
	"context"
	"errors"
	"strings"

	"interlock/internal/device"
	"interlock/internal/fault"
)

// kindOf sorts what went wrong between this process and the phone.
func kindOf(err error) *fault.Error {
	var f *fault.Error
	var r refusal
	switch {
	case errors.As(err, &f) && strings.HasPrefix(f.Code, "device_"): // not the cause of a context that ended
		return f
	case errors.As(err, &r) && (strings.Contains(string(r), "unauthorized") || strings.Contains(string(r), "authorizing") || strings.Contains(string(r), "no permissions")):
		return device.ErrUnauthorized
	case errors.Is(err, errLong), errors.Is(err, context.Canceled), f != nil:
		return device.ErrFailed
	}
	return device.ErrLost // the server, the cable or the phone no longer answers
}

// looking is the error of a look or of opening: nothing was dispatched.
func looking(err error) error { return device.Fail(kindOf(err).Because(err), device.No) }

// acting is the error of an action. Sent says whether part of the action was
// sent before.
func acting(err error, sent bool) error {
	dispatched := device.Unknown
	var before unsent
	if errors.As(err, &before) && !sent {
		dispatched = device.No
	}
	return device.Fail(kindOf(err).Because(err), dispatched)
}

// saidBusy reports the ways in which Android says that another program holds
// the one connection to its accessibility tree.
func saidBusy(o output) bool {
	text := o.text()
	return strings.Contains(text, "already registered") || o.exit == 137 || strings.HasPrefix(strings.TrimSpace(text), "Killed")
}
