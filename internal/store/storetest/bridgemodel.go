package storetest

import (
	"slices"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// bridgeModel is the plainest reading of how quotas, keys and tokens behave:
// lists that are searched, and no transaction because nothing runs at the same
// time.
type bridgeModel struct {
	calls  []*modelCall // in the order of opening
	meters map[modelMeter]int64
	spent  map[modelToken]time.Time // -> when it expires
}

type modelCall struct {
	gateway.Record
	holdsKey bool
	meter    modelMeter
}

// modelMeter names the meter of one window.
type modelMeter struct {
	tenant tenant.ID
	app    catalog.AppID
	window catalog.Window
	start  time.Time
}

type modelToken struct {
	site site.ID
	jti  string
}

func newBridgeModel() *bridgeModel {
	return &bridgeModel{meters: map[modelMeter]int64{}, spent: map[modelToken]time.Time{}}
}

func meterOf(t tenant.ID, app catalog.AppID, w catalog.Window, at time.Time) modelMeter {
	start, _ := w.Bounds(at)
	return modelMeter{t, app, w, start}
}

// holder is the call that holds the key, nil if none does.
func (m *bridgeModel) holder(t tenant.ID, s site.ID, key string) *modelCall {
	i := slices.IndexFunc(m.calls, func(c *modelCall) bool { return c.holdsKey && c.Tenant == t && c.Site == s && c.Key == key })
	if i < 0 {
		return nil
	}
	return m.calls[i]
}

func (m *bridgeModel) open(r gateway.Record, q catalog.Quota) (o gateway.Opened) {
	if before := m.holder(r.Tenant, r.Site, r.Key); before != nil {
		o.Before = &before.Record
		return o
	}
	c := &modelCall{Record: r, meter: meterOf(r.Tenant, r.App, q.Window, r.OpenedAt)}
	c.Verdict, c.Charged, c.holdsKey = gateway.Open, true, r.Key != ""
	if m.meters[c.meter] >= q.Limit {
		o.Exceeded = true
		c.Verdict, c.Charged, c.holdsKey = gateway.Exceeded, false, false
	} else {
		m.meters[c.meter]++
	}
	o.Used = m.meters[c.meter]
	m.calls = append(m.calls, c)
	return o
}

func (m *bridgeModel) close(x *modelCall, c gateway.Closing) {
	if x.Verdict != gateway.Open {
		return
	}
	if c.Refund && x.Charged {
		x.Charged = false
		if m.meters[x.meter] > 0 { // else it was pruned
			m.meters[x.meter]--
		}
	}
	x.Verdict, x.Duration = c.Verdict, c.Duration
	if c.Verdict != gateway.OK {
		x.holdsKey = false
	}
	if x.holdsKey {
		x.Reply = c.Reply
	}
}

func (m *bridgeModel) reopen(x *modelCall, at time.Time) bool {
	if x.Verdict != gateway.Interrupted || !x.holdsKey {
		return false
	}
	x.Verdict, x.Duration, x.OpenedAt = gateway.Open, 0, at
	return true
}

func (m *bridgeModel) interrupt(at time.Time) (n int) {
	for _, c := range m.calls {
		if c.Verdict == gateway.Open && c.OpenedAt.Before(at) {
			c.Verdict = gateway.Interrupted
			n++
		}
	}
	return n
}

func (m *bridgeModel) forget(at time.Time) (n int) {
	for _, c := range m.calls {
		if c.holdsKey && c.Verdict != gateway.Open && c.OpenedAt.Before(at) {
			c.holdsKey, c.Reply = false, nil
			n++
		}
	}
	return n
}

func (m *bridgeModel) prune(at time.Time) int {
	before := len(m.calls) + len(m.meters)
	m.calls = slices.DeleteFunc(m.calls, func(c *modelCall) bool { return c.Verdict != gateway.Open && c.OpenedAt.Before(at) })
	for k := range m.meters {
		if _, end := k.window.Bounds(k.start); !end.After(at) {
			delete(m.meters, k)
		}
	}
	return before - len(m.calls) - len(m.meters)
}

func (m *bridgeModel) spend(k modelToken, expires time.Time) bool {
	if _, spent := m.spent[k]; spent {
		return false
	}
	m.spent[k] = expires
	return true
}

func (m *bridgeModel) forgetTokens(at time.Time) (n int) {
	for k, expires := range m.spent {
		if expires.Before(at) {
			delete(m.spent, k)
			n++
		}
	}
	return n
}

// newest are the tenant's records as they are listed.
func (m *bridgeModel) newest(of tenant.ID) (out []gateway.Record) {
	for _, c := range slices.Backward(m.calls) {
		if c.Tenant == of {
			r := c.Record
			r.Reply = nil
			out = append(out, r)
		}
	}
	return out
}
