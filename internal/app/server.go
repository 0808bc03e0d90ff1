package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"interlock/internal/access"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/serve"
	"interlock/internal/store"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// DefaultListen is where a server listens if nobody says otherwise.
const DefaultListen = "127.0.0.1:8420"

// ServerConfig is what a server is built of. The zero value serves no model
// and needs a Database.
type ServerConfig struct {
	Version string

	Listen           string // the doors without an address of their own; "": DefaultListen
	ListenHosts      string
	ListenSites      string
	ListenOperators  string
	PublicURL        string // how others reach it; "": as it listens
	TLSCert, TLSKey  string // paths of PEM files; both or neither
	TrustedProxies   serve.Proxies
	Grace            time.Duration // for requests in flight at the end; zero: serve.DefaultGrace
	Database         string        // path of the SQLite file; its folder is made
	Retention        time.Duration // of decisions after their task's end; zero: decision's default
	DecisionMaxBytes int64         // zero: no limit
	Caps             usage.Caps
	Planner          Planner // its Transport doesn't matter
	Bridge           Bridge
	Logger           *slog.Logger

	// For tests.
	Now        func() time.Time // nil: time.Now
	Fleet      fleet.Config     // its clock and logger are set here
	Tasks      task.Config      // likewise
	PruneEvery time.Duration    // zero: decision's default
}

// Server is the control plane, built and listening.
type Server struct {
	config     ServerConfig
	log        *slog.Logger
	store      *sqlite.Store
	rooms      rooms
	doors      *serve.Server
	urls       map[string]string // of the doors, by name
	firstToken secret.String
}

// rooms are the services of a server.
type rooms struct {
	fleet     *fleet.Service
	tasks     *task.Service
	decisions *decision.Service
	usage     *usage.Service
	access    *access.Service
	bridge    bridge
}

// NewServer opens the store, makes the first API token if there is none yet,
// and listens. Run serves; Close where Run is not called. Errors that a person
// can mend are faults.
func NewServer(ctx context.Context, c ServerConfig) (*Server, error) {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, fault.New(fault.Invalid, "tls_incomplete", "INTERLOCK_TLS_CERT and INTERLOCK_TLS_KEY go together; set both or neither")
	}
	s := &Server{config: c, log: c.Logger}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) build(ctx context.Context) (err error) {
	if err := makeFolder(filepath.Dir(s.config.Database)); err != nil {
		return err
	}
	if s.store, err = sqlite.Open(ctx, sqlite.Config{Path: s.config.Database, Now: s.config.Now, Logger: s.log}); err != nil {
		return err
	}
	if err := s.furnish(); err != nil {
		return err
	}
	if s.firstToken, _, err = s.rooms.access.First(ctx, tenant.Default); err != nil {
		return err
	}
	return s.open()
}

// makeFolder makes the database's folder for its owner only.
func makeFolder(dir string) error {
	switch err := os.MkdirAll(dir, 0o700); {
	case errors.Is(err, syscall.ENOSPC):
		return store.ErrFull.Because(err)
	case err != nil:
		return fault.New(store.ErrPlace.Kind, store.ErrPlace.Code, "the folder %s can't be made; choose another place with INTERLOCK_DATABASE or INTERLOCK_STATE_DIR", dir).Because(err)
	}
	return nil
}

// furnish makes the services over the store.
func (s *Server) furnish() (err error) {
	c := s.config
	c.Tasks.Now, c.Tasks.Logger = c.Now, c.Logger
	c.Fleet.Now, c.Fleet.Logger = c.Now, c.Logger
	r := &s.rooms
	if r.tasks, err = task.New(s.store, c.Tasks); err != nil {
		return err
	}
	if r.fleet, err = fleet.New(s.store, r.tasks, c.Fleet); err != nil {
		return err
	}
	caller, err := c.Planner.Caller()
	if err != nil {
		return err
	}
	r.decisions, err = decision.New(s.store, caller, decision.Config{Timeout: c.Planner.Timeout, Retention: c.Retention, PruneEvery: c.PruneEvery,
		MaxBytes: c.DecisionMaxBytes, Caps: c.Caps, Now: c.Now, Logger: c.Logger})
	if err != nil {
		return err
	}
	r.tasks.Observe(r.decisions.TaskChanged)
	r.usage = usage.New(s.store, c.Now, c.Logger)
	r.access = access.New(s.store, c.Now, c.Logger)
	return s.furnishBridge()
}

// FirstToken is the API token made at the first start with this database, to
// be shown once; empty at every later start.
func (s *Server) FirstToken() secret.String { return s.firstToken }

// HostsURL is where host agents reach this server.
func (s *Server) HostsURL() string { return cmp.Or(s.config.PublicURL, s.urls[hostsDoor]) }

// SitesURL is where sites reach this server.
func (s *Server) SitesURL() string { return cmp.Or(s.config.PublicURL, s.urls[sitesDoor]) }

// OperatorsURL is where operators reach this server.
func (s *Server) OperatorsURL() string { return cmp.Or(s.config.PublicURL, s.urls[operatorsDoor]) }

// Run serves until ctx ends. Then held polls are answered, requests in flight
// finish within the grace, the loops end, and the store is closed last. It
// returns nil for that, else what broke.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	serving, stopServing := context.WithCancelCause(ctx)
	defer stopServing(nil)
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorking()

	var loops errgroup.Group
	run := map[string]func(context.Context) error{"fleet": s.rooms.fleet.Run, "tasks": s.rooms.tasks.Run, "decisions": s.rooms.decisions.Run}
	maps.Copy(run, s.rooms.bridge.loops())
	for name, loop := range run {
		loops.Go(func() error {
			err := loop(working)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
				stopServing(err)
			}
			return err
		})
	}
	answered := context.AfterFunc(serving, s.rooms.tasks.StopPolls)
	defer answered()
	err = s.doors.Run(serving)
	stopWorking()
	return errors.Join(err, loops.Wait())
}

// Close gives back what NewServer took. Run does it itself.
func (s *Server) Close() error {
	if s.doors != nil {
		for _, l := range s.doors.Listeners {
			l.Close()
		}
	}
	var err error
	if s.rooms.bridge.closeABN != nil {
		err = s.rooms.bridge.closeABN()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}
