// Package storetest is the suite that every storage engine passes: what the
// control plane's rooms may rely on, whatever keeps their records.
//
// Run opens a store of its own for each case. Cases are named as sentences and
// say which requirement they prove; then random sequences of calls are
// compared with models in memory, one for the fleet and one for the Bridge,
// which are the plainest reading of the interfaces' contracts. How many
// sequences are tried is rapid's own flag (-rapid.checks), so the same code is
// the short run and the long one.
package storetest

import (
	"fmt"
	"testing"
	"time"

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

// Store is everything that an engine implements.
type Store interface {
	fleet.Store
	task.Store
	decision.Store
	usage.Store
	access.Store
	audit.Log

	catalog.Store
	site.Store
	credential.Store
	selector.Store
	resolve.Store
	gateway.Store
}

// Harness is one empty store with its clock in the test's hands.
type Harness struct {
	Store
	// Now is the store's clock, both for leases and for records.
	Now func() time.Time
	// Advance moves it forward.
	Advance func(time.Duration)
	// Reopen closes the store and opens the same data again.
	Reopen func() Store
}

// modelRuns is how many runs of sequences go on at the same time, each as long
// as rapid's flag says.
const modelRuns = 3

// testcase is one promise.
type testcase struct {
	promise string
	holds   func(w *world)
}

// Run checks an engine. Open makes an empty store and closes it with t.
func Run(t *testing.T, open func(t testing.TB) Harness) {
	for _, area := range []struct {
		name  string
		cases []testcase
	}{
		{"enrolment and credentials", fleetCases},
		{"submitting", submitCases},
		{"claiming", claimCases},
		{"leases", leaseCases},
		{"results", resultCases},
		{"events", eventCases},
		{"decisions", decisionCases},
		{"retention", retentionCases},
		{"usage", usageCases},
		{"access and audit", auditCases},
		{"tenants", tenantCases},
		{"sites", siteCases},
		{"tokens of sites", tokenCases},
		{"sealed credentials", sealedCases},
		{"selections", selectionCases},
		{"resolutions", resolutionCases},
		{"calls", callCases},
		{"keys of calls", callKeyCases},
		{"retention of calls", callRetentionCases},
		{"restart", restartCases},
	} {
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range area.cases {
				t.Run(c.promise, func(t *testing.T) {
					t.Parallel()
					c.holds(newWorld(t, open(t)))
				})
			}
		})
	}
	for promise, compare := range map[string]func(*testing.T, func(testing.TB) Harness){
		"any sequence of calls is answered as the model says":               compareWithModel,
		"any sequence of calls of the Bridge is answered as its model says": compareWithBridgeModel,
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			for i := range modelRuns {
				t.Run(fmt.Sprint("part ", i+1), func(t *testing.T) {
					t.Parallel()
					compare(t, open)
				})
			}
		})
	}
}
