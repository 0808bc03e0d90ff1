package abn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

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
	for range 6 { // one more failure than a lane takes before it is shut
		if _, found, err := w.lookup(t, "53004085616"); found || !errors.Is(err, abn.ErrUnavailable) {
			t.Errorf("in JSON: got %t, %v", found, err)
		}
	}
	if _, found, err := w.lookup(t, ato.ABN); err != nil || !found {
		t.Errorf("the number in force, afterwards: got %t, %v", found, err)
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
