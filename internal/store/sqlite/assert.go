package sqlite

import (
	"interlock/internal/access"
	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/usage"
)

// What the rooms ask of a store.
var (
	_ fleet.Store    = (*Store)(nil)
	_ task.Store     = (*Store)(nil)
	_ decision.Store = (*Store)(nil)
	_ usage.Store    = (*Store)(nil)
	_ access.Store   = (*Store)(nil)
	_ audit.Log      = (*Store)(nil)
)
