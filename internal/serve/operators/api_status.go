package operators

import "time"

// Status is how the control plane stands.
type Status struct {
	Version string         `json:"version"`
	Now     time.Time      `json:"now"`
	Tasks   map[string]int `json:"tasks" doc:"how many tasks are in each state"`
	Hosts   map[string]int `json:"hosts" doc:"how many hosts have each status"`
	Log     LogStatus      `json:"decision_log"`
	Stop    Stop           `json:"stop"`
	Planner PlannerStatus  `json:"planner"`
}

// LogStatus is how much the decision log holds and what retention will do.
type LogStatus struct {
	Decisions        int64     `json:"decisions"`
	Bytes            int64     `json:"bytes" doc:"stored, compressed"`
	MaxBytes         int64     `json:"max_bytes" doc:"0: no budget"`
	RetentionSeconds int64     `json:"retention_seconds" doc:"how long decisions stay after their task ended"`
	NextPruneAt      time.Time `json:"next_prune_at,omitzero" doc:"when the next decisions are due to go; absent: none are"`
}

// PlannerStatus is what answers decides.
type PlannerStatus struct {
	Configured bool   `json:"configured"`
	Provider   string `json:"provider,omitzero"`
	Model      string `json:"model,omitzero"`
	InFlight   int    `json:"in_flight"`
	Decides    int64  `json:"decides" doc:"decides received since the start, whatever became of them"`
}
