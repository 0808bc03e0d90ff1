package hostapitest

import (
	"fmt"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
)

var (
	errToken      = fault.New(fault.Unauthenticated, "enrol_token_invalid", "the enrolment token is unknown or used")
	errCredential = fault.New(fault.Unauthenticated, "host_unauthorized", "the host credential is not valid")
	errRevoked    = fault.New(fault.Unauthenticated, "host_revoked", "this host was revoked")
	errSuperseded = fault.New(fault.Conflict, "credential_superseded", "this credential was rotated already")
)

type enrolToken struct {
	host string // that used it
	key  string
}

type host struct {
	id      string
	creds   []*credential // newest last
	devices []hostapi.Device
	drain   bool
	revoked bool
	signals []hostapi.Signal
	poll    int // numbers the held poll
	beat    hostapi.HeartbeatRequest
}

// takeOver numbers a new held poll; an older one is answered empty. The caller
// holds mu.
func (h *host) takeOver() int {
	h.poll++
	return h.poll
}

type credential struct {
	value    string
	expires  time.Time
	used     bool
	replaced *credential
	retires  time.Time // zero: not yet known
}

// retireAfter is how long an old credential works once the new one was used.
const retireAfter = time.Minute

// EnrolToken mints a one-use token.
func (s *Server) EnrolToken() secret.String {
	t := secret.Mint(secret.EnrolToken)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[t.Value.Reveal()] = &enrolToken{}
	return t.Value
}

// Hosts returns how many hosts enrolled.
func (s *Server) Hosts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts)
}

// Credentials returns how many credentials were made for the only host, and
// whether the newest was presented.
func (s *Server) Credentials() (made int, newestUsed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.only()
	return len(h.creds), h.creds[len(h.creds)-1].used
}

// Heartbeat returns the latest heartbeat of the only host.
func (s *Server) Heartbeat() hostapi.HeartbeatRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.only().beat
}

// SetDrain is the operator's word on whether the only host takes work.
func (s *Server) SetDrain(drain bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.only()
	h.drain = drain
	if drain {
		h.signals = append(h.signals, hostapi.Signal{Kind: hostapi.SignalDrain})
	}
	s.changed()
}

// Revoke refuses every later call of the only host and cuts its held poll.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.only().revoked = true
	s.changed()
}

// ForgetNewest drops the newest credential, as a database restored from a
// backup would.
func (s *Server) ForgetNewest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.only()
	h.creds = h.creds[:len(h.creds)-1]
	h.creds[len(h.creds)-1].replaced = nil
}

// only returns the only host; the caller holds mu.
func (s *Server) only() *host {
	if len(s.hosts) != 1 {
		panic(fmt.Sprintf("hostapitest: %d hosts are enrolled, not one", len(s.hosts)))
	}
	for _, h := range s.hosts {
		return h
	}
	return nil
}

func (s *Server) issue(h *host) hostapi.CredentialReply {
	c := &credential{value: secret.Mint(secret.HostCredential).Value.Reveal(), expires: time.Now().Add(s.opts.CredentialLife)}
	h.creds = append(h.creds, c)
	return hostapi.CredentialReply{HostID: h.id, Credential: secret.Expose(secret.New(c.value)),
		LifetimeMS: s.opts.CredentialLife.Milliseconds(), Timings: s.opts.Timings}
}

func (s *Server) enroll(c call) (any, error) {
	req, err := read[hostapi.EnrollRequest](s, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[req.Token.Reveal()]
	if t == nil {
		return nil, errToken
	}
	if t.host == "" {
		h := &host{id: fmt.Sprintf("host-%d", len(s.hosts)+1), devices: req.Devices}
		s.hosts[h.id] = h
		t.host, t.key = h.id, c.key
		return s.issue(h), nil
	}
	h := s.hosts[t.host]
	if t.key != c.key || h.creds[len(h.creds)-1].used {
		return nil, errToken
	}
	h.creds = nil // the answer was lost
	return s.issue(h), nil
}

// authenticate finds the host of a credential. One that was retired and comes
// back was copied: the host is revoked.
func (s *Server) authenticate(bearer string) (*host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		for _, c := range h.creds {
			if c.value != bearer {
				continue
			}
			switch {
			case h.revoked:
				return nil, errRevoked
			case !time.Now().Before(c.expires):
				return nil, errCredential
			}
			if !c.retires.IsZero() && time.Now().After(c.retires) {
				h.revoked = true
				s.violations = append(s.violations, "a retired credential was presented")
				return nil, errRevoked
			}
			h.firstUse(c)
			return h, nil
		}
	}
	return nil, errCredential
}

// firstUse retires the credential that c replaced, when c is used at first.
func (h *host) firstUse(c *credential) {
	if c.used {
		return
	}
	c.used = true
	for _, old := range h.creds {
		if old.replaced == c {
			old.retires = time.Now().Add(retireAfter)
		}
	}
}

func (s *Server) rotate(c call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range c.host.creds {
		if old.value != c.bearer {
			continue
		}
		if old.replaced != nil && old.replaced.used {
			return nil, errSuperseded
		}
		reply := s.issue(c.host)
		old.replaced = c.host.creds[len(c.host.creds)-1]
		return reply, nil
	}
	return nil, errCredential
}

func (s *Server) heartbeat(c call) (any, error) {
	req, err := read[hostapi.HeartbeatRequest](s, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.host.beat, c.host.devices = req, req.Devices
	reply := hostapi.HeartbeatReply{Held: []hostapi.HeldStatus{}, Drain: c.host.drain, Timings: s.opts.Timings}
	for _, held := range req.Held {
		status := hostapi.HeldStatus{Held: held, Status: hostapi.Lost}
		if t, err := s.fenced(c.host.id, held.TaskID, held.Attempt); err == nil {
			t.renew(s)
			status.Status, status.LeaseMS = hostapi.Renewed, s.opts.Timings.LeaseMS
			if t.State == Cancelling {
				status.Status = hostapi.Cancel
			}
		}
		reply.Held = append(reply.Held, status)
	}
	return reply, nil
}
