package abn

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonForm is the service for web pages: an object in a call of a function
// whose name the request chooses (JSONP). text/html is let in because pages of
// that kind are declared so unless somebody thought of it; what really is a
// page is no such call.
var jsonForm = form{
	path:  "/json/AbnDetails.aspx",
	types: []string{"application/json", "application/javascript", "text/javascript", "application/x-javascript", "text/plain", "text/html"},
	query: func(n Number, guid string) url.Values {
		return url.Values{"abn": {n.String()}, "callback": {callback}, "guid": {guid}}
	},
	read: readJSON,
}

const callback = "callback"

// details is an answer. null counts as "". Members that we don't know are
// ignored.
type details struct {
	Abn                    string   `json:"Abn"`
	AbnStatus              string   `json:"AbnStatus"`
	AbnStatusEffectiveFrom string   `json:"AbnStatusEffectiveFrom"`
	Acn                    string   `json:"Acn"`
	AddressPostcode        string   `json:"AddressPostcode"`
	AddressState           string   `json:"AddressState"`
	BusinessName           []string `json:"BusinessName"`
	EntityName             string   `json:"EntityName"`
	EntityTypeCode         string   `json:"EntityTypeCode"`
	EntityTypeName         string   `json:"EntityTypeName"`
	Gst                    string   `json:"Gst"` // since when, or ""
	Message                string   `json:"Message"`
}

// readJSON reads an answer about n.
func readJSON(body []byte, n Number) (r Record, found bool, err error) {
	object, ok := unwrap(body)
	var d details
	if !ok || json.Unmarshal(object, &d) != nil {
		return r, false, odd("the register's answer is not a call with one object")
	}
	if message := strings.TrimSpace(d.Message); message != "" {
		return r, false, refused(message)
	}
	if d.Abn != n.String() {
		return r, false, elsewhere(d.Abn)
	}
	var f fields
	r = Record{
		Status: f.status(d.AbnStatus), StatusFrom: f.date(d.AbnStatusEffectiveFrom),
		Name: f.text(d.EntityName), TypeCode: f.text(d.EntityTypeCode), TypeName: f.text(d.EntityTypeName),
		ACN: f.acn(d.Acn), GSTFrom: f.date(d.Gst),
		State: f.text(d.AddressState), Postcode: f.text(d.AddressPostcode), Names: f.texts(d.BusinessName),
	}
	return r, f.err == nil, f.err
}

// unwrap returns the value within callback(…), behind which there may be a
// semicolon. There is nothing else but space.
func unwrap(body []byte) (value []byte, ok bool) {
	rest, ok := bytes.CutPrefix(bytes.Trim(body, space), []byte(callback))
	if !ok {
		return nil, false
	}
	rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, space), []byte("("))
	if !ok {
		return nil, false
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(rest))
	value, err := d.ReadValue()
	if err != nil || value[0] != '{' {
		return nil, false
	}
	end := bytes.TrimSuffix(bytes.Trim(rest[d.InputOffset():], space), []byte(";"))
	return value, string(bytes.TrimRight(end, space)) == ")"
}

// space is what may stand around the parts.
const space = " \t\r\n"
