package android

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/sleep"
)

// Options say which phone, and how. The zero value is the one phone that is
// connected, without screenshots.
type Options struct {
	Serial string // as adb lists it; "": the only phone that is connected
	Server string // address of the adb server; "": DefaultServer
	// StateDir is a folder for what must be put back on the phone also after a
	// crash. Without it the driver changes nothing that would have to be.
	StateDir    string
	Screenshots bool
	ImageEdge   int // see device.NewScreenshot
	Logger      *slog.Logger

	limits patience // of zero: usualPatience
}

// Phone is one phone that is claimed. It implements device.Driver.
type Phone struct {
	opts   Options
	server server
	serial string
	boot   string // the phone's name for its life since it was switched on; "" where it does not say
	info   device.Info
	log    *slog.Logger
	limits patience
	closed atomic.Bool

	// What the last looks found; only Observe and Do touch it, one at a time.
	fields     []field
	restless   restless
	noTerminal bool   // uiautomator can't write to a terminal there
	display    string // id for screencap; "": the phone has one display, or none was asked for yet
}

// Open claims a phone. Its errors are faults: device_missing where adb is not
// installed, device_lost, device_unauthorized and device_failed.
func Open(ctx context.Context, o Options) (*Phone, error) {
	p := &Phone{opts: o, server: serverAt(o.Server), serial: o.Serial, log: o.Logger, limits: o.limits}
	if p.limits == (patience{}) {
		p.limits = usualPatience
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	err := p.claim(ctx)
	if errors.Is(err, errSlow) && p.heal(ctx) == nil { // listed as ready, and silent
		err = p.claim(ctx)
	}
	if err != nil {
		return nil, kindOf(err).Because(err)
	}
	if err := p.putBack(ctx); err != nil {
		p.log.Warn("the phone's input method could not be put back", "device", p.serial, "error", err)
	}
	return p, nil
}

// reach finds the phone and brings it into a state in which it can be driven.
func (p *Phone) reach(ctx context.Context) error {
	all, err := p.server.list(ctx)
	if err != nil {
		return err
	}
	if p.serial == "" {
		if p.serial, err = onlyOne(all); err != nil {
			return err
		}
	}
	if !nameable(p.serial) {
		return fault.New(fault.Invalid, "device_serial", "%.40q is not the serial number of a phone; see: adb devices", p.serial)
	}
	state := stateOf(all, p.serial)
	if state == "" || state == "offline" {
		p.heal(ctx)
		if all, err = p.server.list(ctx); err != nil {
			return err
		}
		state = stateOf(all, p.serial)
	}
	return stateFault(state)
}

func onlyOne(all []Listed) (string, error) {
	var ready []string
	for _, l := range all {
		if l.Ready() {
			ready = append(ready, l.Serial)
		}
	}
	switch {
	case len(ready) == 1:
		return ready[0], nil
	case len(ready) > 1:
		return "", fault.New(fault.Conflict, "device_ambiguous", "%d phones are connected; name one by its serial number, as in android:SERIAL; see: adb devices", len(ready))
	case len(all) == 1:
		return "", stateFault(all[0].State)
	}
	return "", fault.New(device.ErrLost.Kind, device.ErrLost.Code, "no phone is connected; connect one with USB debugging allowed, and see: adb devices")
}

// maxSerial is longer than any serial number.
const maxSerial = 100

// nameable reports whether serial can stand in a request to the server.
func nameable(serial string) bool {
	return serial != "" && len(serial) <= maxSerial && strings.IndexFunc(serial, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func stateOf(all []Listed, serial string) string {
	for _, l := range all {
		if l.Serial == serial {
			return l.State
		}
	}
	return ""
}

// stateFault says why a phone in that state can't be driven; nil: it can.
func stateFault(state string) error {
	switch state {
	case stateReady:
		return nil
	case "unauthorized", "authorizing":
		return device.ErrUnauthorized
	case "no": // "no permissions"
		return fault.New(device.ErrUnauthorized.Kind, device.ErrUnauthorized.Code, "this system does not let adb use the phone; give its user the right to it (a udev rule, on Linux)")
	case "":
		return fault.New(device.ErrLost.Kind, device.ErrLost.Code, "the phone is not connected; check its cable, power or network, and see: adb devices")
	}
	return device.ErrLost.Because(fmt.Errorf("adb lists the phone as %.20q", state))
}

// bootFile holds an id that the phone's kernel makes up at each start.
const bootFile = "/proc/sys/kernel/random/boot_id"

// claim learns what the phone is and binds this Phone to its boot.
func (p *Phone) claim(ctx context.Context) error {
	features, err := p.server.query(ctx, "host-serial:"+p.serial+":features")
	if err != nil {
		return err
	}
	if !strings.Contains(features, "shell_v2") {
		return fault.New(device.ErrFailed.Kind, device.ErrFailed.Code, "the phone is older than Android 7, which is the oldest that can be driven")
	}
	o, err := p.shell(ctx, p.limits.ask, "cat "+bootFile+"; echo; getprop ro.product.model; getprop ro.build.version.release; input keyevent 224")
	if err != nil {
		return err
	}
	lines := strings.Split(string(o.out), "\n")
	if len(lines) < 4 {
		return fault.New(device.ErrFailed.Kind, device.ErrFailed.Code, "the phone does not say what it is; it may still be starting")
	}
	if p.boot = strings.TrimSpace(lines[0]); !nameable(p.boot) {
		p.boot = ""
	}
	rest := lines[1:]
	if strings.TrimSpace(rest[0]) == "" { // cat ended its line itself
		rest = rest[1:]
	}
	p.info = device.Info{ID: p.serial, Platform: "android", Model: device.Clean(rest[0], 100)}
	if len(rest) > 1 {
		p.info.Version = device.Clean(rest[1], 20)
	}
	return nil
}

// Info describes the phone.
func (p *Phone) Info(context.Context) (device.Info, error) { return p.info, nil }

// Close gives the phone up. What Do changed it has put back already.
func (p *Phone) Close() error {
	p.closed.Store(true)
	return nil
}

const healPause = 200 * time.Millisecond

// heal connects a phone anew that is offline or gone, and waits until it can be
// driven. The server goes on: other phones are on it, perhaps in the middle of
// somebody's work.
func (p *Phone) heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.limits.heal, errSlow)
	defer cancel()
	if p.networked() {
		p.server.query(ctx, "host:disconnect:"+p.serial) // refused where it is gone
	} else if _, err := p.server.query(ctx, "host:reconnect-offline"); err != nil {
		return err
	}
	for {
		if p.networked() { // the server says that it is connected while it is still letting go of the old connection
			if _, err := p.server.query(ctx, "host:connect:"+p.serial); err != nil {
				return err
			}
		}
		state, err := p.server.query(ctx, "host-serial:"+p.serial+":get-state")
		if err == nil && state == stateReady {
			return nil
		}
		if sleep.For(ctx, healPause) != nil {
			return errors.Join(errSlow, err)
		}
	}
}

// networked reports whether the phone is on the network: its serial number is
// an address then.
func (p *Phone) networked() bool { return strings.Contains(p.serial, ":") }
