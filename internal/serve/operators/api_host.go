package operators

import (
	"time"

	"interlock/internal/secret"
)

// Host is one enrolled machine.
type Host struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Status     string            `json:"status" enum:"active,draining,suspect,lost,revoked"`
	Labels     map[string]string `json:"labels,omitzero"`
	Devices    []HostDevice      `json:"devices"`
	Version    string            `json:"version"`
	SlotsFree  int               `json:"slots_free"`
	Draining   bool              `json:"draining,omitzero" doc:"the host says that it takes no more work"`
	Drain      bool              `json:"drain,omitzero" doc:"an operator asked it to take no more work"`
	EnrolledAt time.Time         `json:"enrolled_at"`
	LastSeenAt time.Time         `json:"last_seen_at,omitzero"`
	RevokedAt  time.Time         `json:"revoked_at,omitzero"`
	Planner    PlannerGrant      `json:"planner"`
}

// HostDevice is one phone that a host offers.
type HostDevice struct {
	ID     string            `json:"id"`
	Kind   string            `json:"kind"`
	Name   string            `json:"name,omitzero"`
	Labels map[string]string `json:"labels,omitzero"`
}

// PlannerGrant is the body of a host's planner setting, and part of Host.
type PlannerGrant struct {
	Allowed              bool `json:"allowed" doc:"whether the host may ask for decisions; its other calls are not touched"`
	MaxConcurrentDecides int  `json:"max_concurrent_decides,omitzero" minimum:"0" maximum:"1024" doc:"0: the server's cap alone"`
}

// DrainRequest is the body of a host's drain.
type DrainRequest struct {
	Drain bool `json:"drain" doc:"true: take no more work; false: take work again"`
}

// HostList is all hosts, by name.
type HostList struct {
	Hosts []Host `json:"hosts"`
}

// NewEnrolToken is the body that makes an enrolment token.
type NewEnrolToken struct {
	HostName        string            `json:"host_name,omitzero" doc:"name of the host that it will make; empty: the host names itself"`
	Labels          map[string]string `json:"labels,omitzero" doc:"added to the host's own, and stronger"`
	LifetimeSeconds int64             `json:"lifetime_seconds,omitzero" minimum:"0" maximum:"86400" doc:"0: the server's default"`
}

// EnrolToken is one enrolment token's record; it holds no secret.
type EnrolToken struct {
	ID        string            `json:"id"`
	State     string            `json:"state" enum:"live,used,expired,revoked"`
	HostName  string            `json:"host_name,omitzero"`
	Labels    map[string]string `json:"labels,omitzero"`
	CreatedAt time.Time         `json:"created_at"`
	ExpiresAt time.Time         `json:"expires_at"`
	UsedAt    time.Time         `json:"used_at,omitzero"`
	UsedBy    string            `json:"used_by,omitzero" doc:"id of the host"`
	RevokedAt time.Time         `json:"revoked_at,omitzero"`
}

// EnrolTokenReply answers the making of a token, the only time it is shown.
type EnrolTokenReply struct {
	EnrolToken
	Token secret.Exposed `json:"token"`
}

// EnrolTokenList is all enrolment tokens, newest first.
type EnrolTokenList struct {
	EnrolTokens []EnrolToken `json:"enrol_tokens"`
}
