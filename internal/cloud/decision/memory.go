package decision

import (
	"sync"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
)

// memory bounds the bytes of requests that are held at once, in all and of
// each host: one that sends its bodies slowly, or sends many, leaves room for
// the others.
type memory struct {
	mu     sync.Mutex
	limit  int64
	used   int64                  // guarded by mu
	byHost map[fleet.HostID]int64 // guarded by mu
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, byHost: map[fleet.HostID]int64{}}
}

// largestRequest always fits into the share of a host that holds nothing, if
// it fits at all.
const largestRequest = 16 << 20

// share is what one host may hold.
func (m *memory) share() int64 { return max(m.limit/2, min(m.limit, largestRequest)) }

// ErrBusy is what a request gets that does not fit in memory now.
var ErrBusy = fault.New(fault.Exhausted, "decides_busy", "the control plane holds as many decide requests as its memory cap allows, of this host or in all; try again shortly")

// Reserve takes n bytes for a request of a host that is about to be read;
// release gives them back and may be called more than once. ErrBusy,
// retryable, if they are not there, or if the host holds half of the memory. A
// decide's bytes must stay reserved until Decide has returned; what goes on
// without its caller is counted by the service.
func (s *Service) Reserve(h fleet.HostID, n int64) (release func(), err error) {
	m := s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < 0 || m.used+n > m.limit || m.byHost[h]+n > m.share() {
		return nil, ErrBusy.Retry(time.Second)
	}
	return m.take(h, n), nil
}

// keep counts n bytes that are held already, whether or not there is room.
func (m *memory) keep(h fleet.HostID, n int64) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(h, n)
}

// take counts n bytes; mu is held.
func (m *memory) take(h fleet.HostID, n int64) (release func()) {
	m.used += n
	m.byHost[h] += n
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.used -= n
		if m.byHost[h] -= n; m.byHost[h] == 0 {
			delete(m.byHost, h)
		}
	})
}
