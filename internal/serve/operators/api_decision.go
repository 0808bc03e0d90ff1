package operators

import (
	"encoding/json"
	"time"

	"interlock/internal/llm"
	"interlock/internal/tool"
)

// Decision is one decision of the log. Prompts and tools are there only where
// they were asked for; like tool and arguments they are untrusted text.
type Decision struct {
	TaskID            string          `json:"task_id"`
	Attempt           int             `json:"attempt"`
	StepIndex         int             `json:"step_index"`
	HostID            string          `json:"host_id"`
	Tool              string          `json:"tool"`
	Arguments         json.RawMessage `json:"arguments"`
	SystemPrompt      string          `json:"system_prompt,omitzero"`
	UserPrompt        string          `json:"user_prompt,omitzero"`
	Tools             []tool.Spec     `json:"tools,omitzero"`
	Screenshot        *Screenshot     `json:"screenshot,omitempty" doc:"what was kept of it; absent: there was none"`
	Usage             llm.Usage       `json:"usage"`
	Provider          string          `json:"provider"`
	Model             string          `json:"model"`
	ProviderRequestID string          `json:"provider_request_id,omitzero"`
	RequestID         string          `json:"request_id,omitzero"`
	At                time.Time       `json:"at"`
	LatencyMS         int64           `json:"latency_ms"`
}

// Screenshot proves which picture a decision saw; the picture is not kept.
type Screenshot struct {
	SHA256   string `json:"sha256" doc:"hexadecimal"`
	WidthPX  int    `json:"width_px"`
	HeightPX int    `json:"height_px"`
	Bytes    int    `json:"bytes"`
}

// DecisionPage is one page of a task's decisions, by attempt and step. Query:
// attempt (absent: all), bodies (true: with prompts and tools), limit, cursor.
type DecisionPage struct {
	Decisions  []Decision `json:"decisions"`
	NextCursor string     `json:"next_cursor,omitzero"`
}

// PurgeReply answers the purge of one task's decisions.
type PurgeReply struct {
	Decisions int `json:"decisions" doc:"how many were removed"`
}
