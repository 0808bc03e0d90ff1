package abn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/abn/abrtest"
	"interlock/internal/secret"
)

// object is the JSON of a record with the members put in front.
func object(members string) string {
	return `{` + members + `"Abn":"51824753556","AbnStatus":"Active","AbnStatusEffectiveFrom":"1999-11-01","Acn":"","AddressDate":null,"AddressPostcode":"2640","AddressState":"NSW","EntityTypeCode":"CGE","EntityTypeName":"Commonwealth Government Entity","Gst":"2000-07-01","Message":""}`
}

// R-BRIDGE-8
func TestTheCallbackIsReadWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	plain := object(`"EntityName":"NAME","BusinessName":[],`)
	for _, c := range []struct {
		name, body, want string // "": refused
	}{
		{"as the register sends it", "callback(" + plain + ")", "NAME"},
		{"a semicolon behind (clients that slice)", "callback(" + plain + ");", "NAME"},
		{"a line end behind (clients that slice)", "callback(" + plain + ")\r\n", "NAME"},
		{"space everywhere", "\n callback ( \t" + plain + "\n) ;\r\n ", "NAME"},
		{"a byte order mark in front", "\ufeffcallback(" + plain + ")", "NAME"},
		{"members that nobody has seen", "callback(" + object(`"EntityName":"NAME","New":{"a":[1,{"b":null}]},`) + ")", "NAME"},
		{"an escaped apostrophe", "callback(" + object(`"EntityName":"O\u0027BRIEN \u0026 SONS",`) + ")", "O'BRIEN & SONS"},
		{"an escaped accent", "callback(" + object(`"EntityName":"CAF\u00c9",`) + ")", "CAFÉ"},
		{"the end of a call within a name", "callback(" + object(`"EntityName":"A) ; (B});",`) + ")", "A) ; (B});"},
		{"escaped quotes within a name", "callback(" + object(`"EntityName":"\"THE\" PLACE\\",`) + ")", `"THE" PLACE\`},
		{"null for a name that is withheld", "callback(" + object(`"EntityName":null,"BusinessName":null,`) + ")", ""},

		{"no callback", plain, "refused"},
		{"another callback", "otherback(" + plain + ")", "refused"},
		{"a longer callback", "callback2(" + plain + ")", "refused"},
		{"the callback in another case", "Callback(" + plain + ")", "refused"},
		{"something in front", "/**/callback(" + plain + ")", "refused"},
		{"something behind", "callback(" + plain + "); alert(1)", "refused"},
		{"two semicolons", "callback(" + plain + ");;", "refused"},
		{"two calls", "callback(" + plain + ");callback(" + plain + ")", "refused"},
		{"two arguments", "callback(" + plain + "," + plain + ")", "refused"},
		{"two parentheses", "callback((" + plain + "))", "refused"},
		{"no end", "callback(" + plain, "refused"},
		{"an end without a call", plain + ")", "refused"},
		{"an array", "callback([" + plain + "])", "refused"},
		{"a string", `callback("NAME")`, "refused"},
		{"nothing", "callback()", "refused"},
		{"an empty object", "callback({})", "refused"},
		{"a comment", "callback(/*x*/" + plain + ")", "refused"},
		{"a member twice", "callback(" + object(`"Abn":"53004085616",`) + ")", "refused"},
		{"members in another case", "callback(" + strings.Replace(plain, `"AbnStatus"`, `"abnstatus"`, 1) + ")", "refused"},
		{"business names as objects (clients that disagree)", "callback(" + object(`"BusinessName":[{"OrganisationName":"X"}],`) + ")", "refused"},
		{"business names as one string", "callback(" + object(`"BusinessName":"X",`) + ")", "refused"},
		{"a number as a string's value", "callback(" + strings.Replace(plain, `"51824753556"`, `51824753556`, 1) + ")", "refused"},
		{"single quotes", "callback(" + strings.ReplaceAll(plain, `"`, `'`) + ")", "refused"},
		{"a raw line end within a name", "callback(" + object("\"EntityName\":\"A\nB\",") + ")", "refused"},
		{"half a surrogate", "callback(" + object(`"EntityName":"\ud800",`) + ")", "refused"},
		{"ever deeper", "callback(" + strings.Repeat(`{"a":`, 200_000), "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, abn.JSON)
			w.register.Behave(ato.ABN, abrtest.Answer(c.body))
			wantNameOrRefusal(t, w, c.want)
		})
	}
}

// wantNameOrRefusal looks the ATO up.
func wantNameOrRefusal(t *testing.T, w world, want string) {
	t.Helper()
	r, found, err := w.lookup(t, ato.ABN)
	if want == "refused" {
		if found || !errors.Is(err, abn.ErrUnavailable) || errors.Is(err, abn.ErrRejected) {
			t.Errorf("got %+v, %t, %v; want a refusal", r, found, err)
		}
		return
	}
	if err != nil || !found || !r.Active() || r.Name != want {
		t.Errorf("got %+v, %t, %v; want %q", r, found, err, want)
	}
}

// document is the XML of an answer.
func document(response string) string {
	return `<?xml version="1.0" encoding="utf-8"?><ABRPayloadSearchResults xmlns="http://abr.business.gov.au/ABRXMLSearch/"><response>` + response + `</response></ABRPayloadSearchResults>`
}

// business is the XML of a record with more elements.
func business(more string) string {
	return `<businessEntity202001><ABN><identifierValue>51824753556</identifierValue><isCurrentIndicator>Y</isCurrentIndicator></ABN><entityStatus><entityStatusCode>Active</entityStatusCode><effectiveFrom>1999-11-01</effectiveFrom><effectiveTo>0001-01-01</effectiveTo></entityStatus>` + more + `</businessEntity202001>`
}

// R-BRIDGE-8
func TestTheDocumentIsReadWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	const name = `<mainName><organisationName>NAME</organisationName></mainName>`
	plain := document(business(name))
	const status = `<entityStatus><entityStatusCode>Cancelled</entityStatusCode><effectiveFrom>1990-01-01</effectiveFrom><effectiveTo>%s</effectiveTo></entityStatus>`
	exception := `<exception><exceptionDescription>No records found</exceptionDescription><exceptionCode>SEARCH</exceptionCode></exception>`
	for _, c := range []struct{ name, body, want string }{
		{"as the register sends it", plain, "NAME"},
		{"without a declaration", strings.TrimPrefix(plain, `<?xml version="1.0" encoding="utf-8"?>`), "NAME"},
		{"a byte order mark in front", "\ufeff" + plain, "NAME"},
		{"comments and space", strings.ReplaceAll(plain, "><", "> <!-- x -->\n<"), "NAME"},
		{"a prefix for the namespace", strings.NewReplacer("</", "</a:", "<?", "<?", "<", "<a:", "xmlns=", "xmlns:a=").Replace(plain), "NAME"},
		{"CDATA", strings.Replace(plain, ">NAME<", "><![CDATA[A & B <C>]]><", 1), "A & B <C>"},
		{"XML's own entities", strings.Replace(plain, ">NAME<", ">O&apos;BRIEN &amp; SONS &#201;&#xC9;<", 1), "O'BRIEN & SONS ÉÉ"},
		{"a name in pieces", strings.Replace(plain, ">NAME<", "> A<!-- x -->B <", 1), "AB"},
		{"one ABN that says nothing of being current", strings.Replace(plain, "<isCurrentIndicator>Y</isCurrentIndicator>", "", 1), "NAME"},
		{"an end date with a time", strings.Replace(plain, ">0001-01-01<", ">0001-01-01T00:00:00<", 1), "NAME"},
		{"a status that has ended", document(business(name + fmt.Sprintf(status, "1999-10-31"))), "NAME"},
		{"elements that nobody has seen", document(business(name + `<novelty><inner>1</inner></novelty>`)), "NAME"},
		{"attributes", strings.Replace(plain, "<response>", `<response xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Response">`, 1), "NAME"},
		{"no name", document(business("")), ""},

		{"a document type", strings.Replace(plain, "?>", `?><!DOCTYPE ABRPayloadSearchResults>`, 1), "refused"},
		{"a document type with entities", strings.Replace(strings.Replace(plain, "?>", `?><!DOCTYPE x [<!ENTITY a "b"><!ENTITY c SYSTEM "file:///etc/passwd">]>`, 1), ">NAME<", ">&a;&c;<", 1), "refused"},
		{"an entity that nobody declared", strings.Replace(plain, ">NAME<", ">&nbsp;<", 1), "refused"},
		{"another instruction", strings.Replace(plain, "?>", `?><?xml-stylesheet href="x"?>`, 1), "refused"},
		{"another encoding", strings.Replace(plain, "utf-8", "iso-8859-1", 1), "refused"},
		{"no namespace", strings.Replace(plain, ` xmlns="http://abr.business.gov.au/ABRXMLSearch/"`, "", 1), "refused"},
		{"another namespace", strings.Replace(plain, "ABRXMLSearch/", "ABRXMLSearchRPC/", 1), "refused"},
		{"an element of another namespace", document(business(`<x:mainName xmlns:x="urn:x"><organisationName>NAME</organisationName></x:mainName>`)), "refused"},
		{"another root", strings.ReplaceAll(plain, "ABRPayloadSearchResults", "Envelope"), "refused"},
		{"two roots", plain + strings.TrimPrefix(plain, `<?xml version="1.0" encoding="utf-8"?>`), "refused"},
		{"text behind the root", plain + "x", "refused"},
		{"no end", strings.TrimSuffix(plain, "</ABRPayloadSearchResults>"), "refused"},
		{"a wrong end", strings.Replace(plain, "</response>", "</answer>", 1), "refused"},
		{"an empty response", document(""), "refused"},
		{"two responses", strings.Replace(plain, "</response>", "</response><response/>", 1), "refused"},
		{"two entities", document(business(name) + business(name)), "refused"},
		{"an entity and an exception", document(business(name) + exception), "refused"},
		{"two exceptions", document(exception + exception), "refused"},
		{"an exception without a text", document(`<exception/>`), "refused"},
		{"an exception with two texts", document(strings.Replace(exception, "<exceptionCode>", "<exceptionDescription/><exceptionCode>", 1)), "refused"},
		{"an entity of an older version", document(strings.ReplaceAll(business(name), "202001", "201408")), "refused"},
		{"two statuses at once", document(business(fmt.Sprintf(status, "0001-01-01"))), "refused"},
		{"two names at once", document(business(name + name)), "refused"},
		{"a value twice", strings.Replace(plain, "<entityStatusCode>", "<entityStatusCode>Cancelled</entityStatusCode><entityStatusCode>", 1), "refused"},
		{"elements where a value belongs", strings.Replace(plain, ">NAME<", "><b>NAME</b><", 1), "refused"},
		{"no ABN", strings.Replace(plain, "<ABN>", "<ARBN>", 1), "refused"},
		{"only a number that is not current", strings.Replace(plain, "<isCurrentIndicator>Y<", "<isCurrentIndicator>N<", 1), "refused"},
		{"two current numbers", document(business(`<ABN><identifierValue>53004085616</identifierValue><isCurrentIndicator>Y</isCurrentIndicator></ABN>`)), "refused"},
		{"a date that is none", strings.Replace(plain, "1999-11-01", "01/11/1999", 1), "refused"},
		{"ever deeper", strings.Replace(plain, ">NAME<", ">"+strings.Repeat("<a>", 20)+strings.Repeat("</a>", 20)+"<", 1), "refused"},
		{"ever more", document(business(strings.Repeat("<a/>", 30_000))), "refused"},
		{"a name in so many pieces", strings.Replace(plain, ">NAME<", ">"+strings.Repeat("a<!---->", 100_000)+"<", 1), strings.Repeat("a", 100_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, abn.XML)
			w.register.Behave(ato.ABN, abrtest.Answer(c.body))
			wantNameOrRefusal(t, w, c.want)
		})
	}
}

// entities draws what a register may hold of the ATO's number.
func entities(t *rapid.T) abrtest.Entity {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "O'BRIEN & SONS", "É", "A (B)", `\u0027`, "<b>", "]]>", "&amp;", "});", "x\u2028y", "日本", "٣"}), rapid.StringMatching(`[ -~À-ž]{0,40}`))
	date := rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "none") {
			return ""
		}
		return fmt.Sprintf("%04d-%02d-%02d", rapid.IntRange(1900, 2026).Draw(t, "y"), rapid.IntRange(1, 12).Draw(t, "m"), rapid.IntRange(1, 28).Draw(t, "d"))
	})
	even := rapid.Map(text, func(s string) string { return strings.Join(strings.Fields(s), " ") })
	e := abrtest.Entity{
		ABN: ato.ABN, Status: rapid.SampledFrom([]string{"Active", "Cancelled"}).Draw(t, "status"), StatusFrom: date.Draw(t, "since"),
		TypeCode: rapid.StringMatching(`[A-Z]{0,4}`).Draw(t, "type"), TypeName: even.Draw(t, "type name"), ACN: rapid.StringMatching(`([0-9]{9})?`).Draw(t, "acn"), GSTFrom: date.Draw(t, "gst"),
		State: rapid.StringMatching(`[A-Z]{0,3}`).Draw(t, "state"), Postcode: rapid.StringMatching(`[0-9]{0,4}`).Draw(t, "postcode"),
	}
	if rapid.Bool().Draw(t, "a person") {
		e.Family, e.Given, e.Other = rapid.StringMatching(`[A-Z]{1,9}`).Draw(t, "family"), rapid.StringMatching(`[A-Z]{1,9}`).Draw(t, "given"), rapid.StringMatching(`([A-Z]{1,9}( [A-Z]{1,9})?)?`).Draw(t, "other")
	} else {
		e.Name = even.Draw(t, "name")
	}
	for _, name := range rapid.SliceOfN(even, 0, 4).Draw(t, "names") {
		if name != "" {
			e.BusinessNames = append(e.BusinessNames, name)
		}
	}
	return e
}

// R-BRIDGE-8
func TestBothFormsSayOfAnyEntityWhatTheRegisterHas(t *testing.T) {
	t.Parallel()
	inBothForms(t, func(t *testing.T, form abn.Form) {
		w := newWorld(t, form)
		rapid.Check(t, func(r *rapid.T) {
			e := entities(r)
			w.register.Enter(e)
			w.PurgeAll()
			got, _, found, err := w.Lookup(t.Context(), number(t, e.ABN), secret.New(canary))
			if err != nil || !found {
				r.Fatalf("%+v: %t, %v", e, found, err)
			}
			wantRecord(r, got, recordOf(t, e))
		})
	})
}
