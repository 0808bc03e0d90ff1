// Package credential keeps the secrets with which tenants are known at the
// services behind apps, sealed at rest.
//
// A secret is sealed with AES-256-GCM under a key of the keyset file, bound to
// its tenant, app and revision, so that a row copied to another place opens
// nowhere. The keyset is a file that only its owner can read; the database
// alone opens nothing. A secret is opened for one call, at the last moment,
// and never answered, listed or logged: operators see who set it and when.
package credential

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Sealed is one secret at rest.
type Sealed struct {
	Tenant     tenant.ID
	App        catalog.AppID
	Revision   int64  // 1 for the first secret of this tenant and app, one more with each that replaces it
	KeyID      string // of the keyset's key that sealed it
	Nonce      []byte // 12 bytes
	Ciphertext []byte // with the tag
	SetBy      string // the actor
	SetAt      time.Time
}

// Failures that callers act on.
var (
	ErrNotFound = fault.New(fault.NotFound, "credential_not_found", "no credential is set for that tenant and app")
	// ErrMoved is returned where the credential was changed since it was read.
	ErrMoved = fault.New(fault.Conflict, "credential_changed", "the credential was changed meanwhile; try again").Retry(0)
)

// Store keeps sealed credentials, one a tenant and app. Each change commits its
// fact with it.
type Store interface {
	// PutCredential stores s if the revision before s.Revision is the newest
	// one (0: there never was one), else ErrMoved. A tenant that is not there:
	// catalog.ErrTenantNotFound.
	PutCredential(ctx context.Context, s Sealed, f audit.Fact) error
	// SealedCredential reads one. ErrNotFound.
	SealedCredential(ctx context.Context, t tenant.ID, app catalog.AppID) (Sealed, error)
	// LatestRevision is that of the newest credential that was ever set for the
	// tenant and app, deleted ones included; 0: none.
	LatestRevision(ctx context.Context, t tenant.ID, app catalog.AppID) (int64, error)
	// SealedCredentials lists up to limit behind (afterTenant, afterApp), by
	// both, over all tenants.
	SealedCredentials(ctx context.Context, afterTenant tenant.ID, afterApp catalog.AppID, limit int) ([]Sealed, error)
	// ResealCredential replaces KeyID, Nonce and Ciphertext of the same
	// revision; ErrMoved if the revision or the KeyID before is another.
	ResealCredential(ctx context.Context, s Sealed, keyBefore string, f audit.Fact) error
	DeleteCredential(ctx context.Context, t tenant.ID, app catalog.AppID, f audit.Fact) error // ErrNotFound
}
