package abn_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

// troubles are the ways in which the register gives no answer, each with what
// that is.
func troubles(t testing.TB) map[string]struct {
	behaviour abrtest.Behaviour
	want      error
} {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed to %s", r.URL.Path)
	}))
	t.Cleanup(elsewhere.Close)
	return map[string]struct {
		behaviour abrtest.Behaviour
		want      error
	}{
		"the GUID is not recognised (a client that shows it as an invalid ABN)": {abrtest.Refuse(abrtest.Unrecognised), abn.ErrRejected},
		"no GUID was supplied":                       {abrtest.Refuse(abrtest.NoGUID), abn.ErrRejected},
		"the party is not registered for this":       {abrtest.Refuse(abrtest.Unregistered), abn.ErrRejected},
		"the party's registration was cancelled":     {abrtest.Refuse(abrtest.Withdrawn), abn.ErrRejected},
		"the message about the GUID has a full stop": {abrtest.Refuse("  The GUID  entered is not recognised as a Registered Party.\n"), abn.ErrRejected},
		"system problems":                            {abrtest.Refuse(abrtest.SystemTrouble), abn.ErrUnavailable},
		"a message that nobody has seen":             {abrtest.Refuse("No record found because the index is being rebuilt"), abn.ErrUnavailable},
		"the register takes the number for no ABN":   {abrtest.Refuse(abrtest.NotAnABN), abn.ErrDisagrees},
		"a page with status 200":                     {abrtest.Page(), abn.ErrUnavailable},
		"an error that is plain text":                {abrtest.Status(500, "text/plain", "Missing parameter: searchString."), abn.ErrUnavailable},
		"an answer that is fine but for its status":  {abrtest.Status(503, "application/json", `callback({"Message":"No record found"})`), abn.ErrUnavailable},
		"status 404":                                       {abrtest.Status(404, "text/html", "gone"), abn.ErrUnavailable},
		"too many requests":                                {abrtest.Status(429, "text/plain", "slow down"), abn.ErrUnavailable},
		"a redirect":                                       {abrtest.Redirect(elsewhere.URL), abn.ErrUnavailable},
		"a body that breaks off":                           {abrtest.Cut(ato), abn.ErrUnavailable},
		"a body that is too large":                         {abrtest.Padded(ato, 1<<20), abn.ErrUnavailable},
		"no HTTP":                                          {abrtest.Raw("SSH-2.0-OpenSSH " + canary + "\r\n\r\n"), abn.ErrUnavailable},
		"a header with the GUID that is none":              {abrtest.Raw("HTTP/1.1 200 OK\r\nGUID " + canary + "\r\n\r\n"), abn.ErrUnavailable},
		"another charset":                                  {abrtest.Status(200, "text/plain; charset=iso-8859-1", `callback({"Message":"No record found"})`), abn.ErrUnavailable},
		"bytes that are not UTF-8":                         {abrtest.Answer("callback({\"Message\":\"No record found\xe9\"})"), abn.ErrUnavailable},
		"a type that no form has":                          {abrtest.Status(200, "image/png", `callback({"Message":"No record found"})`), abn.ErrUnavailable},
		"nothing":                                          {abrtest.Answer(""), abn.ErrUnavailable},
		"the record of another number":                     {abrtest.As(with(ato, func(e *abrtest.Entity) { e.ABN = "53004085616" })), abn.ErrElsewhere},
		"a record without a number":                        {abrtest.As(with(ato, func(e *abrtest.Entity) { e.ABN = "" })), abn.ErrUnavailable},
		"a record without a status":                        {abrtest.As(with(ato, func(e *abrtest.Entity) { e.Status = "" })), abn.ErrUnavailable},
		"a status that nobody has seen":                    {abrtest.As(with(ato, func(e *abrtest.Entity) { e.Status = "Dormant" })), abn.ErrUnavailable},
		"GST as yes or no (a client that compares with Y)": {abrtest.As(with(ato, func(e *abrtest.Entity) { e.GSTFrom = "Y" })), abn.ErrUnavailable},
		"a day that is none":                               {abrtest.As(with(ato, func(e *abrtest.Entity) { e.StatusFrom = "2001-02-30" })), abn.ErrUnavailable},
		"a company number of ten digits":                   {abrtest.As(with(ato, func(e *abrtest.Entity) { e.ACN = "1234567890" })), abn.ErrUnavailable},
		"a control character in a name":                    {abrtest.Answer(`callback({"Abn":"51824753556","AbnStatus":"Active","EntityName":"A\u0007"})`), abn.ErrUnavailable},
		"an answer that repeats the whole query":           {abrtest.Answer("callback({" + canary + "})"), abn.ErrUnavailable},
	}
}

// R-BRIDGE-8
func TestTroubleIsNeverReadAsAnAnswerAndNeverShowsTheGUID(t *testing.T) {
	t.Parallel()
	for name, c := range troubles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(t *testing.T, form abn.Form) {
				w := newWorld(t, form)
				w.register.Enter(ato)
				w.register.Behave(ato.ABN, c.behaviour)
				for range 5 {
					r, found, err := w.lookup(t, ato.ABN)
					wantFailure(t, c.want, r, found, err)
					wantNoCanary(t, err, w.log.String())
				}
				// After five failures of the register's the sixth is not sent.
				_, found, err := w.lookup(t, ato.ABN)
				if sent := len(w.register.Requests()); found || (sent == 5) != (c.want == abn.ErrUnavailable) {
					t.Errorf("the sixth: %d requests, %t, %v", sent, found, err)
				}
				wantNoCanary(t, err, w.log.String())
				w.register.Behave(ato.ABN, nil)
				w.clock.Advance(time.Minute)
				if r, found, err := w.lookup(t, ato.ABN); err != nil || !found || !r.Active() {
					t.Errorf("a failure was remembered: %+v, %t, %v", r, found, err)
				}
			})
		})
	}
}

// R-BRIDGE-8
func TestSilenceEndsWithTheTimeout(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, form abn.Form) {
		w := newWorld(t, form, func(c *abn.WebConfig) { c.Timeout = 20 * time.Millisecond })
		w.register.Behave(ato.ABN, abrtest.Hang())
		for range 5 {
			r, found, err := w.lookup(t, ato.ABN)
			wantFailure(t, abn.ErrUnavailable, r, found, err)
			if !strings.Contains(err.Error(), "took too long") {
				t.Errorf("got %v", err)
			}
			wantNoCanary(t, err, w.log.String())
		}
		if !strings.Contains(w.log.String(), "keeps failing") {
			t.Errorf("the log does not tell: %q", w.log.String())
		}
	})
}

func wantFailure(t testing.TB, want error, r abn.Record, found bool, err error) {
	t.Helper()
	if !errors.Is(err, want) || found || r.Active() || r.Name != "" {
		t.Fatalf("got %+v, %t, %v; want %v", r, found, err, want)
	}
	code := fault.Of(err).Code
	if rejected := errors.Is(want, abn.ErrRejected); rejected != (code == "credential_rejected") || !rejected && code != "upstream_unavailable" {
		t.Fatalf("the code is %q for %v", code, want)
	}
}

// wantNoCanary searches everything that can be printed for the GUID, in any
// case, with its dashes or without.
func wantNoCanary(t testing.TB, err error, printed ...any) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		printed = append(printed, e)
	}
	for _, p := range printed {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			text := strings.ToLower(fmt.Sprintf(verb, p))
			if strings.Contains(text, strings.ToLower(canary)) || strings.Contains(text, "guid=") {
				t.Fatalf("%s of %T shows the GUID: %s", verb, p, text)
			}
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// R-BRIDGE-8
func TestATransportThatTellsTheAddressIsNotRepeated(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = quiet()
	t.Cleanup(untrusted.Close)
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	for name, c := range map[string]struct {
		change func(*abn.WebConfig)
		want   string
	}{
		"an error with the address": {func(c *abn.WebConfig) {
			c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("can't reach %s", r.URL) })
		}, "upstream_unavailable"},
		"a panic with the address": {func(c *abn.WebConfig) {
			c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) { panic("at " + r.URL.String()) })
		}, "internal"},
		"a panic with an error of the address": {func(c *abn.WebConfig) {
			c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) { panic(fmt.Errorf("at %s", r.URL)) })
		}, "internal"},
		"a certificate that nobody trusts": {func(c *abn.WebConfig) { c.BaseURL = untrusted.URL }, "upstream_unavailable"},
		"nobody listens":                   {func(c *abn.WebConfig) { c.BaseURL = nobody.URL }, "upstream_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(t *testing.T, form abn.Form) {
				w := newWorld(t, form, c.change)
				for range 6 {
					_, found, err := w.lookup(t, ato.ABN)
					if code := fault.Of(err).Code; found || code != c.want && code != "upstream_unavailable" {
						t.Fatalf("got %t, %v; want %s", found, err, c.want)
					}
					wantNoCanary(t, err, w.log.String())
				}
			})
		})
	}
}

// R-BRIDGE-8
func TestWhatCanBeNoGUIDIsNotSent(t *testing.T) {
	t.Parallel()
	for name, guid := range map[string]string{
		"nothing":               "",
		"a placeholder":         "YOUR-GUID-HERE",
		"braces":                "{" + canary + "}",
		"a space behind":        canary + " ",
		"another parameter":     canary + "&abn=1",
		"a line end":            canary + "\n",
		"a letter that is none": "g" + canary[1:],
		"no dashes":             strings.ReplaceAll(canary, "-", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, abn.JSON)
			w.register.Enter(ato)
			_, _, found, err := w.Lookup(t.Context(), number(t, ato.ABN), secret.New(guid))
			if found || !errors.Is(err, abn.ErrRejected) || len(w.register.Requests()) > 0 {
				t.Errorf("got %t, %v after %d requests", found, err, len(w.register.Requests()))
			}
			wantNoCanary(t, err, w.log.String())
		})
	}
}

// quiet is for servers whose complaints are expected.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
