package storetest

import (
	"fmt"
	"sync"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

var submitCases = []testcase{
	{"a task comes back as it was submitted", func(w *world) { // R-CLOUD-10
		s := task.Spec{Goal: "turn on dark mode \u2713", Priority: 9, Repeatable: true, MaxAttempts: 2,
			Selector: task.Selector{Host: "h", Device: "d", Kind: "sim", Labels: map[string]string{"b": "2", "a": "1"}},
			Budgets:  task.Budgets{Steps: 9, WallTime: 90 * time.Second, Tokens: 1234},
			AppLock:  []string{"com.example.a"}, Policy: policy.Document{Revision: "r1", AllowedTools: []string{"tap"}, MaxRisk: policy.Medium},
			NotBefore: w.Now().Add(time.Hour), ExpiresAt: w.Now().Add(2 * time.Hour), Labels: map[string]string{"team": "red"}}
		k := task.Task{ID: newID(), Tenant: tenant.Default, Spec: s, State: task.Queued, RetryOf: newID(), CreatedAt: w.Now()}
		got, replayed, err := w.Submit(w.ctx, k, "", [32]byte{}, w.fact("task.submit"))
		w.ok(err)
		w.is("replayed", replayed, false)
		k.NextRun, k.CreatedAt, k.UpdatedAt = s.NotBefore, w.Now(), w.Now()
		w.equal(got, k)
		w.equal(w.read(k.ID), k)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"the same key again returns the first task, and another body is refused", func(w *world) {
		k := task.Task{ID: newID(), Tenant: tenant.Default, Spec: spec(), State: task.Queued}
		first, _, err := w.Submit(w.ctx, k, "key", [32]byte{1}, w.fact("task.submit"))
		w.ok(err)
		k.ID = newID()
		again, replayed, err := w.Submit(w.ctx, k, "key", [32]byte{1}, w.unkept("task.submit"))
		w.ok(err)
		w.is("replayed", replayed, true)
		w.equal(again, first)
		again, found, err := w.Submitted(w.ctx, tenant.Default, "key", [32]byte{1})
		w.ok(err)
		w.is("found", found, true)
		w.equal(again, first)
		_, _, err = w.Submit(w.ctx, k, "key", [32]byte{2}, w.unkept("task.submit"))
		w.fails(err, task.ErrKeyReused)
		_, _, err = w.Submitted(w.ctx, tenant.Default, "key", [32]byte{2})
		w.fails(err, task.ErrKeyReused)
		for _, unused := range []struct {
			of  tenant.ID
			key string
		}{{"another", "key"}, {tenant.Default, "other key"}, {tenant.Default, ""}} {
			_, found, err := w.Submitted(w.ctx, unused.of, unused.key, [32]byte{1})
			w.ok(err)
			w.is("found", found, false)
		}
		k.Tenant = "another" // keys are a tenant's own
		_, replayed, err = w.Submit(w.ctx, k, "key", [32]byte{2}, audit.Fact{})
		w.ok(err)
		w.is("replayed for another tenant", replayed, false)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a key is forgotten when it is old, a few at a time, and its task stays", func(w *world) {
		start := w.Now()
		var ids []task.ID
		for i := range 4 {
			k := task.Task{ID: newID(), Tenant: tenant.Default, Spec: spec(), State: task.Queued}
			_, _, err := w.Submit(w.ctx, k, fmt.Sprint("key-", i), [32]byte{1}, w.fact("task.submit"))
			w.ok(err)
			ids = append(ids, k.ID)
			w.Advance(time.Minute)
		}
		for _, step := range []struct{ want int }{{2}, {1}, {0}} {
			n, err := w.ForgetKeys(w.ctx, start.Add(3*time.Minute), 2)
			w.ok(err)
			w.is("forgotten", n, step.want)
		}
		for i, id := range ids {
			_, found, err := w.Submitted(w.ctx, tenant.Default, fmt.Sprint("key-", i), [32]byte{1})
			w.ok(err)
			w.is(fmt.Sprintf("key %d is known", i), found, i == 3)
			w.is("state", w.read(id).State, task.Queued)
		}
	}},
	{"of many submissions with one key one makes a task", func(w *world) {
		var ids sync.Map
		var wg sync.WaitGroup
		for range 24 {
			wg.Go(func() {
				k := task.Task{ID: newID(), Tenant: tenant.Default, Spec: spec(), State: task.Queued}
				got, _, err := w.Submit(w.ctx, k, "key", [32]byte{1}, audit.Fact{})
				if err == nil {
					ids.Store(got.ID, true)
				} else {
					w.Errorf("submit: %v", err)
				}
			})
		}
		wg.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		w.is("tasks answered", n, 1)
		count, err := w.Count(w.ctx, tenant.Default)
		w.ok(err)
		w.is("tasks queued", count[task.Queued], 1)
	}},
	{"the empty key is no key", func(w *world) {
		w.submit()
		w.submit()
		count, err := w.Count(w.ctx, tenant.Default)
		w.ok(err)
		w.is("tasks queued", count[task.Queued], 2)
	}},
	{"lists are a tenant's own, newest first, filtered and paged", func(w *world) {
		red := func(s *task.Spec) { s.Labels = map[string]string{"team": "red", `od"d`: "x.y"} }
		a, b, c := w.submit(red), w.submit(), w.submit(red)
		k, ok := w.claim("h1", "d1")
		w.is("claimed", ok && k.ID == a.ID, true)
		for _, list := range []struct {
			filter task.Filter
			want   []task.ID
		}{
			{task.Filter{Tenant: tenant.Default, Limit: 10}, []task.ID{c.ID, b.ID, a.ID}},
			{task.Filter{Tenant: tenant.Default, Limit: 2}, []task.ID{c.ID, b.ID}},
			{task.Filter{Tenant: tenant.Default, Limit: 10, Before: b.ID}, []task.ID{a.ID}},
			{task.Filter{Tenant: tenant.Default, Limit: 10, States: []task.State{task.Leased, task.Running}}, []task.ID{a.ID}},
			{task.Filter{Tenant: tenant.Default, Limit: 10, Host: "h1"}, []task.ID{a.ID}},
			{task.Filter{Tenant: tenant.Default, Limit: 10, Labels: map[string]string{"team": "red", `od"d`: "x.y"}}, []task.ID{c.ID, a.ID}},
			{task.Filter{Tenant: tenant.Default, Limit: 10, Labels: map[string]string{"team": "blue"}}, nil},
			{task.Filter{Tenant: "another", Limit: 10}, nil},
		} {
			got, err := w.Tasks(w.ctx, list.filter)
			w.ok(err)
			var ids []task.ID
			for _, k := range got {
				ids = append(ids, k.ID)
			}
			w.equal(ids, list.want)
		}
		_, err := w.Task(w.ctx, "another", a.ID)
		w.fails(err, task.ErrNotFound)
	}},
}

var claimCases = []testcase{
	{"of many hosts that claim at once each task goes to one", func(w *world) { // two claimers, R-CLOUD-1
		const tasks, hosts = 20, 30
		for range tasks {
			w.submit()
		}
		var got sync.Map
		var wg sync.WaitGroup
		for i := range hosts {
			wg.Go(func() {
				host := fleet.HostID(fmt.Sprint("host-", i/2)) // two claims for one host's device at once
				answer, err := w.Claim(w.ctx, timing, []task.ClaimRequest{wants(host, 2, "p1", "p2")})
				if err != nil {
					w.Errorf("claim: %v", err)
					return
				}
				for _, k := range answer[0] {
					if other, twice := got.LoadOrStore(k.ID, k.Host); twice {
						w.Errorf("task %s went to %s and to %s", k.ID, other, k.Host)
					}
					if other, twice := got.LoadOrStore(string(k.Host)+k.Device, k.ID); twice {
						w.Errorf("device %s of %s drives %s and %s", k.Device, k.Host, other, k.ID)
					}
				}
			})
		}
		wg.Wait()
		count, err := w.Count(w.ctx, tenant.Default)
		w.ok(err)
		w.equal(count, map[task.State]int{task.Leased: tasks})
	}},
	{"a claim leases task and device, and the attempt grows with each", func(w *world) { // R-HOST-3
		k := w.submit()
		for attempt := 1; attempt <= 2; attempt++ {
			got, ok := w.claim("h1", "p1")
			w.is("claimed", ok, true)
			want := k
			want.State, want.Attempt, want.LeaseMisses, want.Host, want.Device = task.Leased, attempt, attempt-1, "h1", "p1"
			want.LeaseExpires, want.UpdatedAt, want.NextRun = w.Now().Add(timing.AckWithin), w.Now(), got.NextRun
			w.equal(got, want)
			w.equal(w.read(k.ID), want)
			w.submit(onDevice("p1"))
			_, ok = w.claim("h1", "p1")
			w.is("the device is free", ok, false)
			_, err := w.Cancel(w.ctx, timing, tenant.Default, w.newest(), "", w.fact("task.cancel"))
			w.ok(err)
			w.Advance(timing.AckWithin + timing.DeviceGrace + time.Second)
			w.reap()
		}
		attempts, err := w.Attempts(w.ctx, tenant.Default, k.ID)
		w.ok(err)
		w.is("attempts", len(attempts), 2)
	}},
	{"the highest priority goes first, then the oldest, and waiting five minutes is worth a level", func(w *world) { // R-CLOUD-10
		at := func(p int) func(*task.Spec) { return func(s *task.Spec) { s.Priority = p } }
		low := w.submit(at(4))
		w.Advance(5*time.Minute - time.Second)
		lowLate := w.submit(at(4))
		five := w.submit(at(5))
		high := w.submit(at(9))
		w.Advance(time.Second)
		fiveLate := w.submit(at(5))
		var got []task.ID
		for {
			k, ok := w.claim("h", string(newID()))
			if !ok {
				break
			}
			got = append(got, k.ID)
		}
		// low has waited five minutes, so it stands beside fiveLate and is older.
		w.equal(got, []task.ID{high.ID, five.ID, low.ID, fiveLate.ID, lowLate.ID})
	}},
	{"a selector is served by a device that matches it, and by no other", func(w *world) {
		with := func(s task.Selector) func(*task.Spec) { return func(sp *task.Spec) { sp.Selector = s } }
		onHost := w.submit(with(task.Selector{Host: "h2"}))
		onLabel := w.submit(with(task.Selector{Labels: map[string]string{"pool": "b"}}))
		onKind := w.submit(with(task.Selector{Kind: "android"}))
		nowhere := w.submit(with(task.Selector{Device: "p1", Kind: "web"}))
		h1, h2 := wants("h1", 5, "p1"), wants("h2", 5, "p1")
		h1.Labels = map[string]string{"pool": "a"}
		h1.Devices = append(h1.Devices, fleet.Device{ID: "p2", Kind: "android"}, fleet.Device{ID: "p3", Kind: "sim", Labels: map[string]string{"pool": "b"}})
		got := w.claims(h1, h2)
		w.equal(devicesOf(got[0]), map[task.ID]string{onLabel.ID: "p3", onKind.ID: "p2"})
		w.equal(devicesOf(got[1]), map[task.ID]string{onHost.ID: "p1"})
		w.is("state of what nobody serves", w.read(nowhere.ID).State, task.Queued)
	}},
	{"hosts that claim together share what there is", func(w *world) {
		for range 4 {
			w.submit()
		}
		got := w.claims(wants("h1", 3, "a", "b", "c"), wants("h2", 3, "a", "b", "c"))
		w.is("h1 got", len(got[0]), 2)
		w.is("h2 got", len(got[1]), 2)
	}},
	{"a host gets no more than it asks for and nothing of another tenant", func(w *world) {
		w.submit()
		w.submit()
		stranger := wants("h0", 5, "a", "b")
		stranger.Tenant = "another"
		got := w.claims(stranger, wants("h1", 0, "a"), wants("h2", 1, "a", "b"))
		w.is("the stranger got", len(got[0]), 0)
		w.is("the full host got", len(got[1]), 0)
		w.is("the host for one got", len(got[2]), 1)
	}},
	{"a claim whose answer was lost gets the same tasks for a minute", func(w *world) { // lost claim answer
		w.submit()
		w.submit()
		req := wants("h1", 2, "a", "b")
		first := w.claims(req)[0]
		w.is("claimed", len(first), 2)
		w.submit()
		w.equal(w.claims(req)[0], first)
		w.finish(fence(first[0]), task.Succeeded, "succeeded")
		again := w.claims(req)[0]
		w.equal(devicesOf(again), devicesOf(first[1:])) // what it holds no more is left out
		w.Advance(time.Minute)
		w.is("a minute later the key is a new one", devicesOf(w.claims(req)[0])[first[1].ID], "")
	}},
	{"a claim whose tasks were all taken back is served anew, and that answer can be lost as well", func(w *world) { // lost claim answer
		w.submit()
		req := wants("h1", 1, "a")
		first := w.claims(req)[0]
		w.is("claimed", len(first), 1)
		_, err := w.TakeBack(w.ctx, timing, fence(first[0]))
		w.ok(err)
		second := w.claims(req)[0]
		w.is("claimed anew", len(second), 1)
		w.is("attempt", second[0].Attempt, 2)
		w.equal(w.claims(req)[0], second)
	}},
	{"a revoked host gets nothing", func(w *world) {
		h, _ := w.enrolled()
		w.submit()
		w.ok(w.RevokeHost(w.ctx, tenant.Default, h.ID, w.Now(), w.fact("host.revoke")))
		_, ok := w.claim(h.ID, "p1")
		w.is("claimed", ok, false)
	}},
	{"a task is not claimed before its time, and NextRun says when that is", func(w *world) {
		later := w.Now().Add(time.Hour)
		k := w.submit(func(s *task.Spec) { s.NotBefore = later; s.Priority = 9 })
		next, err := w.NextRun(w.ctx)
		w.ok(err)
		w.equal(next, later)
		_, ok := w.claim("h", "p")
		w.is("claimed early", ok, false)
		w.Advance(time.Hour)
		next, err = w.NextRun(w.ctx)
		w.ok(err)
		w.is("nothing waits for its time", next.IsZero(), true)
		got, ok := w.claim("h", "p")
		w.is("claimed in time", ok && got.ID == k.ID, true)
	}},
	{"a task past its time is never claimed and ends dead", func(w *world) { // every state has a deadline
		k := w.submit(func(s *task.Spec) { s.ExpiresAt = w.Now().Add(time.Minute) })
		w.Advance(time.Minute)
		_, ok := w.claim("h", "p")
		w.is("claimed", ok, false)
		w.equal(w.reap(), []task.Reaped{{Tenant: tenant.Default, Task: k.ID, State: task.Dead, Reason: "expired"}})
		got := w.read(k.ID)
		w.is("state", got.State, task.Dead)
		w.equal(got.TerminalAt, w.Now())
	}},
}

func devicesOf(tasks []task.Task) map[task.ID]string {
	out := map[task.ID]string{}
	for _, k := range tasks {
		out[k.ID] = k.Device
	}
	return out
}

// newest is the task that was submitted last.
func (w *world) newest() task.ID {
	w.Helper()
	got, err := w.Tasks(w.ctx, task.Filter{Tenant: tenant.Default, Limit: 1})
	w.ok(err)
	return got[0].ID
}
