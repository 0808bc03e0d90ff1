package abn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"interlock/internal/secret"
)

// Bounds of one exchange.
const (
	maxReplyBytes  = 1 << 20
	maxHeaderBytes = 64 << 10
)

// verdict is what the register said of a number.
type verdict struct {
	record Record
	found  bool
	at     time.Time // when it said so, by our clock
}

// about reports whether v holds anything about n.
func (v verdict) about(n Number) bool { return v.record.ABN == n || v.record.ReplacedBy == n }

func (r Record) clone() Record {
	r.Names = slices.Clone(r.Names)
	return r
}

// size is about how many bytes r takes.
func (r Record) size() int {
	total := 0
	for _, s := range append([]string{r.Name, r.TypeCode, r.TypeName, r.State, r.Postcode}, r.Names...) {
		total += len(s) + 16
	}
	return total
}

// service is the register's web service: one bounded exchange a request, and
// the reading of its answers.
type service struct {
	base   string
	form   form
	client *http.Client
	now    func() time.Time
}

// form is how a request is written and its answer read.
type form struct {
	path  string
	query func(n Number, guid string) url.Values
	types []string // of media that may carry an answer
	// read returns ErrUnavailable for what is no answer about n, and what
	// refused says of one that holds a message; found is false and the error
	// nil where there is no record.
	read func(body []byte, n Number) (r Record, found bool, err error)
}

var forms = map[Form]form{JSON: jsonForm, XML: xmlForm}

func newService(c WebConfig) *service {
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = maxHeaderBytes
		transport = t
	}
	return &service{
		base: strings.TrimRight(c.BaseURL, "/"),
		form: forms[c.Form],
		now:  c.Now,
		client: &http.Client{
			Transport: transport,
			// The GUID is in the address: whoever we were sent to would see it.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// details asks for n. Its errors are ErrRejected and ErrUnavailable.
func (s *service) details(ctx context.Context, n Number, guid secret.String) (verdict, error) {
	body, err := s.get(ctx, s.form.query(n, guid.Reveal()))
	if err != nil {
		return verdict{}, err
	}
	r, found, err := s.form.read(body, n)
	if err != nil {
		return verdict{}, err
	}
	r.ABN = n
	return verdict{record: r, found: found, at: s.now().UTC()}, nil
}

// get makes one exchange and returns the body of an answer in the form's type
// and in UTF-8.
func (s *service) get(ctx context.Context, query url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+s.form.path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, odd("the register's address can't be used")
	}
	req.Header.Set("Accept", strings.Join(s.form.types, ", "))
	req.Header.Set("User-Agent", "interlock")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, broken(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, odd(fmt.Sprintf("the register answered with status %d", resp.StatusCode))
	}
	if why := s.form.unfit(resp.Header.Get("Content-Type")); why != "" {
		return nil, odd(why)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReplyBytes+1))
	switch {
	case err != nil:
		return nil, broken(ctx, err)
	case len(body) > maxReplyBytes:
		return nil, odd("the register's answer is larger than we read")
	case !utf8.Valid(body):
		return nil, odd("the register's answer is not UTF-8")
	}
	return bytes.TrimPrefix(body, []byte("\ufeff")), nil
}

// unfit says why a body of the declared type is not read; "": it is.
func (f form) unfit(declared string) string {
	if declared == "" {
		return ""
	}
	media, params, err := mime.ParseMediaType(declared)
	switch charset := params["charset"]; {
	case err != nil || !slices.Contains(f.types, media):
		return "the register answered with another type of data"
	case charset != "" && !strings.EqualFold(charset, "utf-8"):
		return "the register answered in another charset than UTF-8"
	}
	return ""
}

// broken returns the ErrUnavailable for an exchange that ended without a whole
// answer. Only what is ours or the operating system's is kept of err: net/http
// puts the address in front of every error, and bytes of the peer in some.
func broken(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.As(err, &op):
		return ErrUnavailable.Because(op)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return odd("the register's answer broke off")
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return odd(fmt.Sprintf("the exchange with the register failed: %T", err))
}

// ended returns the ErrUnavailable for a context that is over.
func ended(ctx context.Context) error { return ErrUnavailable.Because(context.Cause(ctx)) }
