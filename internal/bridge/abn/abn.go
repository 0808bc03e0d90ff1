// Package abn is the app abn_lookup: it answers what the Australian Business
// Register says of one Australian Business Number (ABN).
//
// The answer comes from one Source: the register's web service, an index built
// from the public Bulk Extract, or a few built-in public records for
// rehearsals. Answers are told apart: an entity that is active or cancelled,
// no record, and the failures credential_rejected and upstream_unavailable. A
// failure never reads as "not registered".
package abn

import (
	"context"
	"time"

	"interlock/internal/secret"
)

// Number is an ABN that has its eleven ASCII digits and passes the checksum.
// The zero value is none.
type Number struct{ digits string }

// String returns the eleven digits.
func (n Number) String() string { return n.digits }

// Record is what the register says of one ABN. Names and places may be empty:
// details are withheld for some entities.
type Record struct {
	ABN        Number
	Status     string // as the register writes it: "Active" or "Cancelled"
	StatusFrom string // YYYY-MM-DD; "" where the register gives none
	Name       string // of the entity
	TypeCode   string // such as PRV; open list
	TypeName   string
	ACN        string   // nine digits; "" where it has none
	GSTFrom    string   // YYYY-MM-DD; "" where it is not registered for GST
	State      string   // such as NSW
	Postcode   string   //
	Names      []string // business names; trading names are not among them, since the register stopped updating those in 2012
}

// Active reports whether the ABN is registered now.
func (r Record) Active() bool { return r.Status == "Active" }

// Provenance says where an answer comes from and how old it may be.
type Provenance struct {
	Source string    // "abr", "index" or "sample"
	AsOf   time.Time // when the source made it: the retrieval, or the extract's time
}

// Source looks up ABNs. It is safe for concurrent use.
type Source interface {
	// Lookup returns the record of n; found is false where the register has
	// none. Its faults are credential_rejected and upstream_unavailable.
	Lookup(ctx context.Context, n Number, credential secret.String) (r Record, p Provenance, found bool, err error)
	// NeedsCredential says whether Lookup wants the tenant's GUID.
	NeedsCredential() bool
}
