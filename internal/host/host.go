package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/runner"
)

// ErrRevoked ends Run when an operator revoked the host. A credential that the
// control plane doesn't know ends it with the control plane's own words, a
// fault of kind Unauthenticated.
var ErrRevoked = fault.New(fault.Unauthenticated, "host_revoked", "this host was revoked by an operator; enroll it again with a new token if that was a mistake")

// errStopped is why runs are cancelled when Run's context ends. They are
// released, not reported as cancelled: nobody cancelled the tasks.
var errStopped = fault.New(fault.Conflict, "host_stopped", "the host was stopped").Because(runner.ErrCancelled)

// sendTime bounds what is still sent after the last attempt has ended.
const sendTime = 10 * time.Second

// Host is one enrolled host. Its methods are safe for concurrent use.
type Host struct {
	cfg    Config
	plan   Planners
	log    *slog.Logger
	creds  *credentials
	client *client
	outbox *outbox
	unlock func()

	drain     chan struct{} // closed by Drain
	drainOnce sync.Once
	beatNow   chan struct{} // one waits: a heartbeat is wanted at once
	reoffer   chan struct{} // one waits: what the poll offers may have changed
	greeted   chan struct{} // closed after the first accepted heartbeat
	swept     chan struct{} // closed after the first round of the outbox
	fatal     chan error    // the first reason to end Run

	mu       sync.Mutex
	timings  timings                   // guarded by mu
	paused   bool                      // guarded by mu; an operator drains this host
	closed   bool                      // guarded by mu; no attempt begins any more
	over     bool                      // guarded by mu; closed, and the last attempt has ended
	quiet    chan struct{}             // closed when over is set
	attempts map[hostapi.Held]*attempt // guarded by mu; from the assignment to the posted result
	phones   []*phone                  // guarded by mu
}

// Open reads the credential and the outbox from cfg.StateDir and takes the
// folder's lock. Run, or Close where Run is not called, gives it back. Errors:
// ErrNotEnrolled, host_settings, wrong_server, host_running, state_file,
// state_file_mode, host_storage.
func Open(cfg Config, plan Planners) (*Host, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := makePrivate(cfg.StateDir); err != nil {
		return nil, err
	}
	unlock, err := lockDir(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, plan: plan, unlock: unlock, timings: standardTimings, attempts: map[hostapi.Held]*attempt{},
		drain: make(chan struct{}), quiet: make(chan struct{}), greeted: make(chan struct{}), swept: make(chan struct{}),
		beatNow: make(chan struct{}, 1), reoffer: make(chan struct{}, 1), fatal: make(chan error, 1)}
	for _, d := range cfg.Devices {
		h.phones = append(h.phones, &phone{Device: d, finder: -1})
	}
	if err := h.open(); err != nil {
		unlock()
		return nil, err
	}
	return h, nil
}

func (h *Host) open() (err error) {
	if h.creds, err = openCredentials(h.cfg.StateDir, h.cfg.Server, h.cfg.Logger); err != nil {
		return err
	}
	h.log = h.cfg.Logger.With("host", h.creds.hostID())
	if h.outbox, err = openOutbox(h.cfg.StateDir, h.log); err != nil {
		return err
	}
	if err := readLedgers(h.cfg.StateDir, h.cfg.Clock(), h.log); err != nil {
		return err
	}
	h.client, err = newClient(h.cfg, h.creds)
	return err
}

// Close gives the state folder back. Run does it itself.
func (h *Host) Close() {
	h.client.close()
	h.unlock()
}

// ID returns who this host is to the control plane.
func (h *Host) ID() string { return h.creds.hostID() }

// Caller returns the ToolCaller that decides at the control plane, with
// whatever credential is in use at the time.
func (h *Host) Caller() llm.ToolCaller {
	return &CloudCaller{client: h.client, slack: func() time.Duration { return h.times().slack }, refused: h.fail}
}

// Drain makes the host take no more work and Run end when the last attempt
// has. Attempts that still run after Config.DrainTime are released at their
// next step boundary. It returns at once; again does nothing.
func (h *Host) Drain() {
	h.drainOnce.Do(func() {
		h.log.Info("draining")
		h.shut()
		close(h.drain)
		nudge(h.beatNow)
		nudge(h.reoffer)
	})
}

// Run serves until ctx ends, Drain is done, or the control plane will have
// nothing of this host any more. It returns nil for the first two. When ctx
// ends, running attempts are cancelled and given back; what must still be sent
// goes out for at most ten seconds. Run may be called once.
func (h *Host) Run(ctx context.Context) error {
	defer h.Close()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, loops := errgroup.WithContext(work)
	for _, loop := range []func(context.Context) error{h.keepAlive, h.keepPolling, h.keepSending, h.keepRotating, h.keepFinding, h.awaitFatal} {
		g.Go(func() error { return loop(loops) })
	}
	g.Go(func() error {
		defer stop()
		h.oversee(ctx, loops)
		return nil
	})
	err := g.Wait()
	if err != nil {
		h.log.Error("the host ends", "error", err)
	}
	return err
}

// oversee blocks until the host is to end and everything that runs has ended.
func (h *Host) oversee(ctx, loops context.Context) {
	select {
	case <-ctx.Done():
	case <-loops.Done():
	case <-h.drain:
	}
	over := h.shut()
	h.letFinish(ctx, loops, over)
	switch {
	case loops.Err() != nil: // the control plane wants nothing of us
		for _, a := range h.all() {
			a.lose(errors.Join(runner.ErrLeaseLost, context.Cause(loops)))
		}
	case ctx.Err() != nil:
		for _, a := range h.all() {
			a.cancel(errStopped)
		}
	}
	<-over
	last, cancel := context.WithTimeout(loops, sendTime)
	defer cancel()
	h.outbox.emptied(last)
}

// letFinish gives attempts the drain time, then has them end at a step
// boundary. It returns early when there is a reason to cancel them.
func (h *Host) letFinish(ctx, loops context.Context, over <-chan struct{}) {
	t := time.NewTimer(h.cfg.DrainTime)
	defer t.Stop()
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-loops.Done():
			return
		case <-t.C:
			h.log.Warn("the drain time is over; what still runs is released at its next step")
			h.leaveAll()
		}
	}
}

// awaitFatal ends the loops when a call made elsewhere was refused for good.
func (h *Host) awaitFatal(ctx context.Context) error {
	select {
	case err := <-h.fatal:
		return err
	case <-ctx.Done():
		return nil
	}
}

// fail ends Run with err, of which only the first counts. What the host runs is
// lost at once: were that left to Run, an attempt could end by itself in
// between and report a result.
func (h *Host) fail(err error) {
	for _, a := range h.all() {
		a.lose(errors.Join(runner.ErrLeaseLost, err))
	}
	select {
	case h.fatal <- err:
	default:
	}
}

// final reports whether err ends the host: the control plane doesn't know it
// any more, or doesn't speak its protocol.
func final(err error) bool {
	f := fault.Of(err)
	return f.Kind == fault.Unauthenticated || f.Code == "protocol_version" || f.Code == "credential_superseded"
}

// times returns the timings of now.
func (h *Host) times() timings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.timings
}

// nudge leaves one token in c.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
