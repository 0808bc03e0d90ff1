package providertest

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"interlock/internal/secret"
)

// Reply is one answer of a fake vendor.
type Reply struct {
	Status int // zero: 200
	Header map[string]string
	Body   string
	Cut    bool   // the connection breaks before the body's declared end
	Hang   bool   // nothing comes until the client gives up
	Raw    string // instead of everything above: bytes that are no HTTP
}

// Vendor is a fake of one vendor's API. It answers the requests it would take
// with the replies it was given, and others as the vendor would.
type Vendor struct {
	shape Shape
	key   secret.String

	// Unforceable makes it a model that always thinks and takes no forced
	// call. Set before use.
	Unforceable bool
	// Unformed makes it a model, or a server, that knows no structured output.
	// Set before use.
	Unformed bool

	mu    sync.Mutex
	reply func(Seen) Reply // guarded by mu
	seen  []Seen           // guarded by mu
}

// NewVendor returns a fake that knows the key and answers each request with
// the next of replies, and with the last once they are used up. Give none only
// where Answer is called before the first request.
func NewVendor(shape Shape, key secret.String, replies ...Reply) *Vendor {
	v := &Vendor{shape: shape, key: key}
	v.reply = func(Seen) Reply { return replies[min(len(v.seen), len(replies))-1] }
	return v
}

// Answer makes the fake answer each request with what reply returns for it.
// Reply is called for one request at a time.
func (v *Vendor) Answer(reply func(Seen) Reply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reply = reply
}

// Requests returns what the fake was asked so far, refused requests too.
func (v *Vendor) Requests() []Seen {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Seen(nil), v.seen...)
}

// ServeHTTP answers one request.
func (v *Vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := v.judge(r, body)
	if answer.Raw != "" {
		writeRaw(w, answer.Raw)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set(v.shape.RequestIDHeader, "req_fake-1")
	for k, value := range answer.Header {
		header.Set(k, value)
	}
	switch {
	case answer.Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case answer.Cut:
		header.Set("Content-Length", "1000000")
	}
	if answer.Status == 0 {
		answer.Status = http.StatusOK
	}
	w.WriteHeader(answer.Status)
	io.WriteString(w, answer.Body)
	if answer.Cut {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// writeRaw takes the connection over, writes text and closes it.
func writeRaw(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // the suite serves HTTP/1.1, where a connection can be taken over
	}
	defer conn.Close()
	io.WriteString(conn, text)
}

// judge records the request and decides its answer.
func (v *Vendor) judge(r *http.Request, body []byte) Reply {
	seen, err := v.shape.read(body)
	seen.Header, seen.Body = r.Header, body
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, seen)
	refuse := func(status int, kind, message string) Reply {
		return Reply{Status: status, Body: v.shape.complain(kind, kind, message)}
	}
	switch {
	case r.Method != http.MethodPost || r.URL.Path != v.shape.Path:
		return refuse(http.StatusNotFound, "not_found_error", "no such path")
	case v.shape.key(r.Header) != v.key.Reveal():
		return refuse(http.StatusUnauthorized, "authentication_error", "wrong key "+v.shape.key(r.Header))
	case !v.shape.version(r.Header):
		return refuse(http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || err != nil:
		return refuse(http.StatusBadRequest, "invalid_request_error", "the request is malformed")
	case v.Unforceable && seen.Thinking == "disabled":
		return refuse(http.StatusBadRequest, "invalid_request_error", `"thinking.type.disabled" is not supported for this model.`)
	case v.Unformed && seen.Form != nil:
		return refuse(http.StatusBadRequest, "invalid_request_error", v.shape.unformed)
	case v.Unforceable && seen.Forced:
		return refuse(http.StatusBadRequest, "invalid_request_error", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	return v.reply(seen)
}
