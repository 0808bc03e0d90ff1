package fleet

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// NewEnrolToken is what an operator asks for. By is the actor.
type NewEnrolToken struct {
	Tenant   tenant.ID
	By       string
	HostName string            // "": the host names itself
	Labels   map[string]string // added to the host's own, and stronger
	Life     time.Duration     // zero: the default; at most MaxEnrolTokenLife
}

// CreateEnrolToken makes one-use permission to become a host. The value is
// shown this once; the record holds its hash.
func (s *Service) CreateEnrolToken(ctx context.Context, n NewEnrolToken) (EnrolToken, secret.String, error) {
	if n.Life == 0 {
		n.Life = s.cfg.EnrolTokenLife
	}
	wrong := LabelProblems("the token", n.Labels)
	wrong.Require(n.Life > 0 && n.Life <= MaxEnrolTokenLife, "the lifetime is not between 1 s and %v", MaxEnrolTokenLife)
	wrong.Require(n.HostName == "" || named(n.HostName, maxHostName, ""), hostNameRule)
	if err := wrong.Refuse("invalid_enrol_token", "the request for an enrolment token"); err != nil {
		return EnrolToken{}, secret.String{}, err
	}
	minted, now := secret.Mint(secret.EnrolToken), s.now()
	t := EnrolToken{ID: minted.ID, Tenant: n.Tenant, Hash: minted.Hash, HostName: n.HostName, Labels: maps.Clone(n.Labels),
		CreatedAt: now, ExpiresAt: now.Add(n.Life)}
	f := s.fact(n.Tenant, n.By, "enrol_token.create", t.ID, map[string]string{"host_name": n.HostName, "expires_at": t.ExpiresAt.Format(time.RFC3339)})
	if err := s.store.CreateEnrolToken(ctx, t, f); err != nil {
		return EnrolToken{}, secret.String{}, fmt.Errorf("create enrolment token: %w", err)
	}
	return t, minted.Value, nil
}

// EnrolTokens returns the tenant's enrolment tokens, newest first.
func (s *Service) EnrolTokens(ctx context.Context, t tenant.ID) ([]EnrolToken, error) {
	return s.store.EnrolTokens(ctx, t)
}

// RevokeEnrolToken makes an unused token useless. ErrNoEnrolToken.
func (s *Service) RevokeEnrolToken(ctx context.Context, t tenant.ID, by, id string) error {
	return s.store.RevokeEnrolToken(ctx, t, id, s.now(), s.fact(t, by, "enrol_token.revoke", id, nil))
}

// EnrolRequest is what a host sends to become one. Key is the idempotency key:
// a repeat whose first answer was lost gets the same host a fresh credential.
type EnrolRequest struct {
	Token   secret.String
	Key     string
	Name    string
	Labels  map[string]string
	Devices []Device
	Version string
}

// Issued is a credential that was just made, shown this once.
type Issued struct {
	Host       Host
	Credential secret.String
	Life       time.Duration
	OldValid   time.Duration // how long the one before still works at most; zero at enrolment
}

const hostNameRule = "the host's name is not 1 to 64 of " + nameChars

// Enroll uses up a token and returns the new host with its credential.
// ErrEnrolToken, or fault Invalid that lists every problem.
func (s *Service) Enroll(ctx context.Context, r EnrolRequest) (Issued, error) {
	token, err := secret.Parse(secret.EnrolToken, r.Token.Reveal())
	if err != nil {
		return Issued{}, ErrEnrolToken.Because(err)
	}
	if err := r.check(); err != nil {
		return Issued{}, err
	}
	minted, now := secret.Mint(secret.HostCredential), s.now()
	id := HostID(uuid.Must(uuid.NewV7()).String())
	e := Enrolment{TokenID: token.ID, TokenHash: token.Hash, Key: r.Key, At: now,
		Host: Host{ID: id, Name: r.Name, Labels: maps.Clone(r.Labels), Devices: r.Devices, Version: r.Version,
			EnrolledAt: now, LastSeen: now, PlannerAllowed: true},
		Credential: Credential{ID: minted.ID, Host: id, Hash: minted.Hash, CreatedAt: now, ExpiresAt: now.Add(s.cfg.CredentialLife), RotationKey: r.Key}}
	// The tenant is the token's, which only the store knows yet.
	h, err := s.store.Enroll(ctx, e, audit.Fact{At: now, Actor: audit.ByHost(string(id)), Action: "host.enroll", Subject: string(id), Detail: map[string]string{"enrol_token": token.ID}})
	if err != nil {
		return Issued{}, fmt.Errorf("enroll host: %w", err)
	}
	s.known.dropHost(h.ID)
	s.cfg.Logger.InfoContext(ctx, "host enrolled", "host", h.ID, "name", h.Name)
	return Issued{Host: h, Credential: minted.Value, Life: s.cfg.CredentialLife}, nil
}

func (r EnrolRequest) check() error {
	if err := checkKey(r.Key); err != nil {
		return err
	}
	wrong := LabelProblems("the host", r.Labels)
	wrong.Require(named(r.Name, maxHostName, ""), hostNameRule)
	requireVersion(&wrong, r.Version)
	wrong = append(wrong, deviceProblems(r.Devices)...)
	return wrong.Refuse("invalid_enrolment", "the enrolment")
}

func checkKey(key string) error {
	if key == "" || !legible(key, maxKey) {
		return fault.New(fault.Invalid, "invalid_idempotency_key", "send an idempotency key of 1 to %d printable characters", maxKey)
	}
	return nil
}
