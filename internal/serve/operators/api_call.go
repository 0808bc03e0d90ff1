package operators

import (
	"encoding/json"
	"time"
)

// Call is one call of an app through the gateway, made or refused.
type Call struct {
	ID             string          `json:"id"`
	SiteID         string          `json:"site_id"`
	App            string          `json:"app"`
	Operation      string          `json:"operation"`
	RequestID      string          `json:"request_id"`
	IdempotencyKey string          `json:"idempotency_key,omitzero" doc:"as the site gave it: untrusted text"`
	Arguments      json.RawMessage `json:"arguments,omitzero" doc:"the values that the app marks safe to keep"`
	PolicyRevision string          `json:"policy_revision,omitzero"`
	Verdict        string          `json:"verdict" doc:"ok, open, interrupted, or the code of the refusal"`
	Charged        bool            `json:"charged" doc:"it has a unit of the quota"`
	DurationMS     int64           `json:"duration_ms,omitzero"`
	OpenedAt       time.Time       `json:"opened_at"`
}

// CallPage is one page of a tenant's calls, newest first. Query: site_id, app,
// verdict, limit, cursor.
type CallPage struct {
	Calls      []Call `json:"calls"`
	NextCursor string `json:"next_cursor,omitzero"`
}

// Resolution is what became of one instruction. Nothing was run for it.
type Resolution struct {
	ID                string    `json:"id"`
	SiteID            string    `json:"site_id"`
	RequestID         string    `json:"request_id"`
	InstructionSHA256 string    `json:"instruction_sha256" doc:"hexadecimal"`
	Instruction       string    `json:"instruction,omitzero" doc:"kept only if the tenant asked for that; untrusted text"`
	Selector          string    `json:"selector" doc:"who spoke last"`
	Capability        string    `json:"capability,omitzero" doc:"absent: there was no proposal, and reason says why"`
	App               string    `json:"app,omitzero"`
	Operation         string    `json:"operation,omitzero"`
	Reason            string    `json:"reason,omitzero" doc:"why it was not resolved; absent: it was"`
	Effect            string    `json:"effect,omitzero" doc:"the policy's verdict"`
	Rule              string    `json:"rule,omitzero"`
	PolicyRevision    string    `json:"policy_revision,omitzero"`
	DurationMS        int64     `json:"duration_ms,omitzero"`
	At                time.Time `json:"at"`
}

// ResolutionPage is one page of a tenant's resolutions, newest first. Query:
// site_id, limit, cursor.
type ResolutionPage struct {
	Resolutions []Resolution `json:"resolutions"`
	NextCursor  string       `json:"next_cursor,omitzero"`
}

// PurgeABN is the body that empties the cache of the register's answers.
type PurgeABN struct {
	ABN string `json:"abn,omitzero" maxLength:"32" doc:"only the answer about this number; left out: all"`
}

// PurgeABNReply answers it.
type PurgeABNReply struct {
	Purged int `json:"purged" doc:"answers that were forgotten"`
}
