package hostapitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/problem"
)

// Timings are what the server sends unless Options say otherwise.
var Timings = hostapi.Timings{LeaseMS: 60_000, RenewMS: 15_000, SelfFenceMS: 40_000, FreshMS: 20_000, PollHoldMS: 25_000, DecideSlackMS: 2_000}

// Options set a server up. The zero value is useful.
type Options struct {
	Timings        hostapi.Timings // zero: Timings
	CredentialLife time.Duration   // zero: 30 days
	AckWithin      time.Duration   // zero: 10 s
	DeviceGrace    time.Duration   // zero: 10 s
	// Decide makes the decisions; nil: planner_not_configured. It is called
	// once a key, whatever the host repeats.
	Decide func(ctx context.Context, r hostapi.DecideRequest) (llm.Decision, error)
}

// Server is one control plane. Its methods are safe for concurrent use.
type Server struct {
	opts   Options
	closed chan struct{}
	once   sync.Once

	mu         sync.Mutex // guards all below
	change     chan struct{}
	tokens     map[string]*enrolToken
	hosts      map[string]*host
	tasks      []*task
	devices    map[string]time.Time // host/device to when it may be leased again
	decided    map[string]*decided
	bodies     map[string][32]byte
	faults     map[string][]Fault
	broken     Fault
	arrived    []string // verbs
	violations []string
}

// New returns a server that nobody can reach yet. At the end of the test it
// fails t for every violation of the protocol.
func New(t testing.TB, o Options) *Server {
	if o.Timings == (hostapi.Timings{}) {
		o.Timings = Timings
	}
	for _, d := range []struct {
		field    *time.Duration
		standard time.Duration
	}{{&o.CredentialLife, 30 * 24 * time.Hour}, {&o.AckWithin, 10 * time.Second}, {&o.DeviceGrace, 10 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.standard
		}
	}
	s := &Server{opts: o, closed: make(chan struct{}), change: make(chan struct{}), tokens: map[string]*enrolToken{}, hosts: map[string]*host{},
		devices: map[string]time.Time{}, decided: map[string]*decided{}, bodies: map[string][32]byte{}, faults: map[string][]Fault{}}
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			t.Errorf("the host broke the protocol: %s", v)
		}
	})
	return s
}

// Violations returns what hosts did wrong so far.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Arrived returns the verbs of the calls that arrived, in order, repeats and
// failed ones too.
func (s *Server) Arrived() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrived)
}

// Calls returns how many calls of a verb arrived.
func (s *Server) Calls(verb string) (n int) {
	for _, v := range s.Arrived() {
		if v == verb {
			n++
		}
	}
	return n
}

// Wait blocks until ok, which is called with nothing held, is true, and fails t
// after a minute of the process's clock.
func (s *Server) Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		change := s.change
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-change:
		case <-deadline.C:
			t.Fatalf("waited a minute for: %s", what)
		}
	}
}

func (s *Server) closeAll() { s.once.Do(func() { close(s.closed) }) }

// changed wakes held polls and Wait; the caller holds mu.
func (s *Server) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// call is one call that passed the checks of the protocol's frame.
type call struct {
	ctx     context.Context
	host    *host // nil for enroll
	bearer  string
	key     string
	task    string
	attempt int
	body    []byte
}

// verbs are the calls. Each returns what it answers, nil for 204.
func (s *Server) verbs() map[string]func(call) (any, error) {
	return map[string]func(call) (any, error){
		"enroll": s.enroll, "rotate": s.rotate, "heartbeat": s.heartbeat, "poll": s.poll, "decide": s.decide,
		"ack": s.ack, "renew": s.renew, "events": s.events, "result": s.result, "release": s.release,
	}
}

// handler serves all calls: fault first, then the frame, then the verb.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verb := path.Base(r.URL.Path)
		handle := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reply, err := s.serve(verb, r)
			switch {
			case err != nil:
				refuse(w, err)
			case reply == nil:
				w.WriteHeader(http.StatusNoContent)
			default:
				w.Header().Set("Content-Type", "application/json")
				json.MarshalWrite(w, reply)
			}
			s.mu.Lock()
			s.changed()
			s.mu.Unlock()
		})
		if f := s.nextFault(verb); f != nil {
			f(s, w, r, handle)
			return
		}
		handle.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, err error) {
	p := problem.From(err)
	w.Header().Set("Content-Type", problem.MediaType)
	w.WriteHeader(p.Status)
	json.MarshalWrite(w, p)
}

// violation keeps and returns what a host did wrong.
func (s *Server) violation(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	s.violations = append(s.violations, what)
	return fault.New(fault.Invalid, "protocol_violation", "%s", what)
}

// serve checks the frame of a call and carries it out.
func (s *Server) serve(verb string, r *http.Request) (any, error) {
	c := call{ctx: r.Context(), key: r.Header.Get(hostapi.KeyHeader)}
	carryOut := s.verbs()[verb]
	known := carryOut != nil && (r.URL.Path == s.fixedPath(verb) || c.parse(r.URL.Path, verb))
	printable := func(k string) bool {
		return k != "" && len(k) <= 200 && !strings.ContainsFunc(k, func(r rune) bool { return r < ' ' || r > '~' })
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, hostapi.MaxDecideBody+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "body", "the body did not arrive").Retry(0)
	}
	c.body = body
	switch {
	case !known || r.Method != http.MethodPost:
		return nil, s.violation("%s %s is no call", r.Method, r.URL.Path)
	case r.Header.Get(hostapi.VersionHeader) != hostapi.Version:
		return nil, s.violation("%s has no protocol version", verb)
	case r.Header.Get("Content-Type") != "application/json":
		return nil, s.violation("%s has content type %q", verb, r.Header.Get("Content-Type"))
	case !printable(c.key):
		return nil, s.violation("%s has no usable idempotency key", verb)
	case (verb != "decide" && len(body) > hostapi.MaxBody) || len(body) > hostapi.MaxDecideBody:
		return nil, s.violation("%s has a body of %d bytes", verb, len(body))
	}
	if err := s.sameBody(verb, c); err != nil {
		return nil, err
	}
	if verb != "enroll" {
		bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return nil, s.violation("%s has no bearer credential", verb)
		}
		c.bearer = bearer
		if c.host, err = s.authenticate(bearer); err != nil {
			return nil, err
		}
	}
	return carryOut(c)
}

func (s *Server) fixedPath(verb string) string {
	return map[string]string{"enroll": hostapi.PathEnroll, "rotate": hostapi.PathRotate, "heartbeat": hostapi.PathHeartbeat,
		"poll": hostapi.PathPoll, "decide": hostapi.PathDecide}[verb]
}

// parse reads a path of one verb on one attempt.
func (c *call) parse(p, verb string) bool {
	parts := strings.Split(p, "/")
	if len(parts) != 8 {
		return false
	}
	c.task = parts[4]
	_, err := fmt.Sscanf(parts[6], "%d", &c.attempt)
	return err == nil && p == hostapi.TaskPath(c.task, c.attempt, verb)
}

// sameBody refuses a key that was used with another body.
func (s *Server) sameBody(verb string, c call) error {
	id, sum := fmt.Sprint(verb, c.task, c.attempt, " ", c.key), sha256.Sum256(c.body)
	s.mu.Lock()
	before, used := s.bodies[id]
	s.bodies[id] = sum
	s.mu.Unlock()
	if used && before != sum {
		return s.violation("%s used one key for two bodies", verb)
	}
	return nil
}

// read decodes a body as strictly as can be.
func read[T any](s *Server, c call) (T, error) {
	var v T
	if err := json.UnmarshalRead(bytes.NewReader(c.body), &v, json.RejectUnknownMembers(true)); err != nil {
		return v, s.violation("a body does not decode into %T: %v", v, err)
	}
	return v, nil
}
