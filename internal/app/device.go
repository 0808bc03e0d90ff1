package app

import (
	"context"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/device/webdriver"
	"interlock/internal/fault"
)

// DeviceConfig is one device of this machine.
type DeviceConfig struct {
	Kind string // one of DeviceKinds
	ID   string // unique within the host

	ImageMaxEdge int           // of screenshots, in pixels; zero: device's default
	Latency      time.Duration // of a simulated device, so that a person can follow
}

// The kinds of device by their names in settings.
const (
	Sim      = "sim"      // a simulated phone
	Chromium = "chromium" // a browser with the screen of a phone
)

// DeviceKinds are the kinds of device that this program drives.
func DeviceKinds() []string { return []string{Sim, Chromium} }

// OpenDevice returns a driver of the device, which the caller closes. A kind
// that this program does not know is a fault of kind NotFound.
func OpenDevice(ctx context.Context, c DeviceConfig) (device.Driver, error) {
	switch c.Kind {
	case Sim:
		return sim.New(sim.Options{ID: c.ID, Screenshots: true, ImageEdge: c.ImageMaxEdge, Latency: c.Latency}), nil
	case Chromium:
		return webdriver.Open(ctx, webdriver.Options{ID: c.ID, Screenshots: true, ImageEdge: c.ImageMaxEdge})
	}
	return nil, fault.New(fault.NotFound, "device_unknown", "this program drives no device of kind %q; take sim, the simulated phone, or chromium, a browser with the screen of a phone", c.Kind)
}

// CheckDevice says what a kind of device lacks on this machine; nil: nothing.
func CheckDevice(kind string) error {
	if kind == Chromium {
		return webdriver.Programs()
	}
	return nil
}

// DemoGoal is a task that the simulated phone can carry out.
const DemoGoal = sim.DemoGoal

// DemoApps are the packages that it needs.
func DemoApps() []string { return sim.DemoApps() }
