package host

import (
	"sync"
	"time"
)

// lease is the right to touch one device for one attempt. It counts from when
// the latest accepted renewal was sent. It is safe for concurrent use.
type lease struct {
	clock func() time.Time
	lost  func() // called once, when the fence is reached

	mu    sync.Mutex
	sent  time.Time     // guarded by mu; of the latest accepted renewal
	fence time.Duration // guarded by mu; no touching from this age on
	timer *time.Timer   // guarded by mu; nil once ended
	over  bool          // guarded by mu; fenced or ended: stays so
}

// newLease starts a lease that was granted by a request sent at sent. lost
// runs in a goroutine of its own.
func newLease(clock func() time.Time, sent time.Time, fence time.Duration, lost func()) *lease {
	l := &lease{clock: clock, lost: lost, sent: sent, fence: fence}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(max(0, fence-l.age()), l.check)
	return l
}

// renewed notes that a renewal sent at sent was accepted. An older one than
// the latest changes nothing, and a fenced lease stays fenced.
func (l *lease) renewed(sent time.Time, fence time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || sent.Before(l.sent) {
		return
	}
	l.sent, l.fence = sent, fence
	l.timer.Reset(max(0, fence-l.age()))
}

// check fences the lease if its time has come.
func (l *lease) check() {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	if left := l.fence - l.age(); left > 0 {
		l.timer.Reset(left)
		l.mu.Unlock()
		return
	}
	l.over = true
	l.mu.Unlock()
	l.lost()
}

// end stops watching. The lease does not hold any more.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.timer.Stop()
}

// state reports whether the lease is over, and its age and fence where not.
func (l *lease) state() (over bool, age, fence time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over, l.age(), l.fence
}

// age is the longer of the monotonic and the wall time since sent: the
// monotonic clock stands still while a machine sleeps, and then the wall clock
// tells. The caller holds mu.
func (l *lease) age() time.Duration {
	now := l.clock()
	return max(now.Sub(l.sent), now.Round(0).Sub(l.sent.Round(0)))
}
