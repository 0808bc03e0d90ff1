package operators

import "time"

// AuditEntry is one fact at its place in the tenant's hash chain.
type AuditEntry struct {
	Seq     int64             `json:"seq"`
	At      time.Time         `json:"at"`
	Actor   string            `json:"actor" doc:"token:ID, host:ID or system"`
	Action  string            `json:"action"`
	Subject string            `json:"subject"`
	Detail  map[string]string `json:"detail,omitzero"`
	Hash    string            `json:"hash" doc:"hexadecimal; covers this entry and the hash of the one before"`
}

// AuditPage is one page of the chain, oldest first. Query: tenant, limit, cursor.
type AuditPage struct {
	Entries    []AuditEntry `json:"entries"`
	NextCursor string       `json:"next_cursor,omitzero"`
}

// AuditVerdict answers a verification of the whole chain.
type AuditVerdict struct {
	Valid    bool   `json:"valid"`
	Entries  int64  `json:"entries" doc:"how many were checked and are whole"`
	LastHash string `json:"last_hash,omitzero" doc:"hexadecimal; keep it elsewhere to notice a chain that was cut at its end"`
	Problem  string `json:"problem,omitzero" doc:"where the chain breaks"`
}
