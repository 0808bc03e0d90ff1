package operators

import (
	"time"

	"interlock/internal/usage"
)

// UsageRow is the usage of one group of calls.
type UsageRow struct {
	usage.Rollup
	Costs []Cost `json:"costs,omitzero" doc:"one a currency; none where no model of the row has a price"`
}

// Cost is money in whole micro-units of a currency.
type Cost struct {
	Currency string `json:"currency" doc:"ISO 4217"`
	Micro    int64  `json:"micro" doc:"millionths of the currency's unit"`
	AtLeast  bool   `json:"at_least,omitzero" doc:"some calls reported no counts or have no price, so the true cost is higher"`
	Rough    bool   `json:"rough,omitzero" doc:"some calls did not say what part of their input was cached; it is priced as plain input"`
}

// UsageReport answers a usage query. Query: tenant, group (day, host, task or model;
// repeatable), from and to (YYYY-MM-DD, UTC, to exclusive), host_id, task_id,
// limit.
type UsageReport struct {
	Rows []UsageRow `json:"rows"`
}

// PriceList is the price table. A PUT of a usage.Price sets one price; a
// DELETE with the queries provider and model removes one.
type PriceList struct {
	Prices []usage.Price `json:"prices"`
}

// StopRequest is the body that sets the switch that stops all decides.
type StopRequest struct {
	On     bool   `json:"on" doc:"true: refuse all decides; false: allow them again"`
	Reason string `json:"reason,omitzero" maxLength:"500" doc:"shown to the hosts that are refused"`
}

// Stop is the switch.
type Stop struct {
	On     bool      `json:"on"`
	Reason string    `json:"reason,omitzero"`
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at,omitzero"`
}
