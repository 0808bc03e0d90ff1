// Package abrtest is a stand-in of the Australian Business Register's web
// service for tests: a real HTTP server with a register of its own that answers
// in both forms of the service, JSON in a callback and XML, and misbehaves for
// the ABNs for which it is told to.
//
// It knows its users by GUIDs and words its refusals as the register does, all
// of them with status 200. A parameter that is missing or spelled in another
// case is the register's plain-text 500. It knows nothing of the code that it
// tests: what it sends is written here a second time.
package abrtest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The refusals of the register, as it words them.
const (
	NoRecord      = "No record found"  // in JSON
	NoRecords     = "No records found" // in XML
	NotAnABN      = "Search text is not a valid ABN or ACN"
	NoGUID        = "A GUID must be supplied to access service"
	Unrecognised  = "The GUID entered is not recognised as a Registered Party"
	Unregistered  = "The Registered Party has not been registered for the requested service"
	Withdrawn     = "The registration of this party has been cancelled"
	SystemTrouble = "System problems have prevented the search from being completed"
)

// Entity is what the register holds of one ABN. Empty details are withheld.
type Entity struct {
	ABN, Status, StatusFrom          string
	Name                             string // of an organisation
	Family, Given, Other             string // of a person, who has no Name
	TypeCode, TypeName, ACN, GSTFrom string
	State, Postcode                  string
	BusinessNames, TradingNames      []string
	Former                           []Former  // numbers that ABN replaced; each finds the entity
	StatusHistory, GSTHistory        []History // what has ended, which only the XML form tells
	FormerNames, FormerPostcodes     []History
}

// Former is a number that an entity once had.
type Former struct{ ABN, ReplacedFrom string }

// History is a value that has ended.
type History struct{ Value, From, To string }

// Request is one that the service was sent.
type Request struct {
	Form   string // "json" or "xml"; "": at another path
	ABN    string
	GUID   string
	URL    string // path and query
	Header http.Header
}

// Service is the running stand-in.
type Service struct {
	URL string // where it listens

	mu        sync.Mutex
	guids     []string             // guarded by mu
	entities  map[string]Entity    // by each ABN that finds it; guarded by mu
	behaviour map[string]Behaviour // by ABN; guarded by mu
	requests  []Request            // guarded by mu
}

// New starts a service that knows the GUIDs, and closes it when the test ends.
// Its register is empty.
func New(t testing.TB, guids ...string) *Service {
	s := &Service{guids: guids, entities: map[string]Entity{}, behaviour: map[string]Behaviour{}}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(server.Close)
	return s
}

// Enter adds entities to the register, or replaces them.
func (s *Service) Enter(entities ...Entity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entities {
		s.entities[e.ABN] = e
		for _, f := range e.Former {
			s.entities[f.ABN] = e
		}
	}
}

// Behave makes every answer about abn go wrong, until told otherwise with nil.
func (s *Service) Behave(abn string, b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour[abn] = b
}

// Requests returns what the service was sent so far, in order of arrival.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

const (
	jsonPath = "/json/AbnDetails.aspx"
	xmlPath  = "/abrxmlsearch/abrxmlsearch.asmx/searchbyabnv202001"
)

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c := Call{w: w, r: r}
	switch {
	case r.URL.Path == jsonPath:
		c.Request = Request{Form: "json", ABN: q.Get("abn"), GUID: q.Get("guid")}
	case strings.EqualFold(r.URL.Path, xmlPath):
		c.Request = Request{Form: "xml", ABN: q.Get("searchString"), GUID: q.Get("authenticationGuid")}
	}
	c.URL, c.Header = r.URL.RequestURI(), r.Header.Clone()
	s.mu.Lock()
	s.requests = append(s.requests, c.Request)
	behave := s.behaviour[c.ABN]
	known := slices.ContainsFunc(s.guids, func(g string) bool { return strings.EqualFold(g, c.GUID) })
	e, found := s.entities[c.ABN]
	s.mu.Unlock()
	switch {
	case c.Form == "":
		http.NotFound(w, r)
	case behave != nil:
		behave(c)
	case c.missing() != "":
		http.Error(w, "Missing parameter: "+c.missing()+".", http.StatusInternalServerError)
	case c.GUID == "":
		c.refuse(NoGUID)
	case !known:
		c.refuse(Unrecognised)
	case len(c.ABN) != 11:
		c.refuse(NotAnABN)
	case !found && c.Form == "json":
		c.refuse(NoRecord)
	case !found:
		c.refuse(NoRecords)
	default:
		c.answer(e)
	}
}
