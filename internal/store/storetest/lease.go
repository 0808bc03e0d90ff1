package storetest

import (
	"fmt"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

var leaseCases = []testcase{
	{"an acknowledged attempt runs under its full lease, and again is a renewal", func(w *world) { // R-HOST-2
		k, f := w.leased("h", "p")
		for range 2 {
			cancel, err := w.Ack(w.ctx, timing, f)
			w.ok(err)
			w.is("cancel", cancel, false)
			got := w.read(k.ID)
			w.is("state", got.State, task.Running)
			w.is("tries", got.Tries, 1)
			w.equal(got.LeaseExpires, w.Now().Add(timing.Lease))
			w.Advance(30 * time.Second)
		}
	}},
	{"a renewal counts from now, also after the end while nobody has taken the lease", func(w *world) { // renew after expiry
		k, f := w.running("h", "p")
		w.Advance(timing.Lease + time.Second)
		got, err := w.Renew(w.ctx, timing, []task.Fence{f})
		w.ok(err)
		w.equal(got, []task.Renewal{{Fence: f}})
		w.equal(w.read(k.ID).LeaseExpires, w.Now().Add(timing.Lease))
		w.is("reaped", len(w.reap()), 0)
		w.Advance(timing.Lease + time.Second)
		w.is("reaped", len(w.reap()), 1)
		got, err = w.Renew(w.ctx, timing, []task.Fence{f})
		w.ok(err)
		w.equal(got, []task.Renewal{{Fence: f, Lost: true}})
	}},
	{"a heartbeat renews what is held and says what is lost, in the order asked", func(w *world) {
		_, a := w.running("h", "p1")
		b, bf := w.running("h", "p2")
		c, cf := w.running("h", "p3")
		_, err := w.Cancel(w.ctx, timing, tenant.Default, b.ID, "why not", w.fact("task.cancel"))
		w.ok(err)
		w.finish(cf, task.Succeeded, "succeeded")
		stale, foreign, unknown, theirs := a, a, a, a
		stale.Attempt, foreign.Host, unknown.Task, theirs.Tenant = 2, "other", newID(), "another"
		fs := []task.Fence{cf, bf, stale, foreign, a, unknown, theirs}
		w.Advance(10 * time.Second)
		got, err := w.Renew(w.ctx, timing, fs)
		w.ok(err)
		w.equal(got, []task.Renewal{{Fence: cf, Lost: true}, {Fence: bf, Cancel: true}, {Fence: stale, Lost: true}, {Fence: foreign, Lost: true},
			{Fence: a}, {Fence: unknown, Lost: true}, {Fence: theirs, Lost: true}})
		w.equal(w.read(a.Task).LeaseExpires, w.Now().Add(timing.Lease))
		w.equal(w.read(b.ID).LeaseExpires, w.Now().Add(timing.Lease))
		w.is("lease of a finished task", w.read(c.ID).LeaseExpires.IsZero(), true)
	}},
	{"a claim that is never acknowledged spends no try, until it has missed too often", func(w *world) { // ack misses
		k := w.submit()
		for miss := 1; miss <= timing.MaxMisses; miss++ {
			got, ok := w.claim("h", "p")
			w.is("claimed", ok, true)
			w.is("attempt", got.Attempt, miss)
			w.Advance(timing.AckWithin + time.Second)
			reaped := w.reap()
			want := task.Reaped{Tenant: tenant.Default, Task: k.ID, Attempt: miss, Host: "h", State: task.Queued, Reason: "not_acknowledged"}
			if miss == timing.MaxMisses {
				want.State, want.Reason = task.Dead, "never_acknowledged"
			}
			w.equal(reaped, []task.Reaped{want})
			got = w.read(k.ID)
			w.is("tries", got.Tries, 0)
			w.is("misses", got.LeaseMisses, miss)
			w.Advance(timing.DeviceGrace)
		}
	}},
	{"an attempt whose lease ended is tried again after a pause, as long as tries are left", func(w *world) { // expired lease
		k := w.submit()
		for try := 1; try <= 3; try++ {
			got, ok := w.claim("h", "p")
			w.is("claimed", ok, true)
			_, err := w.Ack(w.ctx, timing, fence(got))
			w.ok(err)
			w.Advance(timing.Lease)
			w.is("reaped at the very end", len(w.reap()), 0)
			w.Advance(time.Microsecond)
			reaped := w.reap()
			want := task.Reaped{Tenant: tenant.Default, Task: k.ID, Attempt: try, Host: "h", State: task.Queued, Reason: "lease_expired"}
			if try == 3 {
				want.State, want.Reason = task.Dead, "attempts_used_up"
			} else {
				w.equal(w.read(k.ID).NextRun, w.Now().Add(backoff(try)))
			}
			w.equal(reaped, []task.Reaped{want})
			w.Advance(time.Minute)
		}
	}},
	{"an attempt that acted is not tried again by itself unless the task is repeatable", func(w *world) { // R-RUN-5
		once, f1 := w.running("h", "p1")
		again, f2 := w.running("h", "p2", repeatable)
		w.acts(f1, 0)
		w.acts(f2, 0)
		w.is("acted", w.read(once.ID).Acted, true)
		w.Advance(timing.Lease + time.Second)
		w.is("reaped", len(w.reap()), 2)
		got := w.read(once.ID)
		w.is("state", got.State, task.Failed)
		w.is("reason", got.Reason, "indeterminate")
		w.is("state of the repeatable one", w.read(again.ID).State, task.Queued)
	}},
	{"a device stays taken for the grace after its lease, and another one serves at once", func(w *world) { // R-HOST-3, device grace
		k, f := w.running("h", "p")
		w.Advance(timing.Lease + time.Second)
		w.reap()
		w.Advance(backoff(1))
		_, ok := w.claim("h", "p")
		w.is("claimed within the grace", ok, false)
		got, ok := w.claim("h", "q")
		w.is("claimed on another device", ok && got.ID == k.ID, true)
		w.submit()
		w.Advance(timing.DeviceGrace - backoff(1) - time.Second)
		_, ok = w.claim("h", "p")
		w.is("claimed after the grace", ok, true)
		_, err := w.Ack(w.ctx, timing, f)
		w.fails(err, task.ErrStaleAttempt)
	}},
	{"the reaper pages through what is due and starves nothing", func(w *world) {
		const tasks = 25
		for i := range tasks {
			w.running("h", fmt.Sprint("p", i), func(s *task.Spec) {
				if i%2 == 0 {
					s.MaxAttempts = 1 // ends dead
				}
			})
		}
		w.Advance(timing.Lease + time.Second)
		seen := map[task.ID]bool{}
		for pages := 0; len(seen) < tasks; pages++ {
			got, err := w.Reap(w.ctx, timing, 4)
			w.ok(err)
			w.is("a full page", len(got) == 4 || len(seen)+len(got) == tasks, true)
			for _, r := range got {
				w.is("reaped before", seen[r.Task], false)
				seen[r.Task] = true
			}
			w.is("too many pages", pages > tasks, false)
		}
		w.is("left over", len(w.reap()), 0)
	}},
	{"a cancelled task is stopped by its host, or by the reaper", func(w *world) { // R-HOST-4
		queued := w.submit()
		got, err := w.Cancel(w.ctx, timing, tenant.Default, queued.ID, "changed my mind", w.fact("task.cancel"))
		w.ok(err)
		w.is("state", got.State, task.Cancelled)
		w.is("reason", got.Reason, "changed my mind")
		_, err = w.Cancel(w.ctx, timing, tenant.Default, queued.ID, "", w.unkept("task.cancel"))
		w.fails(err, task.ErrTerminal)
		_, err = w.Cancel(w.ctx, timing, tenant.Default, newID(), "", w.unkept("task.cancel"))
		w.fails(err, task.ErrNotFound)

		held, f := w.running("h", "p")
		got, err = w.Cancel(w.ctx, timing, tenant.Default, held.ID, "stop", w.fact("task.cancel"))
		w.ok(err)
		w.is("state", got.State, task.Cancelling)
		again, err := w.Cancel(w.ctx, timing, tenant.Default, held.ID, "stop now", w.unkept("task.cancel"))
		w.ok(err)
		w.equal(again, got)
		cancel, err := w.Ack(w.ctx, timing, f)
		w.ok(err)
		w.is("cancel seen in an ack", cancel, true)
		_, cancel, err = w.AppendEvents(w.ctx, f, []task.Event{{Kind: task.EventStep, At: w.Now()}})
		w.ok(err)
		w.is("cancel seen with events", cancel, true)
		w.Advance(timing.Lease + time.Second)
		w.reap()
		last := w.read(held.ID)
		w.is("state", last.State, task.Cancelled)
		w.is("reason", last.Reason, "stop")
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a claim that its host was never told of is a miss, at once the first time and after a pause from then on", func(w *world) { // ack misses
		k := w.submit()
		for miss := 1; miss <= timing.MaxMisses; miss++ {
			got, ok := w.claim("h", "p")
			w.is("claimed", ok, true)
			w.is("attempt", got.Attempt, miss)
			for range 2 { // again is a no-op
				got, err := w.TakeBack(w.ctx, timing, fence(got))
				w.ok(err)
				w.is("misses", got.LeaseMisses, miss)
				w.is("tries", got.Tries, 0)
				switch miss {
				case 1:
					w.is("state", got.State, task.Queued)
					w.equal(got.NextRun, w.Now())
				case timing.MaxMisses:
					w.is("state", got.State, task.Dead)
					w.is("reason", got.Reason, "never_acknowledged")
				default:
					w.is("state", got.State, task.Queued)
					w.equal(got.NextRun, w.Now().Add(backoff(miss-1)))
				}
			}
			w.Advance(w.read(k.ID).NextRun.Sub(w.Now()))
		}
		_, err := w.TakeBack(w.ctx, timing, task.Fence{Tenant: tenant.Default, Host: "h", Task: newID(), Attempt: 1})
		w.fails(err, task.ErrNotFound)
	}},
	{"what was acknowledged after all, is another host's or is being cancelled is not taken back for another try", func(w *world) {
		running, f := w.running("h", "p1")
		foreign := f
		foreign.Host = "other"
		for _, f := range []task.Fence{f, foreign} {
			got, err := w.TakeBack(w.ctx, timing, f)
			w.ok(err)
			w.equal(got, running)
		}
		k, f := w.leased("h", "p2")
		_, err := w.Cancel(w.ctx, timing, tenant.Default, k.ID, "stop", w.fact("task.cancel"))
		w.ok(err)
		got, err := w.TakeBack(w.ctx, timing, f)
		w.ok(err)
		w.is("state", got.State, task.Cancelled)
		w.is("reason", got.Reason, "stop")
	}},
	{"a host that renews what is cancelled and never ends it loses it, and its device stays taken for the grace", func(w *world) { // R-HOST-4, every state has a deadline
		k, f := w.running("h", "p")
		_, err := w.Cancel(w.ctx, timing, tenant.Default, k.ID, "stop", w.fact("task.cancel"))
		w.ok(err)
		cancelled := w.Now()
		renew := func() task.Renewal {
			got, err := w.Renew(w.ctx, timing, []task.Fence{f})
			w.ok(err)
			return got[0]
		}
		for w.Now().Before(cancelled.Add(timing.CancelWithin)) {
			w.Advance(30 * time.Second)
			w.equal(renew(), task.Renewal{Fence: f, Cancel: true})
			w.is("reaped in time", len(w.reap()), 0)
		}
		renewed := w.Now()
		w.Advance(time.Microsecond)
		w.equal(renew(), task.Renewal{Fence: f, Lost: true})
		_, err = w.Ack(w.ctx, timing, f)
		w.fails(err, task.ErrLeaseLost)
		w.equal(w.reap(), []task.Reaped{{Tenant: tenant.Default, Task: k.ID, Attempt: 1, Host: "h", State: task.Cancelled, Reason: "stop"}})
		w.is("state", w.read(k.ID).State, task.Cancelled)
		attempts, err := w.Attempts(w.ctx, tenant.Default, k.ID)
		w.ok(err)
		w.is("end of the attempt", attempts[0].End, "cancel_overdue")

		w.submit()
		w.Advance(renewed.Add(timing.Lease+timing.DeviceGrace).Sub(w.Now()) - time.Microsecond)
		_, ok := w.claim("h", "p")
		w.is("claimed before the last lease and the grace were over", ok, false)
		w.Advance(time.Microsecond)
		_, ok = w.claim("h", "p")
		w.is("claimed after", ok, true)
	}},
	{"a claim that is renewed and never acknowledged misses all the same", func(w *world) { // ack misses, every state has a deadline
		k, f := w.leased("h", "p")
		until := k.LeaseExpires
		w.Advance(timing.AckWithin / 2)
		got, err := w.Renew(w.ctx, timing, []task.Fence{f})
		w.ok(err)
		w.equal(got, []task.Renewal{{Fence: f}})
		w.equal(w.read(k.ID).LeaseExpires, until)
		w.Advance(timing.AckWithin)
		w.is("reaped", len(w.reap()), 1)
		w.is("misses", w.read(k.ID).LeaseMisses, 1)
	}},
	{"the leases of a revoked host end at once, by the same rule", func(w *world) { // R-HOST-1
		acted, f := w.running("h", "p1")
		w.acts(f, 0)
		quiet, _ := w.running("h", "p2")
		unacked, _ := w.leased("h", "p3")
		other, _ := w.running("h2", "p1")
		got, err := w.FailHost(w.ctx, timing, "h")
		w.ok(err)
		w.is("reaped", len(got), 3)
		w.is("acted", w.read(acted.ID).State, task.Failed)
		w.is("quiet", w.read(quiet.ID).State, task.Queued)
		w.is("unacknowledged", w.read(unacked.ID).State, task.Queued)
		w.is("misses of it", w.read(unacked.ID).LeaseMisses, 0)
		w.is("another host's", w.read(other.ID).State, task.Running)
		_, err = w.Ack(w.ctx, timing, f)
		w.fails(err, task.ErrStaleAttempt)
	}},
	{"only the holder of an attempt speaks for it", func(w *world) { // R-CLOUD-1
		k, f := w.running("h", "p")
		for _, c := range []struct {
			change func(*task.Fence)
			want   error
		}{
			{func(f *task.Fence) { f.Host = "other" }, task.ErrLeaseLost},
			{func(f *task.Fence) { f.Attempt = 2 }, task.ErrLeaseLost},
			{func(f *task.Fence) { f.Attempt = 0 }, task.ErrStaleAttempt},
			{func(f *task.Fence) { f.Tenant = "another" }, task.ErrNotFound},
			{func(f *task.Fence) { f.Task = newID() }, task.ErrNotFound},
		} {
			wrong := f
			c.change(&wrong)
			_, err := w.Ack(w.ctx, timing, wrong)
			w.fails(err, c.want)
			_, _, err = w.AppendEvents(w.ctx, wrong, []task.Event{{At: w.Now()}})
			w.fails(err, c.want)
			_, err = w.Release(w.ctx, wrong, false, "no")
			w.fails(err, c.want)
			_, err = w.Standing(w.ctx, wrong, "k", [32]byte{})
			w.fails(err, c.want)
		}
		w.equal(w.read(k.ID), k)
	}},
}
