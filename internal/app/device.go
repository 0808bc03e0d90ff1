package app

import (
	"time"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/fault"
)

// DeviceConfig is one device of this machine.
type DeviceConfig struct {
	Kind string // one of DeviceKinds
	ID   string // unique within the host

	ImageMaxEdge int           // of screenshots, in pixels; zero: device's default
	Latency      time.Duration // of a simulated device, so that a person can follow
}

// DeviceKinds are the kinds of device that this program drives.
func DeviceKinds() []string { return []string{"sim"} }

// OpenDevice returns a driver of the device, which the caller closes. A kind
// that this program does not know is a fault of kind NotFound.
func OpenDevice(c DeviceConfig) (device.Driver, error) {
	if c.Kind != "sim" {
		return nil, fault.New(fault.NotFound, "device_unknown", "this program drives no device of kind %q; take sim, the simulated phone", c.Kind)
	}
	return sim.New(sim.Options{ID: c.ID, Screenshots: true, ImageEdge: c.ImageMaxEdge, Latency: c.Latency}), nil
}

// DemoGoal is a task that the simulated phone can carry out.
const DemoGoal = sim.DemoGoal

// DemoApps are the packages that it needs.
func DemoApps() []string { return sim.DemoApps() }
