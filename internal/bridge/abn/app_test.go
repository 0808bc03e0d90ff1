package abn_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/secret"
)

func arguments(n string) json.RawMessage { return json.RawMessage(`{"abn":"` + n + `"}`) }

// offerOf publishes the app and returns its operation.
func offerOf(t *testing.T, app *abn.App) catalog.Offer {
	t.Helper()
	published, err := catalog.New(nil, []catalog.App{app.Describe()}, catalog.Config{}) // its store is for tenants
	if err != nil {
		t.Fatal(err)
	}
	o, ok := published.Offer(abn.ID, abn.Operation)
	if !ok {
		t.Fatal("the operation is not published")
	}
	return o
}

// wantResult holds the result against the published schema and the golden text.
func wantResult(t *testing.T, app *abn.App, got json.RawMessage, want string) {
	t.Helper()
	if _, err := offerOf(t, app).CheckResult(got); err != nil {
		t.Errorf("the result is not as published: %v", err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// R-BRIDGE-8
func TestTheResultTellsFoundCancelledAndNotFoundApart(t *testing.T) {
	t.Parallel()
	cancelled := with(ato, func(e *abrtest.Entity) { e.Status, e.StatusFrom, e.GSTFrom = "Cancelled", "2020-06-30", "" })
	successor := with(ato, func(e *abrtest.Entity) { e.Former = []abrtest.Former{{ABN: "53004085616", ReplacedFrom: "2011-01-01"}} })
	for name, c := range map[string]struct {
		entity    abrtest.Entity
		asked     string
		want      string
		onlyInXML bool
	}{
		"registered": {with(ato, func(e *abrtest.Entity) { e.BusinessNames = []string{"O'BRIEN & SONS", "CAFÉ"} }), ato.ABN,
			`{"status":"found","abn":"51824753556","abn_formatted":"51 824 753 556","registered":true,"replaced_by":"","entity":{"name":"AUSTRALIAN TAXATION OFFICE","type_code":"CGE","type_name":"Commonwealth Government Entity","acn":"","gst_from":"2000-07-01","status":"Active","status_from":"1999-11-01","state":"NSW","postcode":"2640","business_names":["O'BRIEN & SONS","CAFÉ"]},"source":"abr","as_of":"2026-11-30T12:00:00Z"}`, false},
		"cancelled": {cancelled, ato.ABN,
			`{"status":"cancelled","abn":"51824753556","abn_formatted":"51 824 753 556","registered":false,"replaced_by":"","entity":{"name":"AUSTRALIAN TAXATION OFFICE","type_code":"CGE","type_name":"Commonwealth Government Entity","acn":"","gst_from":"","status":"Cancelled","status_from":"2020-06-30","state":"NSW","postcode":"2640","business_names":[]},"source":"abr","as_of":"2026-11-30T12:00:00Z"}`, false},
		"replaced": {successor, "53004085616",
			`{"status":"cancelled","abn":"53004085616","abn_formatted":"53 004 085 616","registered":false,"replaced_by":"51824753556","entity":{"name":"AUSTRALIAN TAXATION OFFICE","type_code":"CGE","type_name":"Commonwealth Government Entity","acn":"","gst_from":"2000-07-01","status":"Active","status_from":"1999-11-01","state":"NSW","postcode":"2640","business_names":[]},"source":"abr","as_of":"2026-11-30T12:00:00Z"}`, true},
		"details withheld": {abrtest.Entity{ABN: ato.ABN, Status: "Active"}, ato.ABN,
			`{"status":"found","abn":"51824753556","abn_formatted":"51 824 753 556","registered":true,"replaced_by":"","entity":{"name":"","type_code":"","type_name":"","acn":"","gst_from":"","status":"Active","status_from":"","state":"","postcode":"","business_names":[]},"source":"abr","as_of":"2026-11-30T12:00:00Z"}`, false},
		"no record": {ato, "13824753558",
			`{"status":"not_found","abn":"13824753558","abn_formatted":"13 824 753 558","registered":false,"replaced_by":"","source":"abr","as_of":"2026-11-30T12:00:00Z"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(t *testing.T, form abn.Form) {
				if c.onlyInXML {
					form = abn.XML
				}
				w := newWorld(t, form)
				w.register.Enter(c.entity)
				app := abn.NewApp(w.Web)
				got, err := app.Invoke(t.Context(), abn.Operation, arguments(c.asked), secret.New(canary))
				if err != nil {
					t.Fatal(err)
				}
				wantResult(t, app, got, c.want)
			})
		})
	}
}

// R-BRIDGE-8
func TestFailuresPassThroughTheAppAsTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, abn.JSON)
	w.register.Behave(ato.ABN, abrtest.Refuse(abrtest.Unrecognised))
	w.register.Behave("53004085616", abrtest.Page())
	app := abn.NewApp(w.Web)
	for n, want := range map[string]error{ato.ABN: abn.ErrRejected, "53004085616": abn.ErrUnavailable} {
		if got, err := app.Invoke(t.Context(), abn.Operation, arguments(n), secret.New(canary)); got != nil || !errors.Is(err, want) {
			t.Errorf("%s: got %s, %v; want %v", n, got, err, want)
		}
	}
}

// R-BRIDGE-8
func TestArgumentsThatCanBeNoABNAreRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, abn.JSON)
	app := abn.NewApp(w.Web)
	for name, args := range map[string]string{
		"a checksum that fails":                       `{"abn":"51824753557"}`,
		"spaces (ConsumerDataStandards 555)":          `{"abn":"51 824 753 556"}`,
		"a number (spreadsheets make floats of them)": `{"abn":51824753556}`,
		"other digits (validators with isdigit)":      `{"abn":"٥١٨٢٤٧٥٣٥٥٦"}`,
		"two numbers in one":                          `{"abn":"51824753556 53004085616"}`,
		"a first digit 0 (presidio 2109)":             `{"abn":"00000000560"}`,
		"null":                                        `{"abn":null}`,
		"no abn":                                      `{}`,
		"another member":                              `{"abn":"51824753556","guid":"x"}`,
		"abn twice":                                   `{"abn":"51824753556","abn":"53004085616"}`,
		"another case":                                `{"ABN":"51824753556"}`,
		"a list":                                      `["51824753556"]`,
		"two objects":                                 `{"abn":"51824753556"}{}`,
		"nothing":                                     ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := app.Check(abn.Operation, json.RawMessage(args))
			if e := fault.Of(err); e == nil || e.Kind != fault.Invalid || e.Code != "invalid_arguments" {
				t.Errorf("Check: got %v", err)
			}
			_, invoked := app.Invoke(t.Context(), abn.Operation, json.RawMessage(args), secret.New(canary))
			if fault.KindOf(invoked) != fault.Invalid || len(w.register.Requests()) > 0 {
				t.Errorf("Invoke: got %v after %d requests", invoked, len(w.register.Requests()))
			}
		})
	}
	if err := app.Check(abn.Operation, arguments(ato.ABN)); err != nil {
		t.Errorf("an ABN is refused: %v", err)
	}
	if err := app.Check("lookup_v2", arguments(ato.ABN)); fault.KindOf(err) != fault.Internal {
		t.Errorf("an operation that is not published: got %v", err)
	}
}

// R-BRIDGE-8
func TestWhatIsPublishedIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, abn.JSON)
	got := abn.NewApp(w.Web).Describe()
	if got.ID != "abn_lookup" || !got.Credential || len(got.Operations) != 1 {
		t.Fatalf("got %+v", got)
	}
	op := got.Operations[0]
	if op.Name != "lookup_v1" || op.Capability != "business.au.abn.lookup" || op.Risk != policy.Low || op.Confirm || !op.ReadOnly || !op.AgentVisible {
		t.Errorf("got %+v", op)
	}
	offer := offerOf(t, abn.NewApp(w.Web))
	for args, fits := range map[string]bool{
		`{"abn":"51824753556"}`:            true,
		`{"abn":"51824753557"}`:            true, // the schema can't say the checksum
		`{"abn":"01824753556"}`:            false,
		`{"abn":"51824753556\n"}`:          false,
		`{"abn":"51824753556","x":1}`:      false,
		`{"abn":51824753556}`:              false,
		`{}`:                               false,
		`{"abn":"51824753556","abn":"x"}`:  false,
		`{"abn":"\u0665\u0661824753556"}`:  false,
		`{"abn":"518247535565182475355 "}`: false,
	} {
		if _, err := offer.Check([]byte(args)); (err == nil) != fits {
			t.Errorf("%s: got %v", args, err)
		}
	}
	if abn.NewApp(abn.Sample()).Describe().Credential {
		t.Error("the sample asks for a credential")
	}
}

// answers is a source that says one thing.
type answers struct {
	abn.Record
	found bool
}

func (a answers) NeedsCredential() bool { return false }

func (a answers) Lookup(context.Context, abn.Number, secret.String) (abn.Record, abn.Provenance, bool, error) {
	return a.Record, abn.Provenance{Source: "index", AsOf: time.Date(2026, 11, 25, 10, 0, 0, 0, time.FixedZone("AEST", 10*3600))}, a.found, nil
}

// R-BRIDGE-8
func TestASourcesRecordOfAnotherNumberOrStatusIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]abn.Record{
		"another number": {ABN: number(t, "53004085616"), Status: abn.Active},
		"no number":      {Status: abn.Active},
		"no status":      {ABN: number(t, ato.ABN)},
		"another status": {ABN: number(t, ato.ABN), Status: "ACT"},
	} {
		if got, err := abn.NewApp(answers{r, true}).Invoke(t.Context(), abn.Operation, arguments(ato.ABN), secret.String{}); !errors.Is(err, abn.ErrUnavailable) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	app := abn.NewApp(answers{abn.Record{}, false})
	got, err := app.Invoke(t.Context(), abn.Operation, arguments(ato.ABN), secret.String{})
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, app, got, `{"status":"not_found","abn":"51824753556","abn_formatted":"51 824 753 556","registered":false,"replaced_by":"","source":"index","as_of":"2026-11-25T00:00:00Z"}`)
}

// R-BRIDGE-8
func TestTheSampleKnowsAFewAndSaysSo(t *testing.T) {
	t.Parallel()
	app := abn.NewApp(abn.Sample())
	got, err := app.Invoke(t.Context(), abn.Operation, arguments(ato.ABN), secret.String{})
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, app, got, `{"status":"found","abn":"51824753556","abn_formatted":"51 824 753 556","registered":true,"replaced_by":"","entity":{"name":"AUSTRALIAN TAXATION OFFICE","type_code":"","type_name":"","acn":"","gst_from":"2000-07-01","status":"Active","status_from":"1999-11-01","state":"NSW","postcode":"2640","business_names":[]},"source":"sample","as_of":"2026-11-30T00:00:00Z"}`)
	for _, n := range []string{"88000014675", "26008672179", "48123123124", "49004028077", "16009661901"} {
		r, p, found, err := abn.Sample().Lookup(t.Context(), number(t, n), secret.String{})
		if err != nil || !found || !r.Active() || r.ABN.String() != n || r.ACN != n[2:] || r.Name == "" || p.Source != "sample" {
			t.Errorf("%s: got %+v, %+v, %t, %v", n, r, p, found, err)
		}
	}
	for _, n := range []string{"53004085616", "13824753558"} {
		_, _, found, err := abn.Sample().Lookup(t.Context(), number(t, n), secret.String{})
		if e := fault.Of(err); found || !errors.Is(err, abn.ErrUnavailable) || e.Retryable || !strings.Contains(e.Detail, "6 built-in sample records") {
			t.Errorf("%s: got %t, %v", n, found, err)
		}
	}
}

// R-BRIDGE-8
func TestTheLargestRecordThatIsAnsweredFitsTheCatalog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		names    []string
		answered bool
	}{
		"a thousand business names":     {slices.Repeat([]string{strings.Repeat("x", 40)}, 1000), true},
		"names that JSON must escape":   {slices.Repeat([]string{strings.Repeat(`"`, 200)}, 400), true},
		"very many names of one letter": {slices.Repeat([]string{"x"}, 4000), true},
		"more than any entity has":      {slices.Repeat([]string{strings.Repeat("x", 200)}, 1000), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothForms(t, func(t *testing.T, form abn.Form) {
				w := newWorld(t, form)
				w.register.Enter(with(ato, func(e *abrtest.Entity) { e.BusinessNames = c.names }))
				app := abn.NewApp(w.Web)
				got, err := app.Invoke(t.Context(), abn.Operation, arguments(ato.ABN), secret.New(canary))
				if !c.answered {
					if !errors.Is(err, abn.ErrUnavailable) {
						t.Errorf("got %d bytes, %v", len(got), err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := offerOf(t, app).CheckResult(got); err != nil {
					t.Errorf("%d bytes: %v", len(got), err)
				}
			})
		})
	}
}
