package abn

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

var asked = Number{"51824753556"}

// FuzzJSON: whatever the register answers is one record that can be believed,
// no record, or a typed failure. R-BRIDGE-8
func FuzzJSON(f *testing.F) {
	for _, body := range []string{
		`callback({"Abn":"51824753556","AbnStatus":"Active","AbnStatusEffectiveFrom":"1999-11-01","Acn":"","AddressDate":null,"AddressPostcode":"2640","AddressState":"NSW","BusinessName":["O'BRIEN & SONS"],"EntityName":"A (B) \u0027É\u0027","EntityTypeCode":"CGE","EntityTypeName":"Commonwealth Government Entity","Gst":"2000-07-01","Message":""})`,
		"callback({\"Message\":\"No record found\"});\r\n",
		`callback({"Message":"The GUID entered is not recognised as a Registered Party"})`,
		`callback({"Abn":"51824753556","Abn":"51824753556"})`, `callback(`, `callback([])`, "",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { believe(t, body, readJSON) })
}

// FuzzXML: the same. R-BRIDGE-8
func FuzzXML(f *testing.F) {
	const before, after = `<?xml version="1.0" encoding="utf-8"?><ABRPayloadSearchResults xmlns="http://abr.business.gov.au/ABRXMLSearch/"><response>`, `</response></ABRPayloadSearchResults>`
	for _, response := range []string{
		`<businessEntity202001><ABN><identifierValue>51824753556</identifierValue><isCurrentIndicator>Y</isCurrentIndicator><replacedFrom>0001-01-01</replacedFrom></ABN><ABN><identifierValue>53004085616</identifierValue><isCurrentIndicator>N</isCurrentIndicator></ABN><entityStatus><entityStatusCode>Active</entityStatusCode><effectiveFrom>1999-11-01</effectiveFrom><effectiveTo>0001-01-01</effectiveTo></entityStatus><ASICNumber /><goodsAndServicesTax><effectiveFrom>2000-07-01</effectiveFrom></goodsAndServicesTax><mainName><organisationName>O&apos;BRIEN &amp; SONS</organisationName></mainName><businessName><organisationName>X</organisationName></businessName></businessEntity202001>`,
		`<businessEntity202001><ABN><identifierValue>53004085616</identifierValue><isCurrentIndicator>Y</isCurrentIndicator><replacedIdentifierValue>51824753556</replacedIdentifierValue></ABN><entityStatus><entityStatusCode>Cancelled</entityStatusCode></entityStatus><legalName><givenName>JO</givenName><familyName>CITIZEN</familyName></legalName></businessEntity202001>`,
		`<exception><exceptionDescription>No records found</exceptionDescription><exceptionCode>SEARCH</exceptionCode></exception>`,
		``,
	} {
		f.Add([]byte(before + response + after))
	}
	f.Fuzz(func(t *testing.T, body []byte) { believe(t, body, readXML) })
}

// believe holds a reading of body against what every answer must be.
func believe(t *testing.T, body []byte, read func([]byte, Number) (Record, bool, error)) {
	r, found, err := read(body, asked)
	switch {
	case err != nil:
		if found || !errors.Is(err, ErrRejected) && !errors.Is(err, ErrUnavailable) {
			t.Fatalf("failed with %t, %v", found, err)
		}
		return
	case !found:
		if !strings.Contains(strings.ToLower(strings.Join(strings.Fields(string(body)), "")), "found") && !strings.ContainsAny(string(body), `\&`) {
			t.Fatalf("there is no record, says nobody")
		}
		return
	}
	if r.Status != Active && r.Status != Cancelled {
		t.Fatalf("status %q", r.Status)
	}
	if r.ReplacedBy != (Number{}) {
		if _, err := Parse(r.ReplacedBy.String()); err != nil || r.Active() {
			t.Fatalf("replaced by %q: %v", r.ReplacedBy, err)
		}
	}
	for _, date := range []string{r.StatusFrom, r.GSTFrom} {
		if _, err := time.Parse(time.DateOnly, date); date != "" && err != nil {
			t.Fatalf("date %q", date)
		}
	}
	if r.ACN != "" && len(r.ACN) != 9 {
		t.Fatalf("ACN %q", r.ACN)
	}
	for _, text := range append([]string{r.Name, r.TypeCode, r.TypeName, r.State, r.Postcode}, r.Names...) {
		if utf8.Valid(body) && !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || text != strings.Join(strings.Fields(text), " ") {
			t.Fatalf("text %q", text)
		}
	}
	if again, _, err := read(body, asked); err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
		t.Fatalf("read again: %+v, %v", again, err)
	}
	if other, found, err := read(body, Number{"48123123124"}); found && !strings.Contains(string(body), "48123123124") && !strings.ContainsAny(string(body), `\&`) {
		t.Fatalf("another number is answered too: %+v, %v", other, err)
	}
}
