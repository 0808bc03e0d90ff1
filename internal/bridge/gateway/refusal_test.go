package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/secret"
)

var errDisk = errors.New("the disk is gone")

// broken is a call that breaks checks.
type broken struct {
	*world
	store   *faulty
	caller  site.Caller
	request gateway.Request
}

// checks are all that the gateway makes, in order, each with what breaks it
// alone.
var checks = []struct {
	code    string
	breaks  func(*broken)
	retried time.Duration // what the refusal says of when to try again
	unseen  bool          // the refusal can't be in the log
}{
	{code: "tenant_suspended", breaks: func(b *broken) { b.must(b.catalog.Suspend(b.t.Context(), acme, operator)) }},
	{code: "subscription_inactive", breaks: func(b *broken) { b.must(nil, b.catalog.EndSubscription(b.t.Context(), acme, operator)) }},
	{code: "app_not_enabled", breaks: func(b *broken) { b.must(nil, b.catalog.Disable(b.t.Context(), acme, operator, "shelf")) }},
	{code: "unknown_operation", breaks: func(b *broken) { b.request.Operation = "count_v2" }},
	{code: "insufficient_scope", breaks: func(b *broken) { b.caller.Scopes = []string{"app:shelf:burn_v11", "platform:agent:invoke"} }},
	{code: "idempotency_conflict", breaks: func(b *broken) { b.request.Key = "used" }},
	{code: "invalid_arguments", breaks: func(b *broken) { b.request.Arguments = []byte(`{"item": 7}`) }},
	{code: "policy_denied", breaks: (*broken).forbid},
	{code: "confirmation_required", breaks: func(b *broken) { b.request.Operation = "burn_v1" }},
	{code: "log_unavailable", retried: time.Second, unseen: true, breaks: func(b *broken) {
		b.store.set(func(f *faulty) {
			f.open = func(context.Context, gateway.Record, catalog.Quota) (gateway.Opened, error) {
				return gateway.Opened{}, errDisk
			}
		})
	}},
	{code: "quota_exceeded", retried: 12 * time.Hour, breaks: func(b *broken) {
		// To change the quota of a disabled app would enable it.
		if _, enabled := b.standing().Enablement("shelf"); enabled {
			b.quota(0)
		}
	}},
	{code: "credential_missing", breaks: func(b *broken) { b.must(nil, b.creds.Delete(b.t.Context(), acme, operator, "shelf")) }},
	{code: "upstream_unavailable", retried: time.Minute, breaks: func(b *broken) {
		b.shelf.meet(func(context.Context) error {
			return fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed").Retry(time.Minute)
		})
	}},
}

func (b *broken) standing() catalog.Standing {
	b.t.Helper()
	st, err := b.catalog.Standing(b.t.Context(), acme)
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

// R-BRIDGE-5: each refusal stands before all that come later.
func TestTheGatewayRefusesByItselfInOrder(t *testing.T) {
	t.Parallel()
	for i, first := range checks {
		t.Run(first.code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := &broken{world: w, store: &faulty{Store: w.db}, caller: caller, request: take("fresh")}
			w.Service = w.gateway(b.store)
			w.expect(count("used"), gateway.OK)
			for later := len(checks) - 1; later >= i; later-- {
				checks[later].breaks(b)
			}
			asked := w.shelf.times()

			reply, err := w.Call(t.Context(), b.caller, b.request)
			m := made{reply, err}
			require(t, "the refusal", m.code(), first.code)
			require(t, "retryable", fault.Of(err).Retryable, first.retried > 0)
			require(t, "to be tried again after", fault.Of(err).RetryAfter, first.retried)
			require(t, "used of the quota", w.used(), 1)
			require(t, "result", string(reply.Result), "")
			if reply.Meta.Tenant != acme || reply.Meta.App != "shelf" || reply.Meta.Operation != b.request.Operation || reply.Meta.Replayed {
				t.Errorf("meta is %+v", reply.Meta)
			}
			if first.code != "upstream_unavailable" {
				require(t, "calls that reached the app", w.shelf.times(), asked)
			}
			w.loggedAs(b, first.code, first.unseen)
		})
	}
}

// loggedAs requires that the last record is of the refusal.
func (w *world) loggedAs(b *broken, code string, unseen bool) {
	w.t.Helper()
	r := w.newest()
	if unseen {
		require(w.t, "newest record", r.Verdict, gateway.OK)
		return
	}
	if r.Verdict != code || r.Tenant != acme || r.Site != caller.Site || r.Operation != b.request.Operation || r.Key != b.request.Key || r.Charged || r.RequestID != "req-1" {
		w.t.Errorf("recorded as %+v", r)
	}
}

// R-BRIDGE-5
func TestWithoutABrokenCheckTheCallIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.expect(take(""), gateway.OK)
	require(t, "result", string(m.Result), `{"item":"tea","left":99999}`)
	want := gateway.Meter{Quota: catalog.Quota{Limit: 1000, Window: catalog.Day}, Used: 1, ResetsAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	if m.Meta.Meter == nil || *m.Meta.Meter != want || m.Meta.Meter.Remaining() != 999 {
		t.Errorf("the meter is %+v, want %+v", m.Meta.Meter, want)
	}
	if r := w.newest(); r.Verdict != gateway.OK || !r.Charged || string(r.Arguments) != `{"item":"tea"}` || r.Revision != w.revision() {
		t.Errorf("recorded as %+v", r)
	}
}

func (w *world) revision() string {
	w.t.Helper()
	st, err := w.catalog.Standing(w.t.Context(), acme)
	if err != nil {
		w.t.Fatal(err)
	}
	return st.Tenant.Policy.Revision
}

// R-BRIDGE-5
func TestVariantsOfRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(*broken)
		code   string
	}{
		"an app that there is not":                        {func(b *broken) { b.request.App = "moon" }, "app_not_enabled"},
		"an app named by what no app can be":              {func(b *broken) { b.request.App = "../" + canary }, "app_not_enabled"},
		"an operation named by what none can be":          {func(b *broken) { b.request.Operation = canary }, "unknown_operation"},
		"no scope at all":                                 {func(b *broken) { b.caller.Scopes = nil }, "insufficient_scope"},
		"the scope of another operation":                  {func(b *broken) { b.caller.Scopes = []string{"app:shelf:count_v1"} }, "insufficient_scope"},
		"a subscription that has not started":             {func(b *broken) { b.subscribe(time.Hour, 2*time.Hour) }, "subscription_inactive"},
		"a subscription that is over":                     {func(b *broken) { b.subscribe(-2*time.Hour, -time.Hour) }, "subscription_inactive"},
		"a key with a line break":                         {func(b *broken) { b.request.Key = "a\n" + canary }, "invalid_idempotency_key"},
		"a key of 201 characters":                         {func(b *broken) { b.request.Key = strings.Repeat("k", 201) }, "invalid_idempotency_key"},
		"a key used with another operation":               {func(b *broken) { b.request.Key, b.request.Arguments = "used", count("").Arguments }, "idempotency_conflict"},
		"arguments that are no JSON":                      {func(b *broken) { b.request.Arguments = []byte(`item=tea`) }, "invalid_arguments"},
		"no arguments":                                    {func(b *broken) { b.request.Arguments = nil }, "invalid_arguments"},
		"an argument that is not declared":                {func(b *broken) { b.request.Arguments = []byte(`{"item": "tea", "key": "` + canary + `"}`) }, "invalid_arguments"},
		"arguments that the app itself refuses":           {func(b *broken) { b.request.Arguments = []byte(`{"item": "unicorn"}`) }, "invalid_arguments"},
		"a risk beyond the policy's ceiling":              {func(b *broken) { b.rule(policy.Document{MaxRisk: policy.Low}) }, "policy_denied"},
		"an app that the policy does not name":            {func(b *broken) { b.rule(policy.Document{AllowedPackages: []string{"tides"}}) }, "policy_denied"},
		"a policy that does not let anyone be asked":      {func(b *broken) { b.request.Operation = "burn_v1"; b.rule(policy.Document{MaxRisk: policy.Low}) }, "policy_denied"},
		"no keyset at all":                                {func(b *broken) { b.creds = nil; b.Service = b.gateway(b.store) }, "credential_missing"},
		"another password":                                {func(b *broken) { b.lock() }, "credential_rejected"},
		"an app that panics as it looks at the arguments": {func(b *broken) { b.request.Arguments = []byte(`{"item": "ghost"}`) }, "internal"},
		"an app that fails at the arguments":              {func(b *broken) { b.request.Arguments = []byte(`{"item": "riddle"}`) }, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := &broken{world: w, store: &faulty{Store: w.db}, caller: caller, request: take("fresh")}
			w.expect(count("used"), gateway.OK)
			c.breaks(b)
			reply, err := w.Call(t.Context(), b.caller, b.request)
			require(t, "the refusal", made{reply, err}.code(), c.code)
			require(t, "used of the quota", w.used(), 1)
			require(t, "recorded as", w.newest().Verdict, c.code)
			record, encodeErr := json.Marshal(w.newest())
			if encodeErr != nil {
				t.Fatal(encodeErr)
			}
			for where, text := range map[string]string{"the refusal": err.Error(), "its record": string(record), "the log": w.log.String(), "meta": string(reply.Meta.App) + reply.Meta.Operation} {
				if strings.Contains(text, canary) {
					t.Errorf("%s repeats what it must not: %s", where, text)
				}
			}
		})
	}
}

func (b *broken) subscribe(from, to time.Duration) {
	b.t.Helper()
	now := b.clock.Now()
	b.must(b.catalog.Subscribe(b.t.Context(), acme, operator, catalog.Subscription{Plan: "basic", StartsAt: now.Add(from), EndsAt: now.Add(to)}))
}

func (b *broken) rule(doc policy.Document) {
	b.t.Helper()
	b.must(b.catalog.ChangeTenant(b.t.Context(), acme, operator, catalog.TenantChange{Policy: &doc}))
}

// lock gives acme a password that the shelf does not take.
func (b *broken) lock() {
	b.t.Helper()
	b.must(nil, b.creds.Set(b.t.Context(), acme, operator, "shelf", secret.New("open barley")))
}

// R-BRIDGE-5: an enablement outlives its app, as on a server that was built
// without it.
func TestAnAppThatIsNotPublishedAnyMoreIsNotEnabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bare, err := catalog.New(w.db, nil, catalog.Config{Now: w.clock.Now})
	w.must(nil, err)
	w.Service, err = gateway.New(w.db, bare, nil, nil, gateway.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	w.must(nil, err)
	w.expect(count(""), "app_not_enabled")
}

// R-BRIDGE-5
func TestARefusalStandsAlsoIfItCanNotBeRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Service = w.gateway(&faulty{Store: w.db, refuse: errDisk})
	r := count("")
	r.Arguments = nil
	w.expect(r, "invalid_arguments")
	require(t, "records", len(w.records("")), 0)
}

// R-BRIDGE-5
func TestAStoreThatCanNotBeReadRefusesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	if m := w.call(count("")); m.err == nil || m.Result != nil || w.shelf.times() != 0 {
		t.Errorf("got %+v", m)
	}
}

// forbid lets no tool of the shelf be used; permit lets all.
func (b *broken) forbid() {
	b.t.Helper()
	b.rule(policy.Document{AllowedTools: []string{"shelf__none"}})
}

func (b *broken) permit() {
	b.t.Helper()
	b.rule(policy.Document{})
}
