package fleet

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Named failures of the fleet.
var (
	ErrEnrolToken   = fault.New(fault.Unauthenticated, "enrol_token_invalid", "the enrolment token is unknown, used, revoked or expired; ask an operator for a new one (interlock host token create)")
	ErrNoEnrolToken = fault.New(fault.NotFound, "enrol_token_not_found", "there is no such unused enrolment token; list them with: interlock host token list")
	ErrCredential   = fault.New(fault.Unauthenticated, "host_unauthorized", "the host credential is not valid; enroll this host again with a new token")
	ErrHostRevoked  = fault.New(fault.Unauthenticated, "host_revoked", "this host was revoked by an operator; enroll it again with a new token if that was a mistake")
	ErrHostNotFound = fault.New(fault.NotFound, "host_not_found", "there is no such host; list them with: interlock host list")
	ErrHostGone     = fault.New(fault.Conflict, "host_gone", "this host was revoked, so it can't be changed any more; enroll it again with a new token (interlock host token create)")
	ErrSuperseded   = fault.New(fault.Conflict, "credential_superseded", "this credential was rotated already and its successor is in use; use the successor")
)

// Enrolment is everything that Enroll stores. Key is the call's idempotency key.
type Enrolment struct {
	TokenID   string
	TokenHash [32]byte
	Key       string
	Host      Host
	Credential
	At time.Time
}

// Rotation replaces credential Old of Host by New.
type Rotation struct {
	Host HostID
	Old  string
	New  Credential // its RotationKey is the call's idempotency key
	// RetireAt is when Old retires at the latest; MarkUsed of New may bring it
	// forward. An Old whose New was never presented is not retired: its
	// holder never got the answer (the service judges that, not the store).
	RetireAt time.Time
}

// Seen is one heartbeat's news of a host.
type Seen struct {
	Host      HostID
	At        time.Time
	Devices   []Device
	SlotsFree int
	Draining  bool
	Version   string
}

// Store keeps the fleet. Each method is one transaction.
type Store interface {
	CreateEnrolToken(ctx context.Context, t EnrolToken, f audit.Fact) error
	EnrolTokens(ctx context.Context, t tenant.ID) ([]EnrolToken, error) // newest first
	// RevokeEnrolToken makes an unused token useless; ErrNoEnrolToken if there is none.
	RevokeEnrolToken(ctx context.Context, t tenant.ID, id string, at time.Time, f audit.Fact) error
	// DeleteEnrolTokens removes at most limit tokens whose ExpiresAt is before
	// `before`, whether they were used, revoked or neither: nobody can use them.
	DeleteEnrolTokens(ctx context.Context, before time.Time, limit int) (int, error)

	// Enroll uses up the token and stores the host and its first credential,
	// with the fact in the token's tenant; the host's tenant is the token's,
	// and the token's name and labels win over the host's. It returns
	// ErrEnrolToken for a token that is unknown, wrong, used, revoked or past
	// its ExpiresAt at e.At. If the token was used by an enrolment with the
	// same Key whose credential has never been presented, the answer was
	// lost: that host gets e.Credential instead and is returned.
	Enroll(ctx context.Context, e Enrolment, f audit.Fact) (Host, error)
	// Credential reads one credential with its host; ErrCredential if there is none.
	Credential(ctx context.Context, id string) (Credential, Host, error)
	// MarkUsed notes the first use of a credential at `at`, and brings the
	// RetiresAt of the one that it superseded forward to retireOld if that is earlier.
	MarkUsed(ctx context.Context, id string, at, retireOld time.Time) error
	// Rotate stores r.New and makes it the successor of r.Old. If r.Old has a
	// successor that was never presented, that one is replaced (its answer was
	// lost); if it was presented, ErrSuperseded. ErrCredential if r.Old is gone.
	Rotate(ctx context.Context, r Rotation) error
	// DeleteCredentials removes credentials retired or expired before `before`
	// (a copy presented later than that is merely unknown).
	DeleteCredentials(ctx context.Context, before time.Time) (int, error)

	Host(ctx context.Context, t tenant.ID, id HostID) (Host, error) // ErrHostNotFound
	Hosts(ctx context.Context, t tenant.ID) ([]Host, error)         // by name, then id
	// RecordSeen applies a batch of heartbeats: one statement a second serves them all.
	RecordSeen(ctx context.Context, batch []Seen) error
	// The operators' changes below return ErrHostNotFound, and the last two
	// ErrHostGone for a host that is revoked.
	RevokeHost(ctx context.Context, t tenant.ID, id HostID, at time.Time, f audit.Fact) error
	SetPlanner(ctx context.Context, t tenant.ID, id HostID, allowed bool, decideLimit int, f audit.Fact) error
	SetDrain(ctx context.Context, t tenant.ID, id HostID, drain bool, f audit.Fact) error
}
