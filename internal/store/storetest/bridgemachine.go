package storetest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// compareWithBridgeModel draws sequences of calls on quotas, keys and tokens
// and wants the store's answers and records to be the model's after each.
// Beside that it checks what must hold whatever the model says: a meter says
// what its records were charged, a key has one holder, and a token that was
// spent is never fresh before it is forgotten. R-BRIDGE-5, R-BRIDGE-10.
func compareWithBridgeModel(t *testing.T, open func(testing.TB) Harness) {
	rapid.Check(t, func(r *rapid.T) {
		e := &episode{TB: t}
		defer e.end()
		m := &bridgeMachine{drawing: drawing{newWorld(e, open(e)), r}, model: newBridgeModel()}
		r.Repeat(map[string]func(*rapid.T){
			"open":          m.with(m.openOne),
			"open 2":        m.with(m.openOne), // the likeliest call of all
			"open 3":        m.with(m.openOne),
			"close":         m.with(m.closeOne),
			"close 2":       m.with(m.closeOne),
			"reopen":        m.with(m.reopenOne),
			"refuse":        m.with(m.refuseOne),
			"interrupt":     m.with(m.interruptSome),
			"forget":        m.with(m.forgetSome),
			"prune":         m.with(m.pruneSome),
			"spend":         m.with(m.spendOne),
			"forget tokens": m.with(m.forgetTokens),
			"wait":          m.with(m.wait),
			"":              m.with(m.check),
		})
	})
}

// bridgeMachine is a store beside its model.
type bridgeMachine struct {
	drawing
	model *bridgeModel
}

var (
	modelTenants = []tenant.ID{tenant.Default, "another"}
	modelSites   = []site.ID{"site_1", "site_2"}
	modelApps    = []catalog.AppID{"a", "b"}
	modelWindows = []catalog.Window{catalog.Hour, catalog.Month}
	modelKeys    = []string{"", "k1", "k2"}
)

// anyCall is a call that is about to be made.
func (m *bridgeMachine) anyCall() gateway.Record {
	return m.call(func(r *gateway.Record) {
		r.Tenant = rapid.SampledFrom(modelTenants).Draw(m.T, "tenant")
		r.Site = rapid.SampledFrom(modelSites).Draw(m.T, "site")
		r.App = rapid.SampledFrom(modelApps).Draw(m.T, "app")
		r.Key = rapid.SampledFrom(modelKeys).Draw(m.T, "key")
	})
}

// anyRecord is one that there is; later ones are likelier to be open.
func (m *bridgeMachine) anyRecord() *modelCall {
	n := len(m.model.calls)
	if n == 0 {
		m.Skip("no call yet")
	}
	return m.model.calls[max(rapid.IntRange(0, n-1).Draw(m.T, "record"), rapid.IntRange(0, n-1).Draw(m.T, "or"))]
}

func (m *bridgeMachine) openOne() {
	r := m.anyCall()
	q := catalog.Quota{Limit: rapid.Int64Range(0, 4).Draw(m.T, "limit"), Window: rapid.SampledFrom(modelWindows).Draw(m.T, "window")}
	got, err := m.OpenCall(m.ctx, r, q)
	m.ok(err)
	m.equal(got, m.model.open(r, q))
}

func (m *bridgeMachine) closeOne() {
	x := m.anyRecord()
	c := gateway.Closing{Tenant: x.Tenant, ID: x.ID, Verdict: rapid.SampledFrom([]string{gateway.OK, gateway.OK, "upstream_unavailable"}).Draw(m.T, "verdict"),
		Duration: time.Millisecond, Reply: []byte(`{}`), Refund: rapid.Bool().Draw(m.T, "refund")}
	m.ok(m.CloseCall(m.ctx, c))
	m.model.close(x, c)
}

func (m *bridgeMachine) reopenOne() {
	x := m.anyRecord()
	got, err := m.ReopenCall(m.ctx, x.Tenant, x.ID, m.Now())
	m.ok(err)
	m.is("opened again", got, m.model.reopen(x, m.Now()))
}

func (m *bridgeMachine) refuseOne() {
	r := m.anyCall()
	r.Verdict = "policy_denied"
	m.ok(m.RefuseCall(m.ctx, r))
	m.model.calls = append(m.model.calls, &modelCall{Record: r})
}

// drain repeats a sweep until it finds less than it may take. Which rows each
// step takes is the store's choice; that all of them go is not.
func (m *bridgeMachine) drain(what string, sweep func(at time.Time, limit int) (int, error), model func(at time.Time) int) {
	m.Helper()
	at := m.Now().Add(-rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 24 * time.Hour}).Draw(m.T, "age"))
	limit, sum := rapid.IntRange(1, 4).Draw(m.T, "limit"), 0
	for n := limit; n == limit; sum += n {
		var err error
		n, err = sweep(at, limit)
		m.ok(err)
		m.is("within the limit", n <= limit, true)
	}
	m.is(what, sum, model(at))
}

func (m *bridgeMachine) interruptSome() {
	m.drain("interrupted", func(at time.Time, limit int) (int, error) { return m.InterruptCalls(m.ctx, at, limit) }, m.model.interrupt)
}

func (m *bridgeMachine) forgetSome() {
	m.drain("forgotten", func(at time.Time, limit int) (int, error) { return m.ForgetReplies(m.ctx, at, limit) }, m.model.forget)
}

func (m *bridgeMachine) pruneSome() {
	m.drain("pruned", func(at time.Time, limit int) (int, error) { return m.PruneCalls(m.ctx, at, limit) }, m.model.prune)
}

func (m *bridgeMachine) spendOne() {
	k := modelToken{rapid.SampledFrom(modelSites).Draw(m.T, "site"), rapid.StringMatching(`[a-c]`).Draw(m.T, "jti")}
	expires := m.Now().Add(rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(m.T, "lives"))
	got, err := m.SpendToken(m.ctx, k.site, k.jti, expires)
	m.ok(err)
	m.is("fresh", got, m.model.spend(k, expires))
}

func (m *bridgeMachine) forgetTokens() {
	m.drain("tokens forgotten", func(at time.Time, limit int) (int, error) { return m.ForgetTokens(m.ctx, at, limit) }, m.model.forgetTokens)
}

func (m *bridgeMachine) wait() {
	m.Advance(rapid.SampledFrom([]time.Duration{time.Microsecond, time.Minute, 59 * time.Minute, 13 * time.Hour, 32 * 24 * time.Hour}).Draw(m.T, "for"))
}

// check compares everything that can be read of one tenant and app.
func (m *bridgeMachine) check() {
	of, app := rapid.SampledFrom(modelTenants).Draw(m.T, "checked tenant"), rapid.SampledFrom(modelApps).Draw(m.T, "checked app")
	m.equal(m.calls(gateway.Query{Tenant: of}), m.model.newest(of))
	m.checkMeters(of, app)
	m.checkKeys(of)
}

// checkMeters: a meter says what was charged, as far as the records are there.
func (m *bridgeMachine) checkMeters(of tenant.ID, app catalog.AppID) {
	charged := map[modelMeter]int64{}
	for _, c := range m.model.calls {
		if c.Charged {
			charged[c.meter]++
		}
	}
	for _, window := range modelWindows {
		k := meterOf(of, app, window, m.Now())
		got, err := m.Meter(m.ctx, of, app, catalog.Quota{Window: window}, m.Now())
		m.ok(err)
		m.is(fmt.Sprint("used of ", k), got.Used, m.model.meters[k])
		m.is(fmt.Sprint("charged to ", k), charged[k] <= got.Used, true)
	}
}

// checkKeys: a key has the holder that the model says.
func (m *bridgeMachine) checkKeys(of tenant.ID) {
	for _, from := range modelSites {
		for _, key := range modelKeys[1:] {
			got, found, err := m.Keyed(m.ctx, of, from, key)
			m.ok(err)
			want := m.model.holder(of, from, key)
			m.is("has a holder", found, want != nil)
			if found {
				m.equal(got, want.Record)
			}
		}
	}
}
