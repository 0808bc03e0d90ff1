package abn

import (
	"net/url"
	"slices"
	"strings"
)

// xmlForm is the documented service, asked by its GET binding without
// history. The names of its parameters are matched in exact case.
var xmlForm = form{
	path:  "/abrxmlsearch/AbrXmlSearch.asmx/SearchByABNv202001",
	types: []string{"text/xml", "application/xml"},
	query: func(n Number, guid string) url.Values {
		return url.Values{"searchString": {n.String()}, "includeHistoricalDetails": {"N"}, "authenticationGuid": {guid}}
	},
	read: readXML,
}

const namespace = "http://abr.business.gov.au/ABRXMLSearch/"

// readXML reads an answer about n. Where the entity has another number now,
// the record is the entity's, with ReplacedBy set: see number.
func readXML(body []byte, n Number) (r Record, found bool, err error) {
	root, err := readTree(body, namespace, "ABRPayloadSearchResults")
	if err != nil {
		return r, false, ErrUnavailable.Because(err)
	}
	x := &xmlReader{}
	response := x.one(root, "response")
	entity, exception := x.one(response, "businessEntity202001"), x.one(response, "exception")
	switch {
	case x.err != nil:
		return r, false, x.err
	case exception != nil && entity == nil:
		if message := x.value(exception, "exceptionDescription"); x.err == nil {
			return r, false, refused(message)
		}
		return r, false, x.err
	case exception != nil || entity == nil:
		return r, false, odd("the register's answer has neither one entity nor one exception")
	}
	r = x.record(entity, n)
	return r, x.err == nil, x.err
}

// xmlReader reads the tree of one answer. What may be there once is nil or ""
// where it is missing, and a fault where it is there twice.
type xmlReader struct{ fields }

func (x *xmlReader) record(entity *element, n Number) Record {
	status := x.current(entity.all("entityStatus"))
	gst := x.current(entity.all("goodsAndServicesTax"))
	address := x.current(entity.all("mainBusinessPhysicalAddress"))
	kind := x.one(entity, "entityType")
	return Record{
		ReplacedBy: x.replacement(entity.all("ABN"), n),
		Status:     x.status(x.value(status, "entityStatusCode")), StatusFrom: x.date(x.value(status, "effectiveFrom")),
		Name: x.name(entity), TypeCode: x.text(x.value(kind, "entityTypeCode")), TypeName: x.text(x.value(kind, "entityDescription")),
		ACN: x.acn(x.value(entity, "ASICNumber")), GSTFrom: x.date(x.value(gst, "effectiveFrom")),
		State: x.text(x.value(address, "stateCode")), Postcode: x.text(x.value(address, "postcode")), Names: x.businessNames(entity),
	}
}

// one returns the only child of the name, nil if there is none.
func (x *xmlReader) one(parent *element, name string) *element {
	all := parent.all(name)
	x.require(len(all) <= 1, "the register's answer says twice what is so once")
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// value returns the text of the only child of the name.
func (x *xmlReader) value(parent *element, name string) string {
	child := x.one(parent, name)
	if child == nil {
		return ""
	}
	x.require(len(child.children) == 0, "the register's answer has elements where a value belongs")
	return string(child.text)
}

// current returns the one of a history that has no end, nil if each has one.
func (x *xmlReader) current(history []*element) *element {
	open := slices.DeleteFunc(slices.Clone(history), func(e *element) bool { return x.date(x.value(e, "effectiveTo")) != "" })
	x.require(len(open) <= 1, "the register's answer has several values at once where one is current")
	if len(open) == 0 {
		return nil
	}
	return open[0]
}

// replacement finds n among the entity's numbers: zero if n is the current one,
// else the current one. The register finds an entity by each number that it
// has had, and one that was replaced is out of force; so an answer that doesn't
// say which is current is of no use.
func (x *xmlReader) replacement(nodes []*element, n Number) Number {
	var current string
	known := false
	for _, node := range nodes {
		number := x.text(x.value(node, "identifierValue"))
		known = known || number == n.String() || x.text(x.value(node, "replacedIdentifierValue")) == n.String()
		if len(nodes) == 1 && x.value(node, "isCurrentIndicator") == "" || strings.TrimSpace(x.value(node, "isCurrentIndicator")) == "Y" {
			x.require(current == "", "the register's answer has several current numbers")
			current = number
		}
	}
	if !known && x.err == nil {
		x.err = elsewhere(current)
	}
	if current == n.String() {
		return Number{}
	}
	by, err := Parse(current)
	x.require(err == nil, "the register's answer has no current number")
	return by
}

// name is the organisation's, or the person's as the register lists people:
// "FAMILY, GIVEN OTHER".
func (x *xmlReader) name(entity *element) string {
	if main := x.current(entity.all("mainName")); main != nil {
		return x.text(x.value(main, "organisationName"))
	}
	legal := x.current(entity.all("legalName"))
	if legal == nil {
		return ""
	}
	given := x.text(x.value(legal, "givenName") + " " + x.value(legal, "otherGivenName"))
	family := x.text(x.value(legal, "familyName"))
	if given == "" || family == "" {
		return family + given
	}
	return family + ", " + given
}

// businessNames are those in use. Trading names are not read: the register
// stopped keeping them in 2012.
func (x *xmlReader) businessNames(entity *element) []string {
	var names []string
	for _, b := range entity.all("businessName") {
		if x.current([]*element{b}) != nil {
			names = append(names, x.value(b, "organisationName"))
		}
	}
	return x.texts(names)
}
