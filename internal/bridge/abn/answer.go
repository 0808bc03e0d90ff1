package abn

import (
	"time"
)

// resultSchema is the form of an answer. Every detail may be "": the register
// withholds some, and the sample holds few.
const resultSchema = `{
  "type": "object",
  "properties": {
    "status": {"enum": ["found", "cancelled", "not_found"], "description": "found: registered now; cancelled: it was registered once, or the entity has another number now; not_found: the register has no record of it"},
    "abn": {"type": "string", "description": "as asked, eleven digits"},
    "abn_formatted": {"type": "string", "description": "the same with spaces, for people"},
    "registered": {"type": "boolean", "description": "whether the ABN is registered now"},
    "replaced_by": {"type": "string", "description": "the ABN that the entity has instead, of which everything in entity is said; empty: this one is its own"},
    "entity": {
      "type": "object",
      "description": "absent where nothing was found; details are empty where the answer has none",
      "properties": {
        "name": {"type": "string"},
        "type_code": {"type": "string", "description": "as the register writes it, such as PRV; the list is open"},
        "type_name": {"type": "string"},
        "acn": {"type": "string", "description": "nine digits"},
        "gst_from": {"type": "string", "description": "since when it is registered for GST, YYYY-MM-DD"},
        "status": {"type": "string", "description": "as the register writes it: Active or Cancelled"},
        "status_from": {"type": "string", "description": "since when, YYYY-MM-DD"},
        "state": {"type": "string"},
        "postcode": {"type": "string"},
        "business_names": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["name", "type_code", "type_name", "acn", "gst_from", "status", "status_from", "state", "postcode", "business_names"],
      "additionalProperties": false
    },
    "source": {"type": "string", "description": "abr: the register's web service; index: its public extract; sample: built-in records"},
    "as_of": {"type": "string", "description": "when the source said so, RFC 3339, UTC"}
  },
  "required": ["status", "abn", "abn_formatted", "registered", "replaced_by", "source", "as_of"],
  "additionalProperties": false
}`

// answer is the result of one call.
type answer struct {
	Status       string  `json:"status"`
	ABN          string  `json:"abn"`
	ABNFormatted string  `json:"abn_formatted"`
	Registered   bool    `json:"registered"`
	ReplacedBy   string  `json:"replaced_by"`
	Entity       *entity `json:"entity,omitzero"`
	Source       string  `json:"source"`
	AsOf         string  `json:"as_of"`
}

type entity struct {
	Name          string   `json:"name"`
	TypeCode      string   `json:"type_code"`
	TypeName      string   `json:"type_name"`
	ACN           string   `json:"acn"`
	GSTFrom       string   `json:"gst_from"`
	Status        string   `json:"status"`
	StatusFrom    string   `json:"status_from"`
	State         string   `json:"state"`
	Postcode      string   `json:"postcode"`
	BusinessNames []string `json:"business_names"`
}

// maxRecord is more than the business names of any entity take, in bytes. Twice
// of it, for what JSON escapes, is still a result that the catalog takes.
const maxRecord = 96 << 10

// answerOf puts a lookup of n into words. A record of another number, of a
// status that is not known, or of no sensible size, is no answer about n:
// whoever made it failed.
func answerOf(n Number, r Record, p Provenance, found bool) (answer, error) {
	a := answer{Status: "not_found", ABN: n.String(), ABNFormatted: n.Spaced(), Source: p.Source, AsOf: p.AsOf.UTC().Format(time.RFC3339)}
	if !found {
		return a, nil
	}
	switch {
	case r.ABN != n:
		return answer{}, odd("the record is of another number")
	case r.size() > maxRecord:
		return answer{}, odd("the record is larger than any entity's")
	case r.Active():
		a.Status, a.Registered = "found", true
	case r.Status == Active || r.Status == Cancelled:
		a.Status = "cancelled"
	default:
		return answer{}, odd("the record has a status that is not known")
	}
	a.ReplacedBy = r.ReplacedBy.String()
	a.Entity = &entity{
		Name: r.Name, TypeCode: r.TypeCode, TypeName: r.TypeName, ACN: r.ACN, GSTFrom: r.GSTFrom,
		Status: r.Status, StatusFrom: r.StatusFrom, State: r.State, Postcode: r.Postcode, BusinessNames: r.Names,
	}
	return a, nil
}
