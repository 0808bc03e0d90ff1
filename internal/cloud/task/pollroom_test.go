package task

import (
	"fmt"
	"testing"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/tenant"
)

// crowd is a room where hosts hold polls for one simulated phone each.
func crowd(t testing.TB, hosts, most int) *pollRoom {
	t.Helper()
	r := newPollRoom()
	for i := range hosts {
		h := fleet.Host{ID: fleet.HostID(fmt.Sprint("host-", i)), Tenant: tenant.Default, Devices: []fleet.Device{{ID: "phone", Kind: "sim"}}}
		if err := r.enter(newWaiter(h, Poll{Key: "k", Max: most, Idle: []string{"phone"}}), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	r.next() // that they came
	return r
}

// offerAll puts n tasks for a selector into the next round.
func offerAll(r *pollRoom, n int, s Selector, tried bool) {
	for i := range n {
		r.offer(offered{task: Task{ID: ID(fmt.Sprint("task-", i)), Tenant: tenant.Default, State: Queued, Spec: Spec{Selector: s}}, tried: tried})
	}
}

func TestARoundHasAsManyPollsAsItsTasksNeed(t *testing.T) {
	t.Parallel()
	sim, android := Selector{Kind: "sim"}, Selector{Kind: "android"}
	labelled := Selector{Labels: map[string]string{"rack": "7"}}
	for name, c := range map[string]struct {
		hosts, most int // held polls, and what each takes
		tasks       int
		wants       Selector
		tried       bool
		polls       int // in the round
	}{
		"a task wakes one host":                            {10, 1, 1, sim, false, 1},
		"tasks wake a host each":                           {10, 1, 4, sim, false, 4},
		"more tasks than hosts wake all":                   {10, 1, 25, sim, false, 10},
		"tasks that nobody serves wake nobody":             {10, 1, 25, android, false, 0},
		"so do those for labels that nobody has":           {10, 1, 25, labelled, true, 0},
		"a task that was tried wakes many":                 {200, 1, 1, sim, true, breadth},
		"tasks that were tried wake all where there's few": {10, 5, 20, sim, true, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crowd(t, c.hosts, c.most)
			offerAll(r, c.tasks, c.wants, c.tried)
			if got := r.next(); len(got.waiters) != c.polls || len(got.offers) != c.tasks {
				t.Errorf("%d polls and %d offers in the round, want %d and %d", len(got.waiters), len(got.offers), c.polls, c.tasks)
			}
		})
	}
}

// A backlog for devices that no waiting host has is looked at with each sweep,
// while every poll waits for the room.
func BenchmarkARoundWithABacklogThatNobodyServes(b *testing.B) {
	r := crowd(b, 2_000, 1)
	for b.Loop() {
		offerAll(r, 2_000, Selector{Kind: "android"}, false)
		r.next()
	}
}
