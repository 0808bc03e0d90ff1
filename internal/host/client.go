package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/problem"
	"interlock/internal/secret"
)

// What goes wrong on the way to the control plane. All are worth a repeat.
var (
	errUnreachable = fault.New(fault.Unavailable, "server_unreachable",
		"the control plane can't be reached; check its address and the network").Retry(0)
	errCertificate = fault.New(fault.Unavailable, "server_certificate",
		"the control plane's certificate is not trusted; name the CA that signed it with a CA file, or check the address").Retry(0)
	errNotInterlock = fault.New(fault.Unavailable, "server_not_interlock",
		"the answer did not come from Interlock; check the server's address, and any proxy in between").Retry(0)
)

// callTime bounds one try of every call but a poll and a decide.
const callTime = 15 * time.Second

// client speaks the host protocol: strict JSON both ways, bounded answers, no
// redirects, and a deadline on every try. It is safe for concurrent use.
type client struct {
	base  string // scheme and authority
	http  *http.Client
	creds *credentials // nil while enrolling
}

// newClient builds a client for cfg, which has been validated.
func newClient(cfg Config, creds *credentials) (*client, error) {
	roots, err := readCA(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	// HTTP/1.1 alone: each call has a connection of its own, so that one that
	// hangs holds up no other, least of all a renewal.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
		Protocols:              protocols,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    8,
		MaxResponseHeaderBytes: 64 << 10,
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{base: strings.TrimSuffix(cfg.Server, "/"), creds: creds,
		http: &http.Client{Transport: transport, CheckRedirect: noRedirect}}, nil
}

func readCA(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		return nil, fault.New(fault.Invalid, "ca_file", "the CA file %s can't be read or holds no certificate in PEM form", file).Because(err)
	}
	return roots, nil
}

// close lets go of idle connections.
func (c *client) close() { c.http.CloseIdleConnections() }

// newKey returns a fresh idempotency key.
func newKey() string { return rand.Text() }

// call is one request that may be sent more than once: the same bytes under
// the same key.
type call struct {
	path    string
	key     string
	body    []byte
	timeout time.Duration // of one try; zero: the context's alone
}

// newCall encodes in for path under a fresh key.
func newCall(path string, in any) (call, error) {
	body, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		return call{}, fault.New(fault.Invalid, "encode_request", "the request to the control plane can't be encoded").Because(err)
	}
	return call{path: path, key: newKey(), body: body, timeout: callTime}, nil
}

// answer is what one try brought: nothing (204) or a JSON body.
type answer struct {
	empty bool
	body  []byte
}

// decode reads the body strictly into out: valid UTF-8, distinct names, their
// exact case. Names that this version doesn't know are left alone, since a
// newer server may say more.
func (a answer) decode(out any) error {
	if err := json.Unmarshal(a.body, out); err != nil {
		return errNotInterlock.Because(errors.New("the body is not the JSON that this call answers with"))
	}
	return nil
}

// once sends cl a single time. Its error is a *fault.Error or an
// *llm.Unavailable, or the context's cause where ctx ended. A credential that
// was rotated in but never accepted falls back to the one before.
func (c *client) once(ctx context.Context, cl call) (answer, error) {
	for {
		cred := c.credential()
		a, err := c.exchange(ctx, cl, cred)
		switch {
		case c.creds == nil:
			return a, err
		case err == nil:
			c.creds.accepted(cred)
			return a, nil
		case fault.KindOf(err) == fault.Unauthenticated && c.creds.refused(cred):
			continue
		}
		return a, err
	}
}

func (c *client) credential() secret.String {
	if c.creds == nil {
		return secret.String{}
	}
	return c.creds.inUse()
}

func (c *client) exchange(ctx context.Context, cl call, cred secret.String) (answer, error) {
	try := ctx
	if cl.timeout > 0 {
		var cancel context.CancelFunc
		try, cancel = context.WithTimeout(ctx, cl.timeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(try, http.MethodPost, c.base+cl.path, bytes.NewReader(cl.body))
	if err != nil {
		return answer{}, fault.New(fault.Invalid, "server_url", "the server's address %q can't be used", c.base).Because(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, "+problem.MediaType)
	req.Header.Set(hostapi.VersionHeader, hostapi.Version)
	req.Header.Set(hostapi.KeyHeader, cl.key)
	if !cred.Empty() {
		req.Header.Set("Authorization", "Bearer "+cred.Reveal())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, broken(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, hostapi.MaxReply+1))
	if err != nil {
		return answer{}, broken(ctx, err)
	}
	return judge(resp, body)
}

// broken is a try that brought no whole answer. The cause of a context that
// the caller ended comes through as it is.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address is known, and the text is for a log
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return errCertificate.Because(err)
	}
	return errUnreachable.Because(err)
}

// judge tells an answer of the API from everything else that can come back.
func judge(resp *http.Response, body []byte) (answer, error) {
	switch {
	case len(body) > hostapi.MaxReply:
		return answer{}, errNotInterlock.Because(errors.New("the answer is too large"))
	case resp.StatusCode == http.StatusNoContent:
		return answer{empty: true}, nil
	case resp.StatusCode == http.StatusOK:
		return answer{body: body}, nil
	}
	var p problem.Problem
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode < 400 || media != problem.MediaType || json.Unmarshal(body, &p) != nil || p.Code == "" {
		return answer{}, errNotInterlock.Because(errors.New("status " + resp.Status))
	}
	p.Status, p.Code, p.Detail = resp.StatusCode, oneLine(p.Code, 64), oneLine(p.Detail, 400)
	return answer{}, p.Err()
}

// oneLine makes text from outside fit for a log line or a terminal.
func oneLine(s string, most int) string {
	out := make([]rune, 0, min(len(s), most))
	for _, r := range s {
		if len(out) == most {
			break
		}
		if !unicode.IsPrint(r) {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
