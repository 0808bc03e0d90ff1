package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"interlock/internal/device"
	"interlock/internal/device/android"
	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/secret"
)

// HostConfig is what a host is built of.
type HostConfig struct {
	Version   string
	Server    string // URL
	CAFile    string // PEM; "": the system's authorities
	StateDir  string // credential and unsent results
	Name      string
	Labels    map[string]string
	Devices   []DeviceConfig
	ADBServer string        // address of the adb server; "": the usual one
	DrainTime time.Duration // zero: host.DefaultDrainTime
	Planner   Planner
	Logger    *slog.Logger

	// For tests.
	Now  func() time.Time // nil: time.Now
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewHost builds a host that is enrolled, or enrolls it first where a token is
// given; a machine that is enrolled already leaves the token unused. With the
// cloud transport no provider's client is made and no key is read.
func NewHost(ctx context.Context, c HostConfig, enrolToken secret.String) (*host.Host, error) {
	plan, err := c.Planner.planners()
	if err != nil {
		return nil, err
	}
	config := c.host()
	if !enrolToken.Empty() {
		if err := host.Enroll(ctx, config, enrolToken); err != nil && !errors.Is(err, errEnrolled) {
			return nil, err
		}
	}
	return host.Open(config, plan)
}

// errEnrolled matches the refusal to enroll twice.
var errEnrolled = fault.New(fault.Conflict, "already_enrolled", "this machine is enrolled")

func (c HostConfig) host() host.Config {
	config := host.Config{Server: c.Server, CAFile: c.CAFile, StateDir: c.StateDir, Name: c.Name, Labels: c.Labels,
		DrainTime: c.DrainTime, Version: c.Version, Clock: c.Now, Logger: c.Logger, Dial: c.Dial}
	for _, d := range c.Devices {
		d.ImageMaxEdge, d.StateDir, d.Logger = c.Planner.ImageMaxEdge, c.StateDir, c.Logger
		d.ADBServer = cmp.Or(d.ADBServer, c.ADBServer)
		if d.Kind == Android && d.ID == "" {
			config.Finders = append(config.Finders, androidPhones(d))
			continue
		}
		config.Devices = append(config.Devices, d.offer())
	}
	return config
}

func (d DeviceConfig) offer() host.Device {
	return host.Device{
		Device: hostapi.Device{ID: d.ID, Kind: d.Kind},
		Open:   func(ctx context.Context) (device.Driver, error) { return OpenDevice(ctx, d) },
	}
}

// androidPhones finds every phone that the adb server knows and that can be
// driven.
func androidPhones(d DeviceConfig) host.Finder {
	return func(ctx context.Context, found func([]host.Device)) {
		android.Watch(ctx, d.ADBServer, d.Logger, func(all []android.Listed) {
			var ready []host.Device
			for _, l := range all {
				if l.Ready() {
					one := d
					one.ID = l.Serial
					ready = append(ready, one.offer())
				}
			}
			found(ready)
		})
	}
}

// planners chooses the transport: the one place where it matters.
func (p Planner) planners() (host.Planners, error) {
	if p.Enabled && p.Cloud() {
		return func(cloud llm.ToolCaller) planner.Planner {
			return planner.NewAI(cloud, p.options())
		}, nil
	}
	direct, err := p.direct()
	return func(llm.ToolCaller) planner.Planner { return direct }, err
}
