package serve

import (
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Mux routes like http.ServeMux, with two differences: what it has no route for
// it answers with a problem, and it never redirects. A path with "//", "." or
// ".." in it has no route: a redirect would make a client send its credential
// and body a second time.
type Mux struct {
	*http.ServeMux
	logger *slog.Logger
	rests  []rest // longest prefix first
}

// rest answers what has no route below a prefix, which ends in a slash.
type rest struct {
	prefix string
	answer func(http.ResponseWriter, *http.Request, error)
}

// NewMux returns a Mux without routes.
func NewMux(logger *slog.Logger) *Mux {
	m := &Mux{ServeMux: http.NewServeMux(), logger: logger}
	m.HandleRest("/", func(w http.ResponseWriter, r *http.Request, err error) { Fail(w, r, m.logger, err) })
	return m
}

// HandleRest has answer say, in a door's own form, that there is no route: for
// every path below the prefix, which ends in a slash, and for the prefix
// without it. Its error is that the path is not there, or not for that method;
// the Allow header is set then. Call it before the Mux serves.
func (m *Mux) HandleRest(prefix string, answer func(http.ResponseWriter, *http.Request, error)) {
	m.rests = append(m.rests, rest{prefix, answer})
	slices.SortFunc(m.rests, func(a, b rest) int { return len(b.prefix) - len(a.prefix) })
	missing := func(w http.ResponseWriter, r *http.Request) { answer(w, r, m.why(w, r)) }
	m.ServeMux.HandleFunc(prefix, missing)
	if bare := strings.TrimSuffix(prefix, "/"); bare != "" {
		m.ServeMux.HandleFunc(bare, missing)
	}
}

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.EscapedPath() // what is percent-encoded is part of a name
	if clean := path.Clean("/" + asked); clean != strings.TrimSuffix(asked, "/") && asked != "/" {
		m.unclean(w, r, clean)
		return
	}
	m.ServeMux.ServeHTTP(w, r)
}

// unclean answers a path that is not written as its routes are.
func (m *Mux) unclean(w http.ResponseWriter, r *http.Request, clean string) {
	at := slices.IndexFunc(m.rests, func(one rest) bool { return strings.HasPrefix(clean+"/", one.prefix) })
	r.Pattern = m.rests[at].prefix // "/" is a prefix of all
	m.rests[at].answer(w, r, errNoPath)
}

// HandleQuiet routes pattern to h like HandleFunc. Its successes are logged at
// debug level: probes and the calls that every host makes all the time.
func (m *Mux) HandleQuiet(pattern string, h http.HandlerFunc) {
	m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if rec := recordOf(r.Context()); rec != nil {
			rec.quiet = true
		}
		h(w, r)
	})
}

// why says what is wrong with a request that has no route: its method, with
// the Allow header then set, or its path.
func (m *Mux) why(w http.ResponseWriter, r *http.Request) error {
	allowed := m.methods(r)
	if len(allowed) == 0 {
		return errNoPath
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return errMethod
}

// methods lists those that the path of r has a route for.
func (m *Mux) methods(r *http.Request) []string {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := m.Handler(other); strings.Contains(pattern, " ") { // those for what has no route name no method
			allowed = append(allowed, method)
		}
	}
	return allowed
}
