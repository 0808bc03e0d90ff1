package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/secret"
)

// Vendor is what differs between the wire clients, apart from the bodies.
type Vendor struct {
	Name            string // as decisions carry it
	BaseURL         string // the vendor's own address
	Resource        string // path below the version, e.g. "messages"
	RequestIDHeader string
	Images          ImageLimits
	// Authorize sets the vendor's headers; key is not empty.
	Authorize func(h http.Header, key secret.String)
	// Headers are sent with each request, and PortableHeaders instead in the
	// portable dialect.
	Headers, PortableHeaders map[string]string
	// Unforceable are the beginnings of the names of models that are known to
	// take no forced call; see ErrUnforceable.
	Unforceable []string
}

// Bounds of one exchange.
const (
	maxRequestBytes = 32 << 20 // Anthropic's, as documented; OpenAI's is larger
	maxReplyBytes   = 4 << 20
	maxHeaderBytes  = 64 << 10
	writeBuffer     = 32 << 10 // a request without a screenshot goes out in one piece
)

// Wire carries one vendor's requests. It is safe for concurrent use.
type Wire struct {
	vendor   Vendor
	url      string
	key      secret.String
	model    string
	timeout  time.Duration
	portable bool
	form     string      // names how this wire's dialect writes tools
	unforced atomic.Bool // the model takes no forced call
	unformed atomic.Bool // the model takes no structured output
	client   *http.Client
}

// NewWire checks c and returns the wire to the vendor or to the compatible
// server that c names. It sends nothing.
func NewWire(v Vendor, c Config) (*Wire, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	base := c.BaseURL
	if base == "" {
		base = v.BaseURL
	}
	url, err := endpoint(base, v.Resource)
	if err != nil {
		return nil, err
	}
	own, err := endpoint(v.BaseURL, v.Resource)
	if err != nil {
		return nil, err
	}
	w := &Wire{vendor: v, url: url, key: c.Key, model: c.Model, timeout: c.Timeout,
		portable: c.Dialect == DialectPortable || (c.Dialect == DialectByURL && url != own)}
	w.form = fmt.Sprintf("%s, portable %t", v.Name, w.portable)
	if w.timeout == 0 {
		w.timeout = llm.DefaultTimeout
	}
	w.unforced.Store(slices.ContainsFunc(v.Unforceable, func(prefix string) bool { return strings.HasPrefix(c.Model, prefix) }))
	transport := c.Transport
	if transport == nil {
		transport = ownTransport()
	}
	w.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return w, nil
}

// ownTransport keeps enough idle connections for the concurrent decisions of
// one server to reuse theirs.
func ownTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.WriteBufferSize = writeBuffer
	return t
}

// Model returns the model's name as configured.
func (w *Wire) Model() string { return w.model }

// Portable reports whether requests must keep to the portable dialect.
func (w *Wire) Portable() bool { return w.portable }

// Answer is a reply with status 200 and a JSON body.
type Answer struct {
	Body      []byte
	RequestID string
}

// once makes one exchange. Its error is a *failure.
func (w *Wire) once(ctx context.Context, body []byte) (Answer, *failure) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, &failure{reason: llm.BadRequest, detail: "the base URL can't be used", err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "interlock")
	for k, v := range w.headers() {
		req.Header.Set(k, v)
	}
	if !w.key.Empty() {
		w.vendor.Authorize(req.Header, w.key)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return Answer{}, broken(ctx, err)
	}
	defer resp.Body.Close()
	id := requestID(resp.Header, w.vendor.RequestIDHeader)
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReplyBytes+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		// A body that breaks off leaves the status, which says enough.
		return Answer{}, classify(resp, reply).from(id)
	case err != nil:
		return Answer{}, broken(ctx, err).from(id)
	case len(reply) > maxReplyBytes:
		return Answer{}, (&failure{reason: llm.ProviderError, detail: "the provider's reply is larger than we read"}).from(id)
	case !isJSON(resp.Header.Get("Content-Type")):
		return Answer{}, (&failure{reason: llm.ProviderError, detail: "the provider answered with something other than JSON; check the base URL"}).from(id)
	case breaksOff(reply):
		return Answer{}, broken(ctx, io.ErrUnexpectedEOF).from(id)
	}
	return Answer{Body: reply, RequestID: id}, nil
}

func (w *Wire) headers() map[string]string {
	if w.portable {
		return w.vendor.PortableHeaders
	}
	return w.vendor.Headers
}

// breaksOff reports whether b is the beginning of a JSON document: what a cut
// reply without a declared length looks like.
func breaksOff(b []byte) bool {
	_, err := jsontext.NewDecoder(bytes.NewReader(b)).ReadValue()
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// isJSON takes an absent type for JSON: the parser decides then.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}

// requestID reads the vendor's header, or the one that compatible servers use.
func requestID(h http.Header, vendors string) string {
	if id := identifier(h.Get(vendors)); id != "" {
		return id
	}
	return identifier(h.Get("X-Request-Id"))
}

// identifier returns a request id as we keep it: what a provider writes there
// ends up in logs, so anything odd is dropped.
func identifier(s string) string {
	if len(s) > 128 {
		return ""
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' && c != ':' {
			return ""
		}
	}
	return s
}

// ModelName returns the model as the reply named it, or as asked where the
// reply's name is missing or odd.
func (w *Wire) ModelName(replied string) string {
	if modelName.MatchString(replied) {
		return replied
	}
	return w.model
}

// fail returns an *llm.Unavailable of this wire.
func (w *Wire) fail(reason llm.Reason, detail string) *llm.Unavailable {
	return &llm.Unavailable{Reason: reason, Detail: detail, Provider: w.vendor.Name, Model: w.model}
}

// Malformed returns the failure for a 200 whose body is not a reply of the
// vendor's API.
func (w *Wire) Malformed(a Answer) error {
	u := w.fail(llm.ProviderError, "the provider's reply is not one of its API; check the base URL")
	u.ProviderRequestID = a.RequestID
	return u
}
