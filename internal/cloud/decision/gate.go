package decision

import (
	"context"
	"slices"
	"sync"

	"interlock/internal/cloud/fleet"
)

// gate lets a bounded number of decides through to the provider, of each host
// and in all. The others wait in the order in which they came; a host at its
// own limit holds up nobody else.
type gate struct {
	mu      sync.Mutex
	limit   int
	running int                  // guarded by mu
	byHost  map[fleet.HostID]int // guarded by mu
	queue   []*queued            // guarded by mu
}

type queued struct {
	host    fleet.HostID
	limit   int
	through chan struct{} // closed when let through
}

func newGate(limit int) *gate { return &gate{limit: limit, byHost: map[fleet.HostID]int{}} }

// enter waits until the host may decide. leave must be called exactly once if
// there is no error; the error is the context's cause.
func (g *gate) enter(ctx context.Context, host fleet.HostID, hostLimit int) (leave func(), err error) {
	q := &queued{host: host, limit: hostLimit, through: make(chan struct{})}
	g.mu.Lock()
	g.queue = append(g.queue, q)
	g.admit()
	g.mu.Unlock()
	select {
	case <-q.through:
		return func() { g.leave(host) }, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	i := slices.Index(g.queue, q)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 { // let through at the same moment
		g.leave(host)
	}
	return nil, context.Cause(ctx)
}

func (g *gate) leave(host fleet.HostID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.byHost[host]--; g.byHost[host] == 0 {
		delete(g.byHost, host)
	}
	g.admit()
}

// admit lets through who can go; g.mu is held.
func (g *gate) admit() {
	g.queue = slices.DeleteFunc(g.queue, func(q *queued) bool {
		if g.running >= g.limit || g.byHost[q.host] >= q.limit {
			return false
		}
		g.running++
		g.byHost[q.host]++
		close(q.through)
		return true
	})
}
