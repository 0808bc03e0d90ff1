// Package usage meters tokens and money, and holds the brakes: hard caps and
// the one switch that stops all decides.
//
// Every provider call that ended, decided or not, is one Entry; the store adds
// it to a rollup in the transaction that records the decision. A count that
// the provider did not report is unknown and stays apart from zero: a rollup
// says how many calls its sums don't cover. Prices are a table that an
// operator edits; money is whole micro-units of a currency.
package usage

import (
	"context"
	"time"

	"interlock/internal/audit"
	"interlock/internal/llm"
	"interlock/internal/tenant"
)

// Entry is what one provider call used.
type Entry struct {
	Tenant   tenant.ID
	Host     string
	Task     string
	Attempt  int
	Provider string
	Model    string
	At       time.Time
	Usage    llm.Usage
	Reason   llm.Reason // "" for a decision, else why there was none
}

// Sum adds up one kind of count: Total over the calls that reported it, and
// how many calls did not.
type Sum struct {
	Total   int64 `json:"total"`
	Unknown int64 `json:"unknown_calls"`
}

// Rollup is the usage of one group of calls. The fields that the query did not
// group by are empty.
type Rollup struct {
	Day      string `json:"day,omitzero"` // YYYY-MM-DD, UTC
	Host     string `json:"host_id,omitzero"`
	Task     string `json:"task_id,omitzero"`
	Provider string `json:"provider,omitzero"`
	Model    string `json:"model,omitzero"`

	Calls       int64 `json:"calls"`
	Failed      int64 `json:"failed_calls"`
	Input       Sum   `json:"input_tokens"`
	CachedInput Sum   `json:"cached_input_tokens"`
	CacheWrite  Sum   `json:"cache_write_tokens"`
	Output      Sum   `json:"output_tokens"`
	Reasoning   Sum   `json:"reasoning_tokens"`
}

// Group is one of the columns that a query groups by.
type Group string

// The groups.
const (
	ByDay   Group = "day"
	ByHost  Group = "host"
	ByTask  Group = "task"
	ByModel Group = "model" // provider and model
)

// Query selects and groups usage of one tenant; zero times and empty ids don't
// restrict.
type Query struct {
	Tenant   tenant.ID
	From, To time.Time // days, To exclusive
	Host     string
	Task     string
	Groups   []Group
	Limit    int
}

// Price is what a million tokens of a model cost, in micro-units of Currency.
// Model may end in '*' to cover every model with that prefix.
type Price struct {
	Provider    string `json:"provider"`
	Model       string `json:"model"`
	Currency    string `json:"currency"` // ISO 4217
	Input       int64  `json:"input_micro_per_million"`
	CachedInput int64  `json:"cached_input_micro_per_million"`
	CacheWrite  int64  `json:"cache_write_micro_per_million"`
	Output      int64  `json:"output_micro_per_million"`
}

// Stop is the switch that stops all decides of a tenant.
type Stop struct {
	On     bool      `json:"on"`
	Reason string    `json:"reason,omitzero"`
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at,omitzero"`
}

// Store keeps usage. RecordDecision and MeterFailure of the decision store
// write the entries; this one reads them, and keeps prices and the switch.
type Store interface {
	Usage(ctx context.Context, q Query) ([]Rollup, error)
	Prices(ctx context.Context, t tenant.ID) ([]Price, error)
	SetPrice(ctx context.Context, t tenant.ID, p Price, f audit.Fact) error
	DeletePrice(ctx context.Context, t tenant.ID, provider, model string, f audit.Fact) error // fault NotFound
	Stopped(ctx context.Context, t tenant.ID) (Stop, error)
	SetStop(ctx context.Context, t tenant.ID, s Stop, f audit.Fact) error
}
