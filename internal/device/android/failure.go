package android

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"interlock/internal/device"
	"interlock/internal/fault"
)

// kindOf sorts what went wrong between this process and the phone. Only a
// server or a phone that does not answer is lost; a context that the caller
// ended is not the phone's failure.
func kindOf(err error) *fault.Error {
	var f *fault.Error
	var r refusal
	var broken net.Error
	switch {
	case errors.As(err, &f) && strings.HasPrefix(f.Code, "device_"):
		return f
	case errors.As(err, &r) && r.unauthorized():
		return device.ErrUnauthorized
	case errors.As(err, &r), errors.Is(err, errCut), errors.Is(err, errSlow), errors.Is(err, errNoServer):
		return device.ErrLost
	case errors.As(err, &broken) && !errors.Is(err, context.DeadlineExceeded):
		return device.ErrLost
	}
	return device.ErrFailed
}

// unauthorized reports whether the phone's owner, or this system, has not
// allowed adb to drive it.
func (r refusal) unauthorized() bool {
	return slices.ContainsFunc([]string{"unauthorized", "authorizing", "no permissions"}, func(s string) bool { return strings.Contains(string(r), s) })
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
