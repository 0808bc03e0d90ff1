package hostapitest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

// Fault is how one call goes wrong.
type Fault func(s *Server, w http.ResponseWriter, r *http.Request, handle http.Handler)

// CutAnswer carries the call out and closes the connection in the middle of
// the answer.
func CutAnswer(_ *Server, w http.ResponseWriter, r *http.Request, handle http.Handler) {
	answer := httptest.NewRecorder()
	handle.ServeHTTP(answer, r)
	conn, out, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	body := answer.Body.Bytes()
	fmt.Fprintf(out, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", answer.Code, http.StatusText(answer.Code), len(body)+1, body[:len(body)/2])
	out.Flush()
	conn.Close()
}

// DropCall closes the connection before the call is looked at.
func DropCall(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	conn.Close()
}

// Swallow never answers: the call is not carried out and its connection stays
// open until the client gives up or the server closes.
func Swallow(s *Server, _ http.ResponseWriter, r *http.Request, _ http.Handler) {
	select {
	case <-r.Context().Done():
	case <-s.closed:
	}
}

// Page answers with a proxy's page instead of carrying the call out.
func Page(status int) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		fmt.Fprint(w, "<html><body>nginx</body></html>")
	}
}

// Refuse answers with the problem that err is instead of carrying the call out.
func Refuse(err error) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) { refuse(w, err) }
}

// Answer answers 200 with body instead of carrying the call out.
func Answer(body string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}
}

// Inject makes the next n calls of a verb go wrong: "enroll", "rotate",
// "heartbeat", "poll", "decide", "ack", "renew", "events", "result" or
// "release". Faults of one verb queue up.
func (s *Server) Inject(verb string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.faults[verb] = append(s.faults[verb], f)
	}
}

// Mend drops the faults that still wait for a verb.
func (s *Server) Mend(verb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.faults, verb)
}

// Break makes every call go wrong, whatever is injected, until mended with nil.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = f
	s.changed()
}

// nextFault takes the fault that the call is due, or nil.
func (s *Server) nextFault(verb string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = append(s.arrived, verb)
	s.changed()
	if s.broken != nil {
		return s.broken
	}
	queue := s.faults[verb]
	if len(queue) == 0 {
		return nil
	}
	s.faults[verb] = queue[1:]
	return queue[0]
}
