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
	"interlock/internal/serve/sites"
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

	doors := s.plan()
	muxes := map[string]*serve.Mux{} // by address
	for _, d := range doors {
		mux, shared := muxes[d.address]
		if !shared {
			mux = serve.NewMux(s.log)
			muxes[d.address] = mux
		}
		if err := d.door.Mount(mux); err != nil {
			return err
		}
		if d.name == operatorsDoor {
			health.Mount(mux)
		}
	}
	s.urls = map[string]string{}
	listening := map[string]string{} // URL by address
	for _, d := range doors {
		if _, already := listening[d.address]; !already {
			l, err := net.Listen("tcp", d.address)
			if err != nil {
				return portTaken(d.address, err)
			}
			s.doors.Listeners = append(s.doors.Listeners, serve.Listener{Listener: l, Handler: kit.Wrap(muxes[d.address])})
			listening[d.address] = scheme + "://" + l.Addr().String()
		}
		s.urls[d.name] = listening[d.address]
	}
	return nil
}

// The doors by name.
const (
	operatorsDoor = "operators"
	hostsDoor     = "hosts"
	sitesDoor     = "sites"
)

// planned is one door, and where it is to listen.
type planned struct {
	name    string
	address string
	door    interface{ Mount(*serve.Mux) error }
}

// plan lists the doors; those of one address share a listener.
func (s *Server) plan() []planned {
	c := s.config
	return []planned{
		{operatorsDoor, cmp.Or(c.ListenOperators, c.Listen), s.operatorsDoor()},
		{hostsDoor, cmp.Or(c.ListenHosts, c.Listen), s.hostsDoor()},
		{sitesDoor, cmp.Or(c.ListenSites, c.Listen), s.sitesDoor()},
	}
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
		Access: s.rooms.access, Audit: s.store, Catalog: s.rooms.bridge.catalog, Sites: s.rooms.bridge.sites, Credentials: s.rooms.bridge.credentials,
		Resolver: s.rooms.bridge.resolver, Gateway: s.rooms.bridge.gateway, PurgeABN: s.rooms.bridge.purgeABN, Version: s.config.Version, Planner: planner, Now: s.config.Now, Logger: s.log})
}

func (s *Server) sitesDoor() *sites.Door {
	b := s.rooms.bridge
	return sites.New(sites.Config{Catalog: b.catalog, Sites: b.sites, Resolver: b.resolver, Gateway: b.gateway, Now: s.config.Now, Logger: s.log})
}
