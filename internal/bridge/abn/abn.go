// Package abn is the app abn_lookup: it answers what the Australian Business
// Register says of one Australian Business Number (ABN).
//
// The answer comes from one Source: the register's web service (Web), an index
// built from the public Bulk Extract, or a few built-in public records for
// rehearsals (Sample). Answers are told apart: an entity that is active or
// cancelled, no record, and the failures credential_rejected and
// upstream_unavailable. A failure never reads as "not registered": an answer
// that is cut, odd, of another number or not understood is
// upstream_unavailable.
//
// The register is authoritative; what is kept of its answers is a copy in
// memory that no crash leaves behind, is at most 24 hours old by this
// process's clock, and goes at once when it is purged. A clock that was set
// back empties it rather than lengthening it.
//
// The register knows its users by a GUID that travels in the address of each
// request. So addresses stay inside one exchange: neither they nor what the
// register wrote are part of an error, a log line or a panic.
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
	Status     string // as the register writes it: Active or Cancelled
	StatusFrom string // YYYY-MM-DD; "" where the register gives none
	// ReplacedBy is the number that the entity has instead, if the register has
	// given it another one: ABN is then out of force, and everything else here
	// is said of the entity under its new number. Zero: ABN is the entity's own.
	ReplacedBy Number
	Name       string // of the entity
	TypeCode   string // such as PRV; open list
	TypeName   string
	ACN        string   // nine digits; "" where it has none
	GSTFrom    string   // YYYY-MM-DD; "" where it is not registered for GST
	State      string   // such as NSW
	Postcode   string   //
	Names      []string // business names; trading names are not among them, since the register stopped updating those in 2012
}

// The statuses of a record.
const (
	Active    = "Active"
	Cancelled = "Cancelled"
)

// Active reports whether the ABN is registered now.
func (r Record) Active() bool { return r.Status == Active && r.ReplacedBy == Number{} }

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
