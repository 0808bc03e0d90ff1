// Package selector turns an instruction into at most one proposed call of what
// the tenant's catalog offers. It runs nothing, and nobody trusts it: what it
// proposes is matched with the catalog, validated and judged again.
//
// The deterministic selector goes first, always. A model is asked only where
// that one found nothing that looks like an answer; an instruction that it
// found ambiguous or wrong stays refused. Calls of a model are capped a tenant
// and day, stopped by the stop switch, and metered, failures too.
package selector

import (
	"context"
	"encoding/json"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// MaxInstruction is the longest instruction in bytes of UTF-8.
const MaxInstruction = 4096

// ToolSelector proposes. An error is for what failed, such as the store; to
// have found nothing is an answer: a Proposal with a Reason.
type ToolSelector interface {
	Select(ctx context.Context, r Request) (Proposal, error)
}

// Request is what a proposal is made from.
type Request struct {
	Tenant      tenant.ID
	Site        site.ID
	Instruction string // valid UTF-8, at most MaxInstruction bytes
	Offers      []catalog.Offer
}

// Proposal is one call, or the reason why there is none.
type Proposal struct {
	Selector   string // which one spoke: "deterministic_v1", "openai", "anthropic"
	Capability string // "": none, and Reason says why
	Arguments  json.RawMessage
	Reason     Reason
}

// Reason says why there is no proposal: a closed list, part of the protocol.
type Reason string

// The reasons.
const (
	NoMatch         Reason = "no_match"             // nothing in the instruction is what an enabled tool takes
	Ambiguous       Reason = "ambiguous"            // it names several different things
	InvalidChecksum Reason = "invalid_checksum"     // it has a number of the right shape that can't be one
	NotOffered      Reason = "not_offered"          // what it asks for is not enabled for the tenant
	ModelDeclined   Reason = "model_declined"       // the model proposed nothing
	ModelFailed     Reason = "selector_unavailable" // the model could not be asked, or what it said can't be used
	ModelCapped     Reason = "selector_capped"      // the tenant's calls of the model for today are used up, or all are stopped
	BadArguments    Reason = "invalid_arguments"    // the proposed arguments are not what the tool takes
	NotVerbatim     Reason = "not_in_instruction"   // the proposal holds a value that the instruction doesn't
	PolicyDenied    Reason = "policy_denied"        // the tenant's policy refuses the proposal
)

// Store holds the model's calls to their cap and meters them.
type Store interface {
	// ReserveSelection takes one of the tenant's calls of that day (UTC) if
	// fewer than cap are taken, in one statement.
	ReserveSelection(ctx context.Context, t tenant.ID, day time.Time, cap int64) (bool, error)
	// MeterSelection adds the usage of a call that ended.
	MeterSelection(ctx context.Context, e usage.Entry) error
	// Stopped reads the switch that stops all decides of the tenant.
	Stopped(ctx context.Context, t tenant.ID) (usage.Stop, error)
}
