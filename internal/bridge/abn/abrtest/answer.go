package abrtest

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
)

// Call is one request with the way to answer it.
type Call struct {
	Request
	w http.ResponseWriter
	r *http.Request
}

// missing names the first parameter that the form's binding wants and lacks.
func (c Call) missing() string {
	wanted := []string{"searchString", "includeHistoricalDetails", "authenticationGuid"}
	if c.Form == "json" {
		wanted = nil // a page takes them all for empty
	}
	for _, name := range wanted {
		if !c.r.URL.Query().Has(name) {
			return name
		}
	}
	return ""
}

// body answers with status 200 and the form's type.
func (c Call) body(text string) {
	media := "text/xml; charset=utf-8"
	if c.Form == "json" {
		media = "text/javascript; charset=utf-8"
	}
	c.w.Header().Set("Content-Type", media)
	io.WriteString(c.w, text)
}

// refuse answers with a message instead of a record.
func (c Call) refuse(message string) {
	if c.Form == "json" {
		c.body(c.wrapped(Entity{}, message))
		return
	}
	code := "WEBSERVICES"
	if message == NoRecords {
		code = "SEARCH"
	}
	c.body(document("", tag("exception", tag("exceptionDescription", escaped(message)), tag("exceptionCode", code))))
}

// answer answers with the record of e.
func (c Call) answer(e Entity) {
	if c.Form == "json" {
		c.body(c.wrapped(e, ""))
		return
	}
	c.body(document(c.GUID, e.xml()))
}

// wrapped is the JSON form: all members are there, always.
func (c Call) wrapped(e Entity, message string) string {
	names := e.BusinessNames
	if names == nil {
		names = []string{}
	}
	object, err := json.Marshal(map[string]any{
		"Abn": e.ABN, "AbnStatus": e.Status, "AbnStatusEffectiveFrom": e.StatusFrom, "Acn": e.ACN,
		"AddressDate": e.StatusFrom, "AddressPostcode": e.Postcode, "AddressState": e.State, "BusinessName": names,
		"EntityName": e.listed(), "EntityTypeCode": e.TypeCode, "EntityTypeName": e.TypeName, "Gst": e.GSTFrom, "Message": message,
	})
	if err != nil {
		panic(err) // strings always encode
	}
	return c.r.URL.Query().Get("callback") + "(" + string(object) + ")"
}

// listed is the name as the register prints it.
func (e Entity) listed() string {
	if e.Family == "" {
		return e.Name
	}
	return e.Family + ", " + strings.TrimSpace(e.Given+" "+e.Other)
}

const open = "0001-01-01" // the end of what has none

// xml is the entity's element, the parts in the order of the service.
func (e Entity) xml() string {
	var parts []string
	add := func(name string, inside ...string) { parts = append(parts, tag(name, inside...)) }
	add("recordLastUpdatedDate", e.StatusFrom)
	add("ABN", tag("identifierValue", e.ABN), tag("isCurrentIndicator", "Y"), tag("replacedFrom", open))
	for _, f := range e.Former {
		add("ABN", tag("identifierValue", f.ABN), tag("isCurrentIndicator", "N"), tag("replacedFrom", f.ReplacedFrom))
	}
	add("entityStatus", tag("entityStatusCode", e.Status), tag("effectiveFrom", e.StatusFrom), tag("effectiveTo", open))
	for _, h := range e.StatusHistory {
		add("entityStatus", tag("entityStatusCode", h.Value), tag("effectiveFrom", h.From), tag("effectiveTo", h.To))
	}
	add("ASICNumber", e.ACN)
	add("entityType", tag("entityTypeCode", escaped(e.TypeCode)), tag("entityDescription", escaped(e.TypeName)))
	if e.GSTFrom != "" {
		add("goodsAndServicesTax", tag("effectiveFrom", e.GSTFrom), tag("effectiveTo", open))
	}
	for _, h := range e.GSTHistory {
		add("goodsAndServicesTax", tag("effectiveFrom", h.From), tag("effectiveTo", h.To))
	}
	if e.Family != "" {
		add("legalName", tag("givenName", escaped(e.Given)), tag("otherGivenName", escaped(e.Other)), tag("familyName", escaped(e.Family)), tag("effectiveFrom", e.StatusFrom), tag("effectiveTo", open))
	} else if e.Name != "" {
		add("mainName", tag("organisationName", escaped(e.Name)), tag("effectiveFrom", e.StatusFrom))
	}
	for _, h := range e.FormerNames {
		add("mainName", tag("organisationName", escaped(h.Value)), tag("effectiveFrom", h.From), tag("effectiveTo", h.To))
	}
	for _, name := range e.TradingNames {
		add("mainTradingName", tag("organisationName", escaped(name)), tag("effectiveFrom", e.StatusFrom))
	}
	if e.State+e.Postcode != "" {
		add("mainBusinessPhysicalAddress", tag("stateCode", escaped(e.State)), tag("postcode", e.Postcode), tag("effectiveFrom", e.StatusFrom), tag("effectiveTo", open))
	}
	for _, h := range e.FormerPostcodes {
		add("mainBusinessPhysicalAddress", tag("stateCode", "ACT"), tag("postcode", h.Value), tag("effectiveFrom", h.From), tag("effectiveTo", h.To))
	}
	for _, name := range e.BusinessNames {
		add("businessName", tag("organisationName", escaped(name)), tag("effectiveFrom", e.StatusFrom), tag("effectiveTo", open))
	}
	return tag("businessEntity202001", parts...)
}

// document is the XML form around inside. It repeats the GUID, as the service
// does in front of a record.
func document(guid string, inside string) string {
	request := ""
	if guid != "" {
		request = tag("request", tag("identifierSearchRequest", tag("authenticationGUID", escaped(guid))))
	}
	return `<?xml version="1.0" encoding="utf-8"?>` + "\r\n" +
		`<ABRPayloadSearchResults xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="http://abr.business.gov.au/ABRXMLSearch/">` +
		request + tag("response", tag("usageStatement", "The Registrar of the ABR monitors the quality of the information."), tag("dateRegisterLastUpdated", "2026-11-30"), tag("dateTimeRetrieved", "2026-11-30T12:00:00.0000000+11:00"), inside) +
		"</ABRPayloadSearchResults>"
}

// tag writes one element; inside is XML already.
func tag(name string, inside ...string) string {
	if text := strings.Join(inside, ""); text != "" {
		return "<" + name + ">" + text + "</" + name + ">"
	}
	return "<" + name + " />"
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a Builder takes everything
	}
	return b.String()
}
