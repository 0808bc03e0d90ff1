// Package fleet holds the hosts: how one enrolls, what credential it holds,
// when it was last seen, and what it may do.
//
// A host is made by a one-use enrolment token and then holds a bearer
// credential, stored only as a hash. At most two credentials of a host live at
// once: a rotation leaves the old one valid for an overlap. A credential that
// is presented after it was retired, while its successor is in use, was copied:
// the host is revoked with all its credentials, and an operator is told. A
// rotation whose answer never arrived retires nothing.
//
// The store's rows are authoritative. In memory are when each host was last
// seen, which reaches the store once a second, and the credentials that were
// good within the last moments (Config.CacheFor); a change made by this process
// is seen by the next call. A crash loses a second of heartbeats. Times are this
// server's; a host's clock is never asked.
package fleet

import (
	"time"

	"interlock/internal/tenant"
)

// HostID names a host (UUIDv7).
type HostID string

// Host is one enrolled machine.
type Host struct {
	ID         HostID
	Tenant     tenant.ID
	Name       string
	Labels     map[string]string
	Devices    []Device
	Version    string
	SlotsFree  int
	Draining   bool // the host says so
	Drain      bool // an operator asked for it
	EnrolledAt time.Time
	LastSeen   time.Time
	RevokedAt  time.Time // zero: not revoked

	// PlannerAllowed is the `planner` permission: whether the host may ask for
	// decisions. Granted at enrolment; revoking it leaves the rest alone.
	PlannerAllowed bool
	// DecideLimit caps this host's concurrent decides; zero: the server's cap alone.
	DecideLimit int
}

// Device is one phone that a host offers; ID is unique within the host.
type Device struct {
	ID     string            `json:"id"`
	Kind   string            `json:"kind"`
	Name   string            `json:"name,omitzero"`
	Labels map[string]string `json:"labels,omitzero"`
}

// Status is how a host looks from here.
type Status string

// The statuses; suspect and lost are judged by when the host was last seen.
const (
	Active   Status = "active"
	Draining Status = "draining"
	Suspect  Status = "suspect"
	Lost     Status = "lost"
	Revoked  Status = "revoked"
)

// EnrolToken is one-use permission to become a host.
type EnrolToken struct {
	ID        string
	Tenant    tenant.ID
	Hash      [32]byte
	HostName  string            // "": the host names itself
	Labels    map[string]string // added to the host's own, and stronger
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero: not used
	UsedBy    HostID
	RevokedAt time.Time
}

// Credential is one bearer credential of a host.
type Credential struct {
	ID          string
	Host        HostID
	Hash        [32]byte
	CreatedAt   time.Time
	ExpiresAt   time.Time
	FirstUsed   time.Time // zero: never presented
	RetiresAt   time.Time // zero: not superseded
	Successor   string    // id of the credential that superseded it
	RotationKey string    // idempotency key of the rotation (or enrolment) that made it
}
