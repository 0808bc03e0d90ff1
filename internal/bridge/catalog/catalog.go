// Package catalog says what can be called and by whom: apps with their
// operations, as their authors published them, and for each tenant whether it
// is active, subscribed, and which apps it has enabled with which quota.
//
// Apps are code: a server publishes those that it was built with, once, at its
// start, and refuses to start on one that is malformed. Everything about
// tenants is a record that an operator changes, each change with its audit
// fact. Nothing is cached: what an operator withdraws is withdrawn from the
// next call on. A tenant without a subscription, an app without an enablement
// and an operation that is not published are all refused by whoever asks.
package catalog

import (
	"context"
	"encoding/json"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// AppID names an app in paths and scopes: 1 to 32 of a-z, 0-9 and '_', first a
// letter, and none of the words that the sites' paths reserve.
type AppID string

// App is one business service as its author publishes it.
type App struct {
	ID          AppID
	Title       string
	Description string
	// Credential says whether each tenant needs a credential of its own at the
	// service behind the app.
	Credential bool
	Operations []Operation
}

// Operation is one thing that an app does.
type Operation struct {
	Name        string // in paths and scopes, as an AppID is: "lookup_v1"
	Capability  string // what it is, over versions and apps: "business.au.abn.lookup"
	Description string // for a model and for a person
	// Arguments and Result are JSON Schemas (2020-12) of objects; Arguments
	// says "additionalProperties": false.
	Arguments json.RawMessage
	Result    json.RawMessage
	Risk      policy.Risk
	// Confirm says that a person must agree to each call.
	Confirm bool
	// ReadOnly says that a call changes nothing, so that one whose end is not
	// known may be made again.
	ReadOnly bool
	// AgentVisible says that selectors may propose it.
	AgentVisible bool
	// Verbatim names the arguments whose values must stand in the instruction
	// that a proposal is made from.
	Verbatim []string
	// Recorded names the arguments whose values a call record may hold.
	Recorded []string
}

// Tenant is a customer of the platform.
type Tenant struct {
	ID   tenant.ID
	Name string
	// Policy is asked for every proposal and call. Its MaxRisk is low unless it
	// names another; its Revision follows from its content.
	Policy policy.Document
	// KeepInstructions says that resolve records hold the instruction itself.
	KeepInstructions bool
	CreatedAt        time.Time
	SuspendedAt      time.Time // zero: active
}

// Subscription is a tenant's right to use the platform for a time.
type Subscription struct {
	Plan     string    // a word of the operator's
	StartsAt time.Time // zero: there is no subscription
	EndsAt   time.Time // exclusive; zero: open
}

// Active reports whether s covers the time.
func (s Subscription) Active(at time.Time) bool {
	return !s.StartsAt.IsZero() && !at.Before(s.StartsAt) && (s.EndsAt.IsZero() || at.Before(s.EndsAt))
}

// Enablement lets a tenant use an app.
type Enablement struct {
	App       AppID
	Quota     Quota
	EnabledAt time.Time
}

// Quota is how many calls of an app a tenant may make in each window.
type Quota struct {
	Limit  int64 // 0: none
	Window Window
}

// Window is a calendar period in UTC.
type Window string

// The windows.
const (
	Hour  Window = "hour"
	Day   Window = "day"
	Month Window = "month"
)

// Bounds returns the window that at lies in: its start, and its end, which is
// the start of the next.
func (w Window) Bounds(at time.Time) (start, end time.Time) {
	at = at.UTC()
	year, month, day := at.Date()
	switch w {
	case Hour:
		start = at.Truncate(time.Hour)
		return start, start.Add(time.Hour)
	case Day:
		start = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return start, start.AddDate(0, 0, 1)
	default:
		start = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		return start, start.AddDate(0, 1, 0)
	}
}

// Standing is all that decides what a tenant may do now, read at one moment.
type Standing struct {
	Tenant       Tenant
	Subscription Subscription
	Enabled      []Enablement // by app
}

// TenantChange sets the fields that are not nil.
type TenantChange struct {
	Name             *string
	Policy           *policy.Document
	KeepInstructions *bool
	SuspendedAt      *time.Time // zero time: active again
}

// Failures that callers act on.
var (
	ErrTenantNotFound = fault.New(fault.NotFound, "tenant_not_found", "there is no such tenant; list them with: interlock tenant list")
	ErrTenantExists   = fault.New(fault.Conflict, "tenant_exists", "there is a tenant of that id already; choose another, or change that one")
	ErrAppNotFound    = fault.New(fault.NotFound, "app_not_found", "this server has no such app; list them with: interlock app list")
	ErrNotEnabled     = fault.New(fault.NotFound, "app_not_enabled_here", "that app is not enabled for this tenant")
)

// Store keeps tenants. Each change commits its fact with it; a change to a
// tenant that is not there returns ErrTenantNotFound. The tenant
// tenant.Default is there from the start.
type Store interface {
	// CreateTenant adds a tenant, with a subscription unless its StartsAt is
	// zero. ErrTenantExists.
	CreateTenant(ctx context.Context, t Tenant, s Subscription, f audit.Fact) error
	// Tenants lists up to limit tenants with ids behind after, by id.
	Tenants(ctx context.Context, after tenant.ID, limit int) ([]Tenant, error)
	// ChangeTenant returns the tenant after the change.
	ChangeTenant(ctx context.Context, id tenant.ID, c TenantChange, f audit.Fact) (Tenant, error)
	// SetSubscription replaces the tenant's subscription.
	SetSubscription(ctx context.Context, id tenant.ID, s Subscription, f audit.Fact) error
	// Enable adds or replaces an enablement; EnabledAt stays that of the first
	// if the app is enabled already.
	Enable(ctx context.Context, id tenant.ID, e Enablement, f audit.Fact) error
	// Disable removes one. ErrNotEnabled. What the quota's window has used
	// stays used.
	Disable(ctx context.Context, id tenant.ID, app AppID, f audit.Fact) error
	// TenantStanding reads everything about one tenant. ErrTenantNotFound.
	TenantStanding(ctx context.Context, id tenant.ID) (Standing, error)
}
