// Package resolve turns a site's instruction into a proposal that passed every
// check, or into the reason why there is none. It executes nothing, and the
// gateway checks everything again by itself.
//
// Each resolution is recorded before it is answered: the instruction's hash,
// what was proposed by whom, and the verdict. The words themselves are kept
// only if the tenant asked for that. Records go after their retention.
package resolve

import (
	"context"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// Scope lets a token ask for a resolution.
const Scope = "platform:agent:invoke"

// Record is one resolution in the log.
type Record struct {
	ID          string // ours, UUIDv7, by time
	Tenant      tenant.ID
	Site        site.ID
	RequestID   string
	At          time.Time
	Duration    time.Duration
	Hash        [32]byte // SHA-256 of the instruction
	Instruction string   // "" unless the tenant keeps them
	Selector    string
	Capability  string // "": none
	App         catalog.AppID
	Operation   string
	Reason      selector.Reason // "" for a resolution
	Effect      policy.Effect   // "" where policy was not asked
	Rule        string
	Revision    string
}

// Query selects records of one tenant, newest first.
type Query struct {
	Tenant tenant.ID
	Site   site.ID // "": any
	Before string  // an ID; "": from the newest
	Limit  int
}

// Store keeps the log.
type Store interface {
	RecordResolution(ctx context.Context, r Record) error
	Resolutions(ctx context.Context, q Query) ([]Record, error)
	// PruneResolutions removes up to limit records from before at.
	PruneResolutions(ctx context.Context, at time.Time, limit int) (int, error)
	// Reclaim gives back the space of what was removed, so that no instruction
	// is left in a file. It looks at the whole store: once a pruning, not a step.
	Reclaim(ctx context.Context) error
}
