package abn

import (
	"context"

	"time"

	"interlock/internal/fault"
	"interlock/internal/secret"
)

// sampled is when the records below were taken down.
var sampled = time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)

// records are public ones of well-known bodies. Details that were not taken
// down are empty, the GST registration of all but the first among them.
var records = []Record{
	{ABN: Number{"51824753556"}, Status: Active, StatusFrom: "1999-11-01", Name: "AUSTRALIAN TAXATION OFFICE", GSTFrom: "2000-07-01", State: "NSW", Postcode: "2640"},
	{ABN: Number{"88000014675"}, Status: Active, Name: "WOOLWORTHS GROUP LIMITED", ACN: "000014675"},
	{ABN: Number{"26008672179"}, Status: Active, Name: "BUNNINGS GROUP LIMITED", ACN: "008672179"},
	{ABN: Number{"48123123124"}, Status: Active, Name: "COMMONWEALTH BANK OF AUSTRALIA", ACN: "123123124"},
	{ABN: Number{"49004028077"}, Status: Active, Name: "BHP GROUP LIMITED", ACN: "004028077"},
	{ABN: Number{"16009661901"}, Status: Active, Name: "QANTAS AIRWAYS LIMITED", ACN: "009661901"},
}

// sample answers from records.
type sample struct{}

// Sample returns a source for rehearsals that needs neither a GUID nor a
// network: a few public records of well-known bodies, with few of their
// details. It is not the register: of every other number it says
// upstream_unavailable, never that there is no record.
func Sample() Source { return sample{} }

func (sample) NeedsCredential() bool { return false }

func (sample) Lookup(_ context.Context, n Number, _ secret.String) (Record, Provenance, bool, error) {
	for _, r := range records {
		if r.ABN == n {
			return r, Provenance{Source: "sample", AsOf: sampled}, true, nil
		}
	}
	return Record{}, Provenance{}, false, errUnsampled
}

var errUnsampled = fault.New(fault.Unavailable, "upstream_unavailable",
	"this server answers from %d built-in sample records and that ABN is not among them; try %s, or have an operator connect the register or import its extract", len(records), records[0].ABN)
