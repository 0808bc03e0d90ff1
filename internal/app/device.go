package app

import (
	"context"
	"log/slog"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/android"
	"interlock/internal/device/sim"
	"interlock/internal/device/webdriver"
	"interlock/internal/fault"
)

// DeviceConfig is one device of this machine.
type DeviceConfig struct {
	Kind string // one of DeviceKinds
	ID   string // unique within the host; of an Android phone its serial number, or "" for whichever is connected

	ImageMaxEdge int           // of screenshots, in pixels; zero: device's default
	Latency      time.Duration // of a simulated device, so that a person can follow
	ADBServer    string        // address of the adb server of an Android phone; "": android.DefaultServer
	StateDir     string        // folder for what must be put back on a phone also after a crash; "": nothing is changed that would have to be
	Logger       *slog.Logger
}

// The kinds of device by their names in settings.
const (
	Sim      = "sim"      // a simulated phone
	Chromium = "chromium" // a browser with the screen of a phone
	Android  = "android"  // a real phone over adb
)

// DeviceKinds are the kinds of device that this program drives.
func DeviceKinds() []string { return []string{Sim, Chromium, Android} }

// OpenDevice returns a driver of the device, which the caller closes. A kind
// that this program does not know is a fault of kind NotFound.
func OpenDevice(ctx context.Context, c DeviceConfig) (device.Driver, error) {
	switch c.Kind {
	case Sim:
		return sim.New(sim.Options{ID: c.ID, Screenshots: true, ImageEdge: c.ImageMaxEdge, Latency: c.Latency}), nil
	case Chromium:
		return webdriver.Open(ctx, webdriver.Options{ID: c.ID, Screenshots: true, ImageEdge: c.ImageMaxEdge})
	case Android:
		return android.Open(ctx, android.Options{Serial: c.ID, Server: c.ADBServer, StateDir: c.StateDir, Screenshots: true, ImageEdge: c.ImageMaxEdge, Logger: c.Logger})
	}
	return nil, fault.New(fault.NotFound, "device_unknown", "this program drives no device of kind %q; take sim, the simulated phone, chromium, a browser with the screen of a phone, or android, a phone over adb", c.Kind)
}

// CheckDevice says what a kind of device lacks on this machine; nil: nothing.
func CheckDevice(kind string) error {
	switch kind {
	case Chromium:
		return webdriver.Programs()
	case Android:
		return android.Program()
	}
	return nil
}

// Phone is an Android phone as the adb server lists it.
type Phone = android.Listed

// AndroidPhones lists the phones of the adb server at address, which is not
// started for it. Its error is device_missing where adb is not installed, and
// device_lost where no server runs.
func AndroidPhones(ctx context.Context, address string) ([]Phone, error) {
	if err := android.Program(); err != nil {
		return nil, err
	}
	return android.ListRunning(ctx, address)
}

// DemoGoal is a task that the simulated phone can carry out.
const DemoGoal = sim.DemoGoal

// DemoApps are the packages that it needs.
func DemoApps() []string { return sim.DemoApps() }
