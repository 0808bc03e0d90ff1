package app

import (
	"cmp"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/serve"
	"interlock/internal/serve/hosts"
	"interlock/internal/serve/operators"
)

// open mounts the doors and listens: one listener an address.
func (s *Server) open() error {
	c := s.config
	registry := prometheus.NewRegistry()
	s.rooms.register(registry, s.log)
	kit := serve.Kit{Logger: s.log, Proxies: c.TrustedProxies, Metrics: serve.NewMetrics(registry)}
	health := &serve.Health{Metrics: registry, Logger: s.log}
	s.doors = &serve.Server{Health: health, Grace: c.Grace, Logger: s.log}
	scheme := "http"
	if c.TLSCert != "" {
		certificate, err := serve.LoadCertificate(c.TLSCert, c.TLSKey, c.Now, s.log)
		if err != nil {
			return err
		}
		s.doors.Certificate, scheme = certificate, "https"
	}

	hostsAt, operatorsAt := cmp.Or(c.ListenHosts, c.Listen), cmp.Or(c.ListenOperators, c.Listen)
	hostsMux := serve.NewMux(s.log)
	operatorsMux := hostsMux
	if hostsAt != operatorsAt {
		operatorsMux = serve.NewMux(s.log)
	}
	if err := errors.Join(s.hostsDoor().Mount(hostsMux), s.operatorsDoor().Mount(operatorsMux)); err != nil {
		return err
	}
	health.Mount(operatorsMux)

	listen := func(address string, mux *serve.Mux) (url string, err error) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return "", portTaken(address, err)
		}
		s.doors.Listeners = append(s.doors.Listeners, serve.Listener{Listener: l, Handler: kit.Wrap(mux)})
		return scheme + "://" + l.Addr().String(), nil
	}
	var err error
	if s.operators, err = listen(operatorsAt, operatorsMux); err != nil {
		return err
	}
	s.hosts = s.operators
	if operatorsMux != hostsMux {
		s.hosts, err = listen(hostsAt, hostsMux)
	}
	return err
}

func portTaken(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fault.New(fault.Unavailable, "address_in_use", "another program listens on %s; stop it, or choose another address with INTERLOCK_LISTEN", address).Because(err)
	}
	return fault.New(fault.Invalid, "address_unusable", "this machine can't listen on %s; choose another address with INTERLOCK_LISTEN", address).Because(err)
}

func (s *Server) hostsDoor() *hosts.Door {
	return hosts.New(hosts.Config{Fleet: s.rooms.fleet, Tasks: s.rooms.tasks, Decisions: s.rooms.decisions,
		Timings: s.timings(), Now: s.config.Now, Logger: s.log})
}

// timings are what hosts keep to, in the proportions of the protocol: a third
// of the lease old is fresh, two thirds is where the host fences itself.
func (s *Server) timings() hostapi.Timings {
	lease := s.rooms.tasks.Lease()
	return hostapi.Timings{
		LeaseMS: lease.Milliseconds(), RenewMS: (lease / 4).Milliseconds(), SelfFenceMS: (lease * 2 / 3).Milliseconds(), FreshMS: (lease / 3).Milliseconds(),
		PollHoldMS: cmp.Or(s.config.Tasks.PollHold, pollHold).Milliseconds(), DecideSlackMS: decideSlack.Milliseconds(),
	}
}

// pollHold and decideSlack are the host protocol's: how long a poll is held,
// and by how much a host's patience with a decide exceeds the decide's timeout.
const (
	pollHold    = 25 * time.Second
	decideSlack = 2 * time.Second
)

func (s *Server) operatorsDoor() *operators.Door {
	var planner operators.PlannerName
	if s.rooms.decisions.Configured() {
		planner.Provider, _ = s.config.Planner.Named()
		planner.Model = s.config.Planner.Model
	}
	return operators.New(operators.Config{Tasks: s.rooms.tasks, Fleet: s.rooms.fleet, Decisions: s.rooms.decisions, Usage: s.rooms.usage,
		Access: s.rooms.access, Audit: s.store, Version: s.config.Version, Planner: planner, Now: s.config.Now, Logger: s.log})
}
