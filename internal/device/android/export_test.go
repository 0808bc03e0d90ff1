package android

import (
	"time"

	"interlock/internal/device"
)

// Hurried returns o with a patience that a test can wait out.
func Hurried(o Options, each time.Duration) Options {
	o.limits = usualPatience
	o.limits.ask.time, o.limits.act.time, o.limits.dump.time, o.limits.screen.time, o.limits.heal = each, each, each, each, 2*each
	return o
}

// ErrTreeCut is a dump without an end.
var ErrTreeCut = errTreeCut

// ReadDump reads a dump into the scene that it would give on a screen of that
// size.
func ReadDump(dump []byte, size device.Size) (device.Scene, error) {
	h, err := readHierarchy(dump)
	if err != nil {
		return device.Scene{}, err
	}
	return device.Seal(device.Scene{App: h.app, Size: size, Elements: h.nodes}), nil
}

// ASCIIParts cuts text for Android's own command.
var ASCIIParts = asciiParts
