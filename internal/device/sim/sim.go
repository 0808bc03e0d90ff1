// Package sim is a small simulated phone for rehearsal and tests: a home
// screen, settings that scroll, contacts with a form and a keyboard, dialogs,
// a secure screen and rotation. It is a state machine without goroutines and
// without chance: the same actions always lead to the same screens.
//
// It keeps the promises of device.Driver, also in failure: Inject makes it
// lose its connection, hang, or change the screen at a moment of choice. After
// Close, and once lost until Reconnect, every call says device.ErrLost. Nothing
// outlives the Phone. Its methods are safe for concurrent use, one at a time
// being served.
package sim

import (
	"context"
	"slices"
	"sync"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// The apps.
const (
	Home     = "sim.home"
	Settings = "sim.settings"
	Contacts = "sim.contacts"
	Browser  = "sim.browser"
)

// DemoGoal is a task that the phone can carry out in nine steps: open the
// contacts, tap "New contact", type the name into the field "Name", tap
// "Save", tap "OK", open the settings, swipe up, tap "Dark theme", and finish
// with "Dark theme" as evidence.
const DemoGoal = "Add the contact Ada Lovelace 🚀 and turn on Dark theme"

// DemoApps are the packages that the demo needs, as an app lock.
func DemoApps() []string { return []string{Home, Contacts, Settings} }

// Options tune a Phone. The zero value is a phone without screenshots.
type Options struct {
	ID          string        // "": "sim"
	Screenshots bool          // take a picture with each scene
	ImageEdge   int           // see device.NewScreenshot
	Latency     time.Duration // of every call
}

// Phone is one simulated phone. New makes it.
type Phone struct {
	opts Options

	mu     sync.Mutex // guards all below
	gone   *device.Error
	faults []Fault
	done   []device.Action

	app               string
	stacks            map[string][]screen // the screens of each app, the visible one last
	dialog            *dialog
	banner            bool
	sliding           int  // looks until the screen is at rest
	swallow           bool // the next action is taken and not carried out
	reordered         bool
	twins, lookAlikes bool
	tricked           int    // touches of decoys
	focus             string // id of the field that takes text
	keyboard          bool
	fields            map[string]string
	scrolled          map[screen]int // rows above the visible ones
	switches          map[string]bool
	contacts          []contact
	chosen            int // index of the contact that the detail screen shows
	addressed         string
}

type contact struct{ name, phone string }

// screen names a screen within an app.
type screen string

// New returns a phone that shows its home screen.
func New(o Options) *Phone {
	if o.ID == "" {
		o.ID = "sim"
	}
	p := &Phone{opts: o, app: Home, fields: map[string]string{}, scrolled: map[screen]int{},
		switches: map[string]bool{"wifi": true}, stacks: map[string][]screen{}}
	for app, first := range firstScreens {
		p.stacks[app] = []screen{first}
	}
	for _, name := range people {
		p.contacts = append(p.contacts, contact{name: name, phone: "555 0100"})
	}
	return p
}

// Info describes the phone.
func (p *Phone) Info(ctx context.Context) (device.Info, error) {
	if err := p.enter(ctx, atInfo); err != nil {
		return device.Info{}, err
	}
	defer p.mu.Unlock()
	return device.Info{ID: p.opts.ID, Platform: "sim", Model: "Sim One", Version: "1"}, nil
}

// Observe reads the screen.
func (p *Phone) Observe(ctx context.Context) (device.Scene, error) {
	if err := p.enter(ctx, AtObserve); err != nil {
		return device.Scene{}, err
	}
	defer p.mu.Unlock()
	return p.scene(true)
}

// Glance reads the screen without a picture. A Fault takes it for an Observe.
func (p *Phone) Glance(ctx context.Context) (device.Scene, error) {
	if err := p.enter(ctx, AtObserve); err != nil {
		return device.Scene{}, err
	}
	defer p.mu.Unlock()
	return p.scene(false)
}

// Do carries out a. Its outcome is certain unless a Fault says otherwise.
func (p *Phone) Do(ctx context.Context, a device.Action) error {
	if err := p.enter(ctx, AtDo); err != nil {
		return err
	}
	defer p.mu.Unlock()
	if p.swallow {
		p.swallow = false
		return nil
	}
	if err := p.perform(a); err != nil {
		return err
	}
	p.done = append(p.done, a)
	if p.gone != nil { // lost while doing it
		return p.gone
	}
	return nil
}

// Close ends the session.
func (p *Phone) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = device.Fail(device.ErrLost, device.No)
	return nil
}

// Reconnect brings a phone back that was lost, as it was left.
func (p *Phone) Reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.faults = nil, nil
}

// Done lists the actions that the phone has carried out, oldest first.
func (p *Phone) Done() []device.Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.done)
}

// Names lists the contacts.
func (p *Phone) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, c := range p.contacts {
		names = append(names, c.name)
	}
	return names
}

// Tricked is how often a decoy was touched.
func (p *Phone) Tricked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tricked
}

// DarkTheme reports whether the dark theme is on.
func (p *Phone) DarkTheme() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.switches["dark"]
}

// enter waits for the latency, lets a fault strike, and returns with mu held
// unless it returns an error.
func (p *Phone) enter(ctx context.Context, at Moment) error {
	if err := sleep.For(ctx, p.opts.Latency); err != nil {
		return device.Fail(device.ErrFailed.Because(ctx.Err()), device.No) // nothing was sent
	}
	p.mu.Lock()
	err := p.strike(at)
	if err == nil {
		return nil
	}
	p.mu.Unlock()
	if err == errHang {
		<-ctx.Done()
		return device.Fail(device.ErrFailed.Because(ctx.Err()), dispatchedAt(at))
	}
	return err
}
