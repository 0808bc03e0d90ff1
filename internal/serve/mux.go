package serve

import (
	"log/slog"
	"net/http"
	"strings"
)

// Mux routes like http.ServeMux, and answers what it has no route for with a
// problem.
type Mux struct {
	*http.ServeMux
	logger *slog.Logger
}

// NewMux returns a Mux without routes.
func NewMux(logger *slog.Logger) *Mux {
	m := &Mux{ServeMux: http.NewServeMux(), logger: logger}
	m.ServeMux.HandleFunc("/", m.missing)
	return m
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

// missing answers for paths and methods that have no route.
func (m *Mux) missing(w http.ResponseWriter, r *http.Request) {
	Fail(w, r, m.logger, m.Missing(w, r, "/"))
}

// Missing says what is wrong with a request that only the catch-all pattern
// took, which ends in a slash: its method, with the Allow header then set, or
// its path.
func (m *Mux) Missing(w http.ResponseWriter, r *http.Request, catchAll string) error {
	allowed := m.methods(r, catchAll)
	if len(allowed) == 0 {
		return errNoPath
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return errMethod
}

// methods lists those that the path of r has a route for.
func (m *Mux) methods(r *http.Request, catchAll string) []string {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := m.Handler(other); pattern != catchAll && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
