package host

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/planner"
)

// DefaultDrainTime is how long Drain lets running attempts finish.
const DefaultDrainTime = 10 * time.Minute

// Config is what a host needs to know. Server, StateDir, Name and at least one
// device or finder are required.
type Config struct {
	// Server is the control plane's address, https://host[:port]. Plain http
	// is refused unless it goes to this machine.
	Server string
	// CAFile, where set, replaces the system's roots by those in this PEM file.
	CAFile string
	// StateDir holds the credential file and the outbox. One process at a time.
	StateDir string
	// Name and Labels say who the host is to operators; an enrolment token may
	// override them.
	Name   string
	Labels map[string]string
	// Devices are the phones that the host offers.
	Devices []Device
	// Finders offer phones that come and go.
	Finders []Finder
	// Slots is how many attempts may run at once; 0: one a device, those found
	// later included.
	Slots int
	// DrainTime is how long Drain lets attempts finish before it releases
	// them; 0: DefaultDrainTime.
	DrainTime time.Duration
	// Version is this program's, shown to operators.
	Version string

	// Clock reads the time; nil: time.Now. Timers are the runtime's own.
	Clock func() time.Time
	// Logger gets state changes and failures; nil: nothing is logged.
	Logger *slog.Logger
	// Dial replaces the dialer, for a control plane in the same process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Device is one phone that the host offers, and how to drive it.
type Device struct {
	hostapi.Device
	// Open starts a session for one attempt, which closes it. Never called
	// while another session of the device is open.
	Open func(ctx context.Context) (device.Driver, error)
}

// Finder watches for phones. It calls found with all that are there, at once
// and each time that changes, and blocks until ctx ends. It must not call found
// concurrently. What it finds must keep the rules of Config.Devices; a phone
// that does not, or whose id another one has, is left out.
type Finder func(ctx context.Context, found func([]Device))

// Planners makes the planner of one attempt. It is handed the ToolCaller that
// decides at the control plane; a planner that decides directly leaves it.
type Planners func(cloud llm.ToolCaller) planner.Planner

// Validate reports every problem at once, as a fault of kind Invalid.
func (c Config) Validate() error {
	wrong := c.wrongDevices()
	if err := checkServer(c.Server); err != nil {
		wrong.Add("%s", err)
	}
	wrong.Require(c.StateDir != "", "the state folder is not set")
	wrong.Require(hostapi.IsHostName(c.Name), "the host's name is not 1 to %d of a-z, A-Z, 0-9, '.', '_' and '-'", hostapi.MaxHostName)
	wrong.Require(c.Slots >= 0 && c.Slots <= hostapi.MaxHeld, "the slots are not between 0 and %d", hostapi.MaxHeld)
	wrong.Require(c.DrainTime >= 0, "the drain time is negative")
	return wrong.Refuse("host_settings", "the host's settings")
}

func (c Config) wrongDevices() (wrong fault.Problems) {
	wrong.Require(len(c.Devices)+len(c.Finders) >= 1 && len(c.Devices) <= hostapi.MaxDevices, "the devices are not between 1 and %d", hostapi.MaxDevices)
	seen := map[string]bool{}
	for _, d := range c.Devices {
		switch {
		case d.ID == "" || len(d.ID) > 100 || d.Kind == "":
			wrong.Add("device %.100q has no id, no kind, or an id longer than 100 bytes", d.ID)
		case d.Open == nil:
			wrong.Add("device %q has no driver", d.ID)
		case seen[d.ID]:
			wrong.Add("device %q is listed twice", d.ID)
		}
		seen[d.ID] = true
	}
	return wrong
}

// checkServer takes https anywhere and http to loopback. Its error is a clause.
func checkServer(server string) error {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return fmt.Errorf("the server's address is not of the form https://host:port")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("the server's address is plain http to another machine, which would show the credential to the network: use https")
	default:
		return fmt.Errorf("the server's address does not start with https://")
	}
}

func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || (err == nil && ip.IsLoopback())
}

// offered is what the control plane is told of the devices.
func (c Config) offered() []hostapi.Device {
	out := make([]hostapi.Device, 0, len(c.Devices))
	for _, d := range c.Devices {
		out = append(out, d.Device)
	}
	return out
}

// withDefaults fills in what may be left out.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.DrainTime == 0 {
		c.DrainTime = DefaultDrainTime
	}
	c.Server = strings.TrimRight(c.Server, "/")
	return c
}
