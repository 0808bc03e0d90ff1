package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"interlock/internal/fault"
	"interlock/internal/problem"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
)

// client speaks the operators' API.
type client struct {
	base  string
	token secret.String
	http  *http.Client
}

// What the client puts up with.
const (
	callTimeout = 30 * time.Second // of a whole call; a watch has none
	maxReply    = 64 << 20         // bytes
)

// operatorCommand is a command that calls the server.
func (p *program) operatorCommand(use, short string, args cobra.PositionalArgs, do func(*client, []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args}
	p.settingFlags(c, forClient)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := p.load(c, forClient); err != nil {
			return err
		}
		cl, err := p.client()
		if err != nil {
			return err
		}
		return do(cl, args)
	}
	return c
}

// client builds the client that the settings mean.
func (p *program) client() (*client, error) {
	s := p.settings
	token := s.token
	if token.Empty() {
		name := filepath.Join(s.stateDir, "token")
		if _, err := os.Stat(name); err != nil {
			return nil, tokenMissing(s.unknown).Because(err)
		}
		value, err := readSecret(name)
		if err != nil {
			return nil, usageError("the API token: %s", err)
		}
		token = secret.New(value)
	}
	return newClient(s.serverURL, s.caFile, token)
}

// tokenMissing also names the variables that may be the token's misspelt.
func tokenMissing(unknown []string) *fault.Error {
	sentence := "no API token: set INTERLOCK_TOKEN, or INTERLOCK_TOKEN_FILE to a file of mode 0600 (the server shows the first token at its first start)"
	if len(unknown) > 0 {
		sentence += "; set, but not a setting: " + strings.Join(unknown, ", ")
	}
	return fault.New(fault.Unauthenticated, "token_missing", "%s", sentence)
}

// newClient checks that the token would not cross a network in the clear.
func newClient(base, caFile string, token secret.String) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, usageError("INTERLOCK_SERVER must be an address such as https://interlock.example.com")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, usageError("the API token is not sent over plain http to %s; set INTERLOCK_SERVER to an https address", u.Hostname())
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if caFile != "" {
		if t.TLSClientConfig, err = trust(caFile); err != nil {
			return nil, err
		}
	}
	t.ResponseHeaderTimeout = callTimeout
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{base: base, token: token, http: &http.Client{Transport: t, CheckRedirect: noRedirect}}, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.IsLoopback())
}

// trust accepts the certificates in the file, and no others.
func trust(caFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, usageError("INTERLOCK_CA_FILE: the file %s can't be read", caFile)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usageError("INTERLOCK_CA_FILE: the file %s holds no certificate in PEM form", caFile)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// get reads one thing.
func (c *client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, nil, out)
}

// post, put, patch and remove change something.
func (c *client) post(ctx context.Context, path string, body, out any) error {
	return c.call(ctx, http.MethodPost, path, nil, nil, body, out)
}

// once is a post that makes a new thing at most once for the key; an empty
// key gets one of its own.
func (c *client) once(ctx context.Context, path, key string, body, out any) error {
	if key == "" {
		key = uuid.NewString()
	}
	return c.call(ctx, http.MethodPost, path, nil, http.Header{operators.KeyHeader: {key}}, body, out)
}

func (c *client) put(ctx context.Context, path string, body, out any) error {
	return c.call(ctx, http.MethodPut, path, nil, nil, body, out)
}

func (c *client) patch(ctx context.Context, path string, body, out any) error {
	return c.call(ctx, http.MethodPatch, path, nil, nil, body, out)
}

func (c *client) remove(ctx context.Context, path string, query url.Values) error {
	return c.call(ctx, http.MethodDelete, path, query, nil, nil, nil)
}

// call makes one request and reads its answer into out (nil: ignored).
func (c *client) call(ctx context.Context, method, path string, query url.Values, header http.Header, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := c.send(ctx, method, path, query, header, body)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if out == nil || reply.StatusCode == http.StatusNoContent {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if len(b) > maxReply {
		return fault.New(fault.Unavailable, "reply_too_large", "the server's answer is larger than %d MiB; ask for less, with --limit", maxReply>>20)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return c.stranger().Because(err)
	}
	return nil
}

// send makes one request and returns its answer if that is a success.
func (c *client) send(ctx context.Context, method, path string, query url.Values, header http.Header, body any) (*http.Response, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		content = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, usageError("INTERLOCK_SERVER must be an address such as https://interlock.example.com")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	reply, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if reply.StatusCode >= 200 && reply.StatusCode < 300 {
		return reply, nil
	}
	defer reply.Body.Close()
	return nil, c.problem(reply)
}

// pages calls next with the query of page after page until limit things have
// come or there is no further page. next returns the cursor and how many came.
func pages(limit int, query url.Values, next func(url.Values) (string, int, error)) error {
	if limit < 1 {
		return usageError("--limit must be at least 1")
	}
	for limit > 0 {
		query.Set("limit", strconv.Itoa(min(limit, operators.MaxPage)))
		cursor, n, err := next(query)
		if err != nil || cursor == "" || n == 0 {
			return err
		}
		limit -= n
		query.Set("cursor", cursor)
	}
	return nil
}

// problem reads why the server refused.
func (c *client) problem(reply *http.Response) error {
	kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	var p problem.Problem
	b, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if kind != problem.MediaType || err != nil || json.Unmarshal(b, &p) != nil || p.Code == "" {
		return c.stranger()
	}
	return p.Err()
}

func (c *client) stranger() *fault.Error {
	return fault.New(fault.Unavailable, "server_not_interlock", "%s answers, but not as an Interlock server; check INTERLOCK_SERVER, and the proxy in front of it if there is one", c.base)
}

// unreachable says why there was no answer.
func (c *client) unreachable(ctx context.Context, err error) error {
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	sentence := "the server at %s can't be reached; start it with: interlock server, or set INTERLOCK_SERVER"
	var netErr net.Error
	switch {
	case errors.As(err, &authority):
		sentence = "the certificate of %s is not trusted here; set INTERLOCK_CA_FILE to the certificate of its authority"
	case errors.Is(err, http.ErrSchemeMismatch):
		return fault.New(fault.Invalid, "server_url", "%s speaks plain http; set INTERLOCK_SERVER to the http address, or give the server a certificate", c.base).Because(err)
	case errors.As(err, &hostname):
		sentence = "the certificate of %s is for another name; set INTERLOCK_SERVER to the name in the certificate"
	case ctx.Err() != nil || (errors.As(err, &netErr) && netErr.Timeout()):
		sentence = "the server at %s did not answer in time; try again, or look at its log"
	}
	return fault.New(fault.Unavailable, "server_unreachable", sentence, c.base).Because(err)
}
