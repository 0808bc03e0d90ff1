package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/llm"
	"interlock/internal/tenant"
)

// compareWithModel draws sequences of calls and wants the store's answers and
// records to be the model's after each. Beside that it checks what must hold
// whatever the model says: one live attempt a task, one holder a device, a
// terminal state that stays, gapless steps, usage that is the sum of the
// calls, and a chain of facts that verifies.
func compareWithModel(t *testing.T, open func(testing.TB) Harness) {
	rapid.Check(t, func(r *rapid.T) {
		e := &episode{TB: t}
		defer e.end()
		h := open(e)
		m := &machine{drawing: drawing{newWorld(e, h), r}, model: newModel(h.Now()), ended: map[task.ID]task.State{}}
		r.Repeat(map[string]func(*rapid.T){
			"submit":    m.with(m.submitOne),
			"claim":     m.with(m.claimSome),
			"ack":       m.with(m.ackOne),
			"renew":     m.with(m.renewSome),
			"act":       m.with(m.actOne),
			"record":    m.with(m.recordOne),
			"record 2":  m.with(m.recordOne), // the likeliest call of all
			"finish":    m.with(m.finishOne),
			"release":   m.with(m.releaseOne),
			"take back": m.with(m.takeBackOne),
			"cancel":    m.with(m.cancelOne),
			"reap":      m.with(m.reapSome),
			"fail host": m.with(m.failHost),
			"prune":     m.with(m.pruneSome),
			"purge":     m.with(m.purgeOne),
			"wait":      m.with(m.wait),
			"":          m.with(m.check),
		})
		m.checkChain()
	})
}

// machine is a store beside its model.
type machine struct {
	drawing
	model *model
	ended map[task.ID]task.State
	again []task.ClaimRequest // claims that were made
}

var (
	modelHosts   = []fleet.HostID{"h1", "h2"}
	modelDevices = []string{"p1", "p2"}
)

func (m *machine) submitOne() {
	if len(m.model.tasks) >= 12 {
		m.Skip("enough tasks")
	}
	k := task.Task{ID: newID(), Tenant: tenant.Default, State: task.Queued, Spec: spec(func(s *task.Spec) {
		s.Priority = rapid.IntRange(4, 6).Draw(m.T, "priority")
		s.MaxAttempts = rapid.IntRange(1, 3).Draw(m.T, "max attempts")
		s.Repeatable = rapid.Bool().Draw(m.T, "repeatable")
		s.Selector.Device = rapid.SampledFrom([]string{"", "", "p1"}).Draw(m.T, "device")
		if rapid.IntRange(0, 3).Draw(m.T, "later") == 0 {
			s.NotBefore = m.Now().Add(30 * time.Second)
		}
		if rapid.IntRange(0, 3).Draw(m.T, "expires") == 0 {
			s.ExpiresAt = m.Now().Add(2 * time.Minute)
		}
	})}
	_, _, err := m.Submit(m.ctx, k, string(k.ID), [32]byte{}, m.fact("task.submit"))
	m.ok(err)
	m.model.submit(k)
}

func (m *machine) claimSome() {
	if len(m.again) > 0 && rapid.IntRange(0, 4).Draw(m.T, "repeat") == 0 {
		m.repeatClaim(rapid.SampledFrom(m.again).Draw(m.T, "claim"))
		return
	}
	r := wants(rapid.SampledFrom(modelHosts).Draw(m.T, "host"), rapid.IntRange(0, 2).Draw(m.T, "max"),
		rapid.SliceOfNDistinct(rapid.SampledFrom(modelDevices), 1, 2, rapid.ID[string]).Draw(m.T, "devices")...)
	got := m.claims(r)[0]
	want := m.model.claim(r)
	m.equal(got, want)
	if len(want) > 0 {
		m.again = append(m.again, r)
	}
}

// repeatClaim asks for a lost answer: what the host still holds of it, or, once
// it is too old, nothing of it under a key that is new again.
func (m *machine) repeatClaim(r task.ClaimRequest) {
	r.Max = 0
	for _, k := range m.claims(r)[0] {
		held := m.model.find(k.ID)
		m.is("state of a replayed task", held.State.Held(), true)
		m.equal(k, held.Task)
	}
}

// anyFence is of an attempt that there is or was, sometimes of a wrong host.
func (m *machine) anyFence() task.Fence {
	all := m.model.fences()
	if len(all) == 0 {
		m.Skip("nothing was claimed yet")
	}
	// Later ones are likelier to be alive.
	f := all[max(rapid.IntRange(0, len(all)-1).Draw(m.T, "attempt"), rapid.IntRange(0, len(all)-1).Draw(m.T, "or"))]
	if rapid.IntRange(0, 9).Draw(m.T, "foreign") == 0 {
		f.Host = "h3"
	}
	return f
}

func (m *machine) anyTask() task.ID {
	if len(m.model.tasks) == 0 {
		m.Skip("no task yet")
	}
	return rapid.SampledFrom(m.model.tasks).Draw(m.T, "task").ID
}

func (m *machine) ackOne() {
	f := m.anyFence()
	got, err := m.Ack(m.ctx, timing, f)
	want, wantErr := m.model.ack(f)
	if !m.sameError(err, wantErr) {
		m.is("cancel", got, want)
	}
}

func (m *machine) renewSome() {
	fs := []task.Fence{m.anyFence(), m.anyFence()}
	got, err := m.Renew(m.ctx, timing, fs)
	m.ok(err)
	m.equal(got, []task.Renewal{m.model.renew(fs[0]), m.model.renew(fs[1])})
}

func (m *machine) actOne() {
	f, seq := m.anyFence(), rapid.IntRange(0, 1).Draw(m.T, "seq")
	k, fenced := m.model.fenced(f)
	if fenced == nil && seq > k.attempt(f.Attempt).events {
		_, _, err := m.AppendEvents(m.ctx, f, []task.Event{{Seq: seq, Kind: task.EventActing, At: m.Now()}})
		m.is("a gap is refused", err != nil, true)
		return
	}
	got, _, err := m.AppendEvents(m.ctx, f, []task.Event{{Seq: seq, Kind: task.EventActing, At: m.Now()}})
	want, wantErr := m.model.act(f, seq)
	if !m.sameError(err, wantErr) {
		m.is("next", got, want)
	}
}

func (m *machine) recordOne() {
	f := m.anyFence()
	if k := m.model.find(f.Task); !k.PrunedAt.IsZero() {
		m.Skip("a pruned key is forgotten")
	}
	r := m.row(f, rapid.StringMatching(`[a-d]`).Draw(m.T, "key"))
	if rapid.Bool().Draw(m.T, "unreported") {
		r.Usage.Input = llm.Count{}
	}
	got, err := m.Record(m.ctx, r, entry(r))
	want, wantErr := m.model.record(r)
	if !m.sameError(err, wantErr) {
		m.is("step", got, want)
	}
}

func (m *machine) finishOne() {
	f := m.anyFence()
	end := rapid.SampledFrom([]struct {
		state task.State
		name  string
	}{{task.Succeeded, "succeeded"}, {task.Failed, "stuck"}, {task.Queued, "device_lost"}, {task.Cancelled, "cancelled"}}).Draw(m.T, "end")
	fin := result(f, end.state, end.name)
	fin.NextRun = rapid.SampledFrom([]time.Duration{0, 20 * time.Second}).Draw(m.T, "next run")
	_, replayed, err := m.Finish(m.ctx, fin)
	want, wantErr := m.model.finish(fin)
	if !m.sameError(err, wantErr) {
		m.is("replayed", replayed, want)
	}
}

func (m *machine) releaseOne() {
	f, acted := m.anyFence(), rapid.Bool().Draw(m.T, "acted")
	_, err := m.Release(m.ctx, f, acted, "draining")
	m.sameError(err, m.model.release(f, acted))
}

func (m *machine) takeBackOne() {
	f := m.anyFence()
	got, err := m.TakeBack(m.ctx, timing, f)
	m.ok(err)
	m.equal(got, m.model.takeBack(f))
}

func (m *machine) cancelOne() {
	id := m.anyTask()
	k := m.model.find(id)
	f := m.unkept("task.cancel")
	if !k.State.Terminal() && k.State != task.Cancelling {
		m.facts++
	}
	_, err := m.Cancel(m.ctx, timing, tenant.Default, id, "stop", f)
	m.sameError(err, m.model.cancel(id, "stop"))
}

// reapSome takes a page. Which of the due tasks are in it is the store's
// choice; how each is moved is not.
func (m *machine) reapSome() {
	limit := rapid.IntRange(1, 4).Draw(m.T, "limit")
	due := m.model.reapable()
	got, err := m.Reap(m.ctx, timing, limit)
	m.ok(err)
	m.is("reaped", len(got), min(limit, len(due)))
	for _, r := range got {
		i := slices.IndexFunc(due, func(k *modelTask) bool { return k.ID == r.Task })
		m.is("due, and moved once", i >= 0, true)
		k := due[i]
		due = slices.Delete(due, i, i+1)
		m.is("attempt", r.Attempt, k.Attempt)
		m.model.reap(k, false)
		m.is("state", r.State, k.State)
	}
}

func (m *machine) failHost() {
	host := rapid.SampledFrom(modelHosts).Draw(m.T, "host")
	got, err := m.FailHost(m.ctx, timing, host)
	m.ok(err)
	n := 0
	for _, k := range m.model.tasks {
		if k.State.Held() && k.Host == host {
			m.model.reap(k, true)
			n++
		}
	}
	m.is("reaped", len(got), n)
}

func (m *machine) pruneSome() {
	before := m.Now().Add(-rapid.SampledFrom([]time.Duration{0, time.Minute, 5 * time.Minute}).Draw(m.T, "window"))
	m.is("pruned", m.pruneAll(before, rapid.IntRange(1, 3).Draw(m.T, "limit")).Decisions, m.model.prune(before))
}

func (m *machine) purgeOne() {
	id := m.anyTask()
	k := m.model.find(id)
	f := m.unkept("decision.purge")
	p, err := m.Purge(m.ctx, tenant.Default, id, f)
	if !k.State.Terminal() {
		m.sameError(err, task.ErrNotTerminal)
		return
	}
	m.facts++
	m.ok(err)
	if k.PrunedAt.IsZero() {
		k.PrunedAt = m.Now()
	}
	m.is("purged", p.Decisions, k.forget())
}

func (m *machine) wait() {
	d := rapid.SampledFrom([]time.Duration{time.Second, 9 * time.Second, 11 * time.Second, 61 * time.Second, 5 * time.Minute}).Draw(m.T, "for")
	m.Advance(d)
	m.model.now = m.Now()
}

// check compares everything that can be read.
func (m *machine) check() {
	tasks, err := m.Tasks(m.ctx, task.Filter{Tenant: tenant.Default, Limit: 100})
	m.ok(err)
	m.equal(tasks, m.model.newestFirst())
	counts, err := m.Count(m.ctx, tenant.Default)
	m.ok(err)
	m.equal(counts, m.model.counts())
	next, err := m.NextRun(m.ctx)
	m.ok(err)
	m.equal(next, m.model.nextRun())
	m.checkHolders(tasks)
	rows := int64(0)
	for _, k := range m.model.tasks {
		rows += m.checkTask(k)
	}
	m.is("rows counted", m.size().Rows, rows)
}

// checkHolders: a device has one holder, and a terminal state stays (I1 to I3).
func (m *machine) checkHolders(tasks []task.Task) {
	holder := map[modelDevice]task.ID{}
	for _, k := range tasks {
		if state, was := m.ended[k.ID]; was {
			m.is("terminal state", k.State, state)
		}
		if k.State.Terminal() {
			m.ended[k.ID] = k.State
		}
		if d := (modelDevice{k.Host, k.Device}); k.State.Held() {
			m.is(fmt.Sprint("another holder of ", d), holder[d], task.ID(""))
			holder[d] = k.ID
		}
	}
}

// checkTask: steps are gapless and usage is the sum of the calls (I4 to I8).
func (m *machine) checkTask(k *modelTask) (rows int64) {
	found, err := m.Decisions(m.ctx, decision.Query{Tenant: tenant.Default, Task: k.ID, AfterStep: -1, Limit: 100, Bodies: true})
	m.ok(err)
	m.gapless(found)
	var got []modelDecision
	for _, r := range found {
		got = append(got, modelDecision{r.Attempt, r.StepIndex, r.Key})
		m.is("prompt", r.UserPrompt, m.row(task.Fence{}, r.Key).UserPrompt)
	}
	m.equal(got, k.stored())
	have, want := m.usageOf(k.ID), m.model.usage[k.ID]
	m.is("calls", have.Calls, want.Calls)
	m.is("input", have.Input, want.Input)
	return int64(len(found))
}

func (m *machine) checkChain() { m.is("facts", len(m.chain()), m.facts) }
