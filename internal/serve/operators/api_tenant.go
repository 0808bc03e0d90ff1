package operators

import "time"

// NewTenant is the body that makes a tenant.
type NewTenant struct {
	ID               string        `json:"id" minLength:"1" maxLength:"64" doc:"in paths and tokens, and never changed; 1 to 64 of a-z, 0-9 and -, first a letter or digit"`
	Name             string        `json:"name" minLength:"1" maxLength:"100"`
	Policy           PolicyRules   `json:"policy,omitzero"`
	KeepInstructions bool          `json:"keep_instructions,omitzero" doc:"keep the words of instructions in the log of resolutions, not only their hash"`
	Subscription     *Subscription `json:"subscription,omitempty" doc:"left out: none yet, so its sites' calls are refused"`
}

// TenantChange is the body that changes a tenant: what is left out stays.
type TenantChange struct {
	Name             *string      `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Policy           *PolicyRules `json:"policy,omitempty" doc:"replaces the whole policy"`
	KeepInstructions *bool        `json:"keep_instructions,omitempty"`
	Suspended        *bool        `json:"suspended,omitempty" doc:"true: all its sites' calls are refused from now on; false: no more"`
}

// PolicyRules is what a tenant's policy says of business calls.
type PolicyRules struct {
	Revision        string   `json:"revision,omitzero" readOnly:"true" maxLength:"128" doc:"follows from the rules"`
	AllowedTools    []string `json:"allowed_tools,omitzero" maxItems:"1000" doc:"as APP__OPERATION; empty: all that are enabled"`
	MaxRisk         string   `json:"max_risk,omitzero" enum:"low,medium,high" doc:"riskier calls are denied; left out: low"`
	AllowedPackages []string `json:"allowed_packages,omitzero" maxItems:"1000" doc:"apps that may be called; empty: all that are enabled"`
}

// Tenant is one customer of the platform.
type Tenant struct {
	ID               string      `json:"id"`
	Name             string      `json:"name"`
	Policy           PolicyRules `json:"policy"`
	KeepInstructions bool        `json:"keep_instructions"`
	CreatedAt        time.Time   `json:"created_at"`
	SuspendedAt      time.Time   `json:"suspended_at,omitzero" doc:"absent: it is active"`
}

// TenantPage is one page of tenants, by id. Query: limit, cursor.
type TenantPage struct {
	Tenants    []Tenant `json:"tenants"`
	NextCursor string   `json:"next_cursor,omitzero"`
}

// TenantStanding is all that decides what a tenant may do now.
type TenantStanding struct {
	Tenant
	Subscription *Subscription `json:"subscription,omitempty" doc:"absent: it has none"`
	Apps         []EnabledApp  `json:"apps" doc:"that it has enabled, by id"`
}

// Subscription is a tenant's right to use the platform for a time.
type Subscription struct {
	Plan     string    `json:"plan" minLength:"1" maxLength:"64" doc:"a word of yours"`
	StartsAt time.Time `json:"starts_at,omitzero" doc:"left out: now"`
	EndsAt   time.Time `json:"ends_at,omitzero" doc:"not part of it; left out: open"`
	Active   bool      `json:"active,omitzero" readOnly:"true" doc:"whether it covers this moment"`
}

// Quota is how many calls of an app a tenant may make in each window.
type Quota struct {
	Limit  int64  `json:"limit" minimum:"0" maximum:"1000000000000" doc:"0: none"`
	Window string `json:"window" enum:"hour,day,month" doc:"a calendar period in UTC"`
}

// EnabledApp is an app that a tenant may use, with the use of its quota.
type EnabledApp struct {
	App       string    `json:"app"`
	Quota     Quota     `json:"quota"`
	Used      int64     `json:"used" doc:"of the quota, in the window of now"`
	Remaining int64     `json:"remaining"`
	ResetsAt  time.Time `json:"resets_at" doc:"the end of the window"`
	EnabledAt time.Time `json:"enabled_at"`
}

// EnableApp is the body that enables an app, or changes its quota.
type EnableApp struct {
	Quota Quota `json:"quota"`
}
