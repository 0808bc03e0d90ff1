package abn

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"interlock/internal/fault"
	"interlock/internal/secret"
)

// Form is one of the two in which the register's web service answers.
type Form string

// The forms. They say the same of an ABN, except of one whose entity has got
// another number: JSON answers for that number without saying so, which is
// ErrUnavailable here; XML tells.
const (
	JSON Form = "json"
	XML  Form = "xml"
)

// WebConfig is how to ask the register's web service. The zero value asks the
// register's own address in JSON.
type WebConfig struct {
	// BaseURL is where the service is; "": the register's own address. Plain
	// http is for this machine only, since each request carries the GUID.
	BaseURL string
	Form    Form // "": JSON
	// Timeout bounds a look-up, the wait for its turn included. Zero: 10 s.
	Timeout time.Duration
	// Concurrent is how many requests may be under way with one GUID. Zero: 4.
	Concurrent int
	// CacheFor is how long a record is kept and answered again, at most 24 h:
	// who has details withheld may expect them gone by then. Zero: 1 h. That
	// there is no record is kept for at most 5 min, a failure never.
	CacheFor time.Duration
	// CacheSize is how many answers are kept. Zero: 4096.
	CacheSize int
	// Transport carries the requests. Nil: one of the source's own, which
	// honours HTTPS_PROXY.
	Transport http.RoundTripper
	Now       func() time.Time // nil: time.Now
	Logger    *slog.Logger     // nil: none
}

// The register's own address, and the bounds of a WebConfig.
const (
	registerURL   = "https://abr.business.gov.au"
	maxTimeout    = time.Minute
	maxConcurrent = 64
	maxCacheFor   = 24 * time.Hour
	maxCacheSize  = 1 << 20
	maxMissingFor = 5 * time.Minute
)

// Validate reports every problem of c at once, as one fault.Invalid.
func (c WebConfig) Validate() error {
	var wrong fault.Problems
	if c.BaseURL != "" {
		if problem := misplaced(c.BaseURL); problem != "" {
			wrong.Add("%s", problem)
		}
	}
	wrong.Require(c.Form == "" || c.Form == JSON || c.Form == XML, "set the form to json or xml, or leave it out")
	wrong.Require(c.Timeout >= 0 && c.Timeout <= maxTimeout, "set the timeout to at most %s", maxTimeout)
	wrong.Require(c.Concurrent >= 0 && c.Concurrent <= maxConcurrent, "set the number of concurrent requests to at most %d", maxConcurrent)
	wrong.Require(c.CacheFor >= 0 && c.CacheFor <= maxCacheFor, "keep answers for at most %s", maxCacheFor)
	wrong.Require(c.CacheSize >= 0 && c.CacheSize <= maxCacheSize, "keep at most %d answers", maxCacheSize)
	return wrong.Refuse("invalid_abn_settings", "the settings of the ABN source")
}

// misplaced says what is wrong with a base URL; "": nothing.
func misplaced(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Opaque != "":
		return "set the register's address to one such as " + registerURL
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "take user name, query and fragment out of the register's address"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "use https for the register's address; plain http would show the GUIDs to the network"
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// withDefaults fills in what is left out.
func (c WebConfig) withDefaults() WebConfig {
	set(&c.BaseURL, registerURL)
	set(&c.Form, JSON)
	set(&c.Timeout, 10*time.Second)
	set(&c.Concurrent, 4)
	set(&c.CacheFor, time.Hour)
	set(&c.CacheSize, 4096)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func set[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// Web asks the register's web service. It is a Source, safe for concurrent
// use.
//
// Several callers that ask for one ABN with one GUID at the same time share one
// request, which goes on until the last of them has left. Answers are kept per
// GUID, so a tenant whose GUID the register refuses is never served from what
// another's brought. After five failures in a row with one GUID, look-ups with
// it fail at once for ten seconds, and then until one of them succeeds; answers
// that can't be used but show that the service works are no such failures.
type Web struct {
	config  WebConfig
	service *service
	flights *flights
	lanes   *lanes
}

// NewWeb returns the source of c. It sends nothing.
func NewWeb(c WebConfig) (*Web, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	w := &Web{config: c, service: newService(c), lanes: newLanes(c)}
	w.flights = newFlights(c)
	return w, nil
}

// NeedsCredential is true: the register knows its users by their GUIDs.
func (w *Web) NeedsCredential() bool { return true }

// Purge forgets every answer about n, also one that is on its way, and returns
// how many were kept: whoever has details withheld can have our copies deleted.
func (w *Web) Purge(n Number) int { return w.flights.purge(func(v verdict) bool { return v.about(n) }) }

// PurgeAll forgets every answer, and returns how many were kept.
func (w *Web) PurgeAll() int { return w.flights.purge(func(verdict) bool { return true }) }

// Lookup asks the register for n, or answers what it said of n a short while
// ago. A credential that can't be a GUID is ErrRejected without a request. The
// caller whose ctx ends gets ErrUnavailable with the context's cause.
func (w *Web) Lookup(ctx context.Context, n Number, credential secret.String) (Record, Provenance, bool, error) {
	if n == (Number{}) {
		return Record{}, Provenance{}, false, errors.New("a look-up of no number")
	}
	guid := credential.Reveal()
	if !guidShape.MatchString(guid) {
		return Record{}, Provenance{}, false, rejected("what is set as the tenant's GUID does not have the form of one")
	}
	owner := sha256.Sum256([]byte(strings.ToLower(guid)))
	v, err := w.flights.join(ctx, flightKey{owner: owner, number: n}, func(ctx context.Context) (verdict, error) {
		return w.ask(ctx, owner, n, credential)
	})
	if err != nil {
		return Record{}, Provenance{}, false, err
	}
	return v.record.clone(), Provenance{Source: "abr", AsOf: v.at}, v.found, nil
}

var guidShape = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ask makes one request when it is its turn, within the timeout.
func (w *Web) ask(ctx context.Context, owner [sha256.Size]byte, n Number, guid secret.String) (v verdict, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.config.Timeout, errTimeout)
	defer cancel()
	lane := w.lanes.of(owner)
	if err := lane.enter(ctx); err != nil {
		return verdict{}, err
	}
	err = errNotEnded // what a panic leaves behind
	defer func() { lane.leave(ctx, err) }()
	v, err = w.service.details(ctx, n, guid)
	return v, err
}

var (
	errTimeout  = errors.New("the register took too long")
	errNotEnded = errors.New("the look-up did not come to its end")
)
