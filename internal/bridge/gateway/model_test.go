package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// remembered is what the model knows of a key.
type remembered struct {
	request gateway.Request
	state   string // gateway.OK, Open or Interrupted
	at      time.Time
	charged time.Time // start of the window that its unit is of
}

// model says in a few lines what the gateway promises of keys and quotas.
type model struct {
	limit, reached int64
	window         time.Time // start of the quota's
	used           int64     // of that window
	keys           map[string]*remembered
}

// answer is what a call must come to.
type answer struct {
	code     string
	replayed bool
}

// call is one whose app fails or not, and whose record is lost or not.
func (m *model) call(r gateway.Request, fails, lost bool, now time.Time) answer {
	charged, before := m.window, m.keys[r.Key]
	if r.Key != "" && before != nil {
		switch {
		case before.request.Operation != r.Operation || string(before.request.Arguments) != string(r.Arguments):
			return answer{code: "idempotency_conflict"}
		case before.state == gateway.OK:
			return answer{code: gateway.OK, replayed: true}
		case before.state == gateway.Open:
			return answer{code: "call_in_flight"}
		case r.Operation != "count_v1":
			return answer{code: "call_interrupted"}
		}
		charged = before.charged
	} else if m.used >= m.limit {
		return answer{code: gateway.Exceeded}
	} else {
		m.used++
	}
	m.reached++
	after := &remembered{request: r, at: now, state: gateway.OK, charged: charged}
	switch {
	case lost:
		after.state = gateway.Open
	case fails:
		after = nil
		if charged.Equal(m.window) {
			m.used--
		}
	}
	if r.Key != "" {
		m.keys[r.Key] = after
	}
	if fails {
		return answer{code: "upstream_unavailable"}
	}
	return answer{code: gateway.OK}
}

// sweep is what Run does at that moment.
func (m *model) sweep(now time.Time) {
	for key, k := range m.keys {
		if k == nil {
			continue
		}
		if k.state == gateway.Open && k.at.Before(now.Add(-45*time.Second)) {
			k.state = gateway.Interrupted
		}
		if k.state != gateway.Open && k.at.Before(now.Add(-24*time.Hour)) {
			delete(m.keys, key)
		}
	}
}

// R-BRIDGE-5, R-BRIDGE-10: any sequence of calls, failures, crashes and hours
// comes to what the model says.
func TestTheGatewayKeepsToItsModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := &faulty{Store: w.db}
	w.Service = w.gateway(store)
	tenants := 0
	rapid.Check(t, func(rt *rapid.T) {
		tenants++
		p := &play{world: w, store: store, who: caller, quota: catalog.Quota{Limit: rapid.Int64Range(0, 6).Draw(rt, "limit"), Window: catalog.Month}}
		p.who.Tenant = tenant.ID(fmt.Sprintf("play-%d", tenants))
		p.model = model{limit: p.quota.Limit, keys: map[string]*remembered{}}
		p.begin(t.Context())
		rt.Repeat(map[string]func(*rapid.T){
			"call": p.call,
			"wait": func(rt *rapid.T) {
				w.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 44, 46, 3600, 24 * 3600}).Draw(rt, "seconds")) * time.Second)
			},
			"sweep": func(*rapid.T) {
				w.settle()
				p.model.sweep(w.clock.Now())
			},
			"": p.check,
		})
	})
}

// play is one sequence: a tenant of its own, and what the model knows of it.
type play struct {
	*world
	store *faulty
	who   site.Caller
	quota catalog.Quota
	model model
}

func (p *play) begin(ctx context.Context) {
	p.must(p.catalog.CreateTenant(ctx, operator, catalog.NewTenant{ID: p.who.Tenant, Name: "Play", Policy: policy.Document{MaxRisk: policy.High}, Subscription: &catalog.Subscription{Plan: "basic"}}))
	p.must(nil, p.catalog.Enable(ctx, p.who.Tenant, operator, "shelf", p.quota))
	p.must(nil, p.creds.Set(ctx, p.who.Tenant, operator, "shelf", secret.New(password)))
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	p.shelf.asked, p.shelf.stock["rice"] = 0, 100_000
}

// turn begins the quota's window anew where a new one has begun.
func (p *play) turn() {
	if start, _ := p.quota.Window.Bounds(p.clock.Now()); !start.Equal(p.model.window) {
		p.model.window, p.model.used = start, 0
	}
}

func (p *play) call(rt *rapid.T) {
	r := gateway.Request{App: "shelf",
		Operation: rapid.SampledFrom([]string{"count_v1", "take_v1"}).Draw(rt, "operation"),
		Arguments: []byte(rapid.SampledFrom([]string{`{"item": "tea"}`, `{"item": "rice"}`}).Draw(rt, "arguments")),
		Key:       rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "key")}
	fails, lost := rapid.Bool().Draw(rt, "fails"), rapid.Bool().Draw(rt, "its record is lost")
	p.shelf.meet(func(context.Context) error {
		if !fails {
			return nil
		}
		return fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed")
	})
	p.store.set(func(f *faulty) { f.lose = lost })
	reply, err := p.Call(p.t.Context(), p.who, r)
	got := answer{made{reply, err}.code(), reply.Meta.Replayed}
	if want := p.model.call(r, fails, lost, p.clock.Now()); got != want {
		rt.Fatalf("%s %s with key %q: got %+v (%v), want %+v", r.Operation, r.Arguments, r.Key, got, err, want)
	}
}

func (p *play) check(rt *rapid.T) {
	p.turn()
	m, err := p.db.Meter(p.t.Context(), p.who.Tenant, "shelf", p.quota, p.clock.Now())
	if err != nil {
		rt.Fatal(err)
	}
	if m.Used != p.model.used || m.Used > p.quota.Limit {
		rt.Fatalf("used is %d, want %d of %d", m.Used, p.model.used, p.quota.Limit)
	}
	if reached := int64(p.shelf.times()); reached != p.model.reached {
		rt.Fatalf("%d calls reached the app, want %d", reached, p.model.reached)
	}
}
