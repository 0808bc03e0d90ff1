package sqlite

import (
	"interlock/internal/access"
	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
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

	_ catalog.Store    = (*Store)(nil)
	_ site.Store       = (*Store)(nil)
	_ credential.Store = (*Store)(nil)
	_ selector.Store   = (*Store)(nil)
	_ resolve.Store    = (*Store)(nil)
	_ gateway.Store    = (*Store)(nil)
)
