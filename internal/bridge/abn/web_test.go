package abn_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/logtest"
	"interlock/internal/secret"
)

// canary is the GUID of every test here: it must be found nowhere but in
// requests to the register.
const canary = "C0ffee5e-c2e7-4bad-9c0d-5ec2e7CAFE42"

var ato = abrtest.Entity{
	ABN: "51824753556", Status: "Active", StatusFrom: "1999-11-01", Name: "AUSTRALIAN TAXATION OFFICE",
	TypeCode: "CGE", TypeName: "Commonwealth Government Entity", GSTFrom: "2000-07-01", State: "NSW", Postcode: "2640",
}

// world is a source with the register that it asks.
type world struct {
	*abn.Web
	register *abrtest.Service
	clock    *clocktest.Clock
	log      *logtest.Log
}

func newWorld(t testing.TB, form abn.Form, change ...func(*abn.WebConfig)) world {
	t.Helper()
	w := world{register: abrtest.New(t, canary), clock: clocktest.New(), log: &logtest.Log{}}
	c := abn.WebConfig{BaseURL: w.register.URL, Form: form, Now: w.clock.Now, Logger: w.log.Logger()}
	for _, f := range change {
		f(&c)
	}
	web, err := abn.NewWeb(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Web = web
	return w
}

func number(t rapid.TB, s string) abn.Number {
	t.Helper()
	n, err := abn.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lookup asks with the canary.
func (w world) lookup(t testing.TB, n string) (abn.Record, bool, error) {
	t.Helper()
	r, p, found, err := w.Lookup(t.Context(), number(t, n), secret.New(canary))
	if err == nil && (p.Source != "abr" || p.AsOf.IsZero()) {
		t.Errorf("provenance %+v", p)
	}
	return r, found, err
}

// inBothForms runs the test for each form of the service.
func inBothForms(t *testing.T, test func(t *testing.T, form abn.Form)) {
	for _, form := range []abn.Form{abn.JSON, abn.XML} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			test(t, form)
		})
	}
}

func with(e abrtest.Entity, change func(*abrtest.Entity)) abrtest.Entity {
	change(&e)
	return e
}

// recordOf is what a look-up should make of an entity.
func recordOf(t rapid.TB, e abrtest.Entity) abn.Record {
	name := e.Name
	if e.Family != "" {
		name = e.Family + ", " + strings.TrimSpace(e.Given+" "+e.Other)
	}
	return abn.Record{
		ABN: number(t, e.ABN), Status: e.Status, StatusFrom: e.StatusFrom, Name: name, TypeCode: e.TypeCode, TypeName: e.TypeName,
		ACN: e.ACN, GSTFrom: e.GSTFrom, State: e.State, Postcode: e.Postcode, Names: e.BusinessNames,
	}
}

func wantRecord(t rapid.TB, got, want abn.Record) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b abn.Number) bool { return a == b })); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// R-BRIDGE-8
func TestARecordIsReadAsTheRegisterHasIt(t *testing.T) {
	t.Parallel()
	company := abrtest.Entity{ABN: "53004085616", Status: "Active", StatusFrom: "2000-03-01", Name: "EXAMPLE HOLDINGS PTY LTD", TypeCode: "PRV", TypeName: "Australian Private Company", ACN: "004085616", GSTFrom: "2000-07-01", State: "VIC", Postcode: "3000"}
	for name, e := range map[string]abrtest.Entity{
		"a government body":                        ato,
		"a company":                                company,
		"one business name (abn_search 3)":         with(company, func(e *abrtest.Entity) { e.BusinessNames = []string{"ONE"} }),
		"several business names (abn_search 2)":    with(company, func(e *abrtest.Entity) { e.BusinessNames = []string{"ONE", "TWO", "THREE"} }),
		"an entity that is not registered for GST": with(company, func(e *abrtest.Entity) { e.GSTFrom = "" }),
		"an apostrophe and an ampersand":           with(company, func(e *abrtest.Entity) { e.Name = `O'BRIEN & SONS` }),
		"an accent":                                with(company, func(e *abrtest.Entity) { e.Name = "CAFÉ ÉLAN" }),
		"parentheses, semicolons, quotes and brackets": with(company, func(e *abrtest.Entity) {
			e.Name, e.BusinessNames = `A (B) "C"); D`, []string{`}); callback({`, `</businessName> <x>`}
		}),
		"a type that nobody has seen":    with(company, func(e *abrtest.Entity) { e.TypeCode, e.TypeName = "ZZZ", "Something New" }),
		"an overseas place":              with(company, func(e *abrtest.Entity) { e.State, e.Postcode = "AAT", "SW1A 1AA" }),
		"everything withheld":            {ABN: "53004085616", Status: "Active"},
		"a person":                       {ABN: "53004085616", Status: "Active", StatusFrom: "2010-02-03", Family: "O'NEIL", Given: "ZOË", Other: "ANNE MARIE", TypeCode: "IND", TypeName: "Individual/Sole Trader"},
		"a person of two names":          {ABN: "53004085616", Status: "Active", StatusFrom: "2010-02-03", Family: "CITIZEN", Given: "JO", TypeCode: "IND"},
		"trading names are not evidence": with(company, func(e *abrtest.Entity) { e.TradingNames = []string{"OLD TRADER"} }),
		"what has ended is not current": with(company, func(e *abrtest.Entity) {
			e.StatusHistory = []abrtest.History{{Value: "Cancelled", From: "1999-01-01", To: "2000-02-29"}}
			e.FormerNames = []abrtest.History{{Value: "OLD NAME PTY LTD", From: "1999-01-01", To: "2000-02-29"}}
			e.FormerPostcodes = []abrtest.History{{Value: "2600", From: "1999-01-01", To: "2000-02-29"}}
		}),
		"a GST registration that has ended is none": with(company, func(e *abrtest.Entity) {
			e.GSTFrom, e.GSTHistory = "", []abrtest.History{{From: "2000-07-01", To: "2009-01-01"}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(t *testing.T, form abn.Form) {
				w := newWorld(t, form)
				w.register.Enter(e)
				r, found, err := w.lookup(t, e.ABN)
				if err != nil || !found || !r.Active() {
					t.Fatalf("got %+v, %t, %v", r, found, err)
				}
				wantRecord(t, r, recordOf(t, e))
			})
		})
	}
}

// R-BRIDGE-8
func TestACancelledABNIsFoundAndNotActive(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, form abn.Form) {
		w := newWorld(t, form)
		gone := with(ato, func(e *abrtest.Entity) { e.Status, e.StatusFrom, e.GSTFrom = "Cancelled", "2020-06-30", "" })
		w.register.Enter(gone)
		r, found, err := w.lookup(t, gone.ABN)
		if err != nil || !found || r.Active() {
			t.Fatalf("got %+v, %t, %v", r, found, err)
		}
		wantRecord(t, r, recordOf(t, gone))
	})
}

// R-BRIDGE-8
func TestANumberWithoutARecordIsNotFound(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, form abn.Form) {
		w := newWorld(t, form)
		r, found, err := w.lookup(t, "13824753558")
		if err != nil || found || r.Active() {
			t.Errorf("got %+v, %t, %v", r, found, err)
		}
	})
}

// R-BRIDGE-8
func TestAReplacedNumberIsOutOfForce(t *testing.T) {
	t.Parallel()
	successor := with(ato, func(e *abrtest.Entity) { e.Former = []abrtest.Former{{ABN: "53004085616", ReplacedFrom: "2011-01-01"}} })
	w := newWorld(t, abn.XML)
	w.register.Enter(successor)
	r, found, err := w.lookup(t, "53004085616")
	if err != nil || !found || r.Active() || r.ReplacedBy != number(t, ato.ABN) {
		t.Errorf("the replaced number: got %+v, %t, %v", r, found, err)
	}
	if r, found, err := w.lookup(t, ato.ABN); err != nil || !found || !r.Active() || r.ReplacedBy != (abn.Number{}) {
		t.Errorf("the number in force: got %+v, %t, %v", r, found, err)
	}
	w = newWorld(t, abn.JSON) // which does not tell
	w.register.Enter(successor)
	if _, found, err := w.lookup(t, "53004085616"); found || !errors.Is(err, abn.ErrUnavailable) {
		t.Errorf("in JSON: got %t, %v", found, err)
	}
}

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
		"the record of another number":                     {abrtest.As(with(ato, func(e *abrtest.Entity) { e.ABN = "53004085616" })), abn.ErrUnavailable},
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

// R-BRIDGE-8
func TestARequestIsWhatTheFormsWant(t *testing.T) {
	t.Parallel()
	want := map[abn.Form]string{
		abn.JSON: "/json/AbnDetails.aspx?abn=51824753556&callback=callback&guid=" + canary,
		// The parameters' case matters: searchstring is "Missing parameter" (ABNLookupSampleCode 5).
		abn.XML: "/abrxmlsearch/AbrXmlSearch.asmx/SearchByABNv202001?authenticationGuid=" + canary + "&includeHistoricalDetails=N&searchString=51824753556",
	}
	inBothForms(t, func(t *testing.T, form abn.Form) {
		w := newWorld(t, form, func(c *abn.WebConfig) { c.BaseURL += "/" })
		w.register.Enter(ato)
		if _, found, err := w.lookup(t, ato.ABN); err != nil || !found {
			t.Fatalf("got %t, %v", found, err)
		}
		sent := w.register.Requests()
		if len(sent) != 1 || sent[0].URL != want[form] || sent[0].Header.Get("Referer") != "" || sent[0].Header.Get("Cookie") != "" {
			t.Errorf("sent %+v, want %s", sent, want[form])
		}
	})
}

// R-BRIDGE-8
func TestAnotherTenantsGUIDIsAskedForItself(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, form abn.Form) {
		w := newWorld(t, form)
		w.register.Enter(ato)
		if _, found, err := w.lookup(t, ato.ABN); err != nil || !found {
			t.Fatalf("got %t, %v", found, err)
		}
		unknown := secret.New("00000000-0000-0000-0000-000000000000")
		if _, _, found, err := w.Lookup(t.Context(), number(t, ato.ABN), unknown); found || !errors.Is(err, abn.ErrRejected) {
			t.Errorf("a refused GUID got %t, %v", found, err)
		}
		_, _, found, err := w.Lookup(t.Context(), number(t, ato.ABN), secret.New(strings.ToLower(canary)))
		if err != nil || !found {
			t.Errorf("the GUID in lower case got %t, %v", found, err)
		}
		if sent := len(w.register.Requests()); sent != 2 {
			t.Errorf("%d requests, want one a GUID", sent)
		}
	})
}

// R-BRIDGE-8
func TestAnswersAreKeptForATimeAndPurgedOnDemand(t *testing.T) {
	t.Parallel()
	const missing = "13824753558"
	w := newWorld(t, abn.XML, func(c *abn.WebConfig) { c.CacheFor = 24 * time.Hour })
	w.register.Enter(with(ato, func(e *abrtest.Entity) { e.Former = []abrtest.Former{{ABN: "53004085616", ReplacedFrom: "2011-01-01"}} }))
	requests := 0
	step := func(what string, n string, asks bool) {
		t.Helper()
		if _, _, err := w.lookup(t, n); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if asks {
			requests++
		}
		if got := len(w.register.Requests()); got != requests {
			t.Fatalf("%s: %d requests, want %d", what, got, requests)
		}
	}
	step("the first", ato.ABN, true)
	step("the first without a record", missing, true)
	step("the first of a replaced number", "53004085616", true)
	w.clock.Advance(4 * time.Minute)
	step("soon after", ato.ABN, false)
	step("soon after, without a record", missing, false)
	w.clock.Advance(time.Minute)
	step("that there is no record is kept for less", missing, true)
	w.clock.Advance(23*time.Hour + 54*time.Minute)
	step("a day less a minute after", ato.ABN, false)
	w.clock.Advance(time.Minute)
	step("a day after", ato.ABN, true)
	w.clock.Advance(-time.Hour)
	step("the clock was set back", ato.ABN, true)
	step("a replaced number again, at an age of 23 hours", "53004085616", false)
	if got := w.Purge(number(t, ato.ABN)); got != 2 {
		t.Errorf("purged %d answers about the number, want its own and that of the number it replaced", got)
	}
	step("purged", ato.ABN, true)
	step("purged with its successor", "53004085616", true)
	if got := w.Purge(number(t, "48123123124")); got != 0 {
		t.Errorf("purged %d answers about a number that nobody asked for", got)
	}
	step("another was purged", ato.ABN, false)
	if got := w.PurgeAll(); got != 3 { // with the one that has no record
		t.Errorf("purged %d answers of 3", got)
	}
	step("all were purged", ato.ABN, true)
}

// R-BRIDGE-8
func TestAPurgeReachesAnAnswerThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, abn.JSON)
	gate := abrtest.NewGate()
	w.register.Behave(ato.ABN, gate.Hold(abrtest.As(ato)))
	answered := make(chan error, 1)
	go func() {
		_, _, _, err := w.Lookup(t.Context(), number(t, ato.ABN), secret.New(canary))
		answered <- err
	}()
	<-gate.Arrived()
	w.Purge(number(t, ato.ABN))
	gate.Open()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.lookup(t, ato.ABN); err != nil || len(w.register.Requests()) != 2 {
		t.Errorf("%d requests, %v; want another after the purge", len(w.register.Requests()), err)
	}
}

// R-BRIDGE-8
func TestACallersAnswerIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, abn.JSON)
	w.register.Enter(with(ato, func(e *abrtest.Entity) { e.BusinessNames = []string{"ONE", "TWO"} }))
	first, _, _ := w.lookup(t, ato.ABN)
	first.Names[0] = "CHANGED"
	if second, _, err := w.lookup(t, ato.ABN); err != nil || !slices.Equal(second.Names, []string{"ONE", "TWO"}) {
		t.Errorf("got %q, %v", second.Names, err)
	}
}

// R-BRIDGE-8
func TestSettingsThatCannotBeRightAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, err := abn.NewWeb(abn.WebConfig{BaseURL: "http://abr.example.com", Form: "soap", Timeout: time.Hour, Concurrent: -1, CacheFor: 25 * time.Hour, CacheSize: -1})
	e := fault.Of(err)
	if e.Kind != fault.Invalid || e.Code != "invalid_abn_settings" {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"plain http", "json or xml", "at most 1m0s", "concurrent", "at most 24h0m0s", "answers"} {
		if !strings.Contains(e.Detail, part) {
			t.Errorf("%q does not say %q", e.Detail, part)
		}
	}
	for _, bad := range []string{"abr.business.gov.au", "ftp://abr.business.gov.au", "https://", "https://user@abr.business.gov.au", "https://abr.business.gov.au/?guid=1", "https://abr.business.gov.au/#x", "http://127.0.0.1.example.com", "http://10.0.0.1", "://", "https:abr"} {
		if _, err := abn.NewWeb(abn.WebConfig{BaseURL: bad}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken: %v", bad, err)
		}
	}
	for _, good := range []string{"", "https://abr.business.gov.au", "https://proxy.example.com/abr/", "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:1"} {
		if _, err := abn.NewWeb(abn.WebConfig{BaseURL: good}); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
}

// quiet is for servers whose complaints are expected.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
