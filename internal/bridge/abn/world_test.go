package abn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/clocktest"
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
