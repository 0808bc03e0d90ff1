package site

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates holds a bucket for each site that called lately, in this process: a
// restart, or a second process, gives a site its burst once more. Make it with
// newRates.
type rates struct {
	mu      sync.Mutex
	buckets map[ID]bucket // guarded by mu
	sweepAt int           // guarded by mu: how many buckets start a sweep
}

type bucket struct {
	perMinute, burst int // of the site, when the bucket was made
	limiter          *rate.Limiter
}

const minBuckets = 256 // that a sweep is worth

func newRates() *rates { return &rates{buckets: map[ID]bucket{}, sweepAt: minBuckets} }

// take takes a call of the site's rate and returns zero, or takes nothing and
// returns how long to wait for one.
func (r *rates) take(s Site, now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, found := r.buckets[s.ID]
	if !found || b.perMinute != s.PerMinute || b.burst != s.Burst {
		b = bucket{s.PerMinute, s.Burst, rate.NewLimiter(rate.Limit(s.PerMinute)/60, s.Burst)}
		r.buckets[s.ID] = b
		r.sweep(now)
	}
	call := b.limiter.ReserveN(now, 1)
	if wait = call.DelayFrom(now); wait > 0 {
		call.CancelAt(now)
	}
	return wait
}

// sweep drops the buckets that are full again, and so know nothing, whenever
// twice as many are there as the last sweep left. The caller holds mu.
func (r *rates) sweep(now time.Time) {
	if len(r.buckets) < r.sweepAt {
		return
	}
	for id, b := range r.buckets {
		if b.limiter.TokensAt(now) >= float64(b.burst) {
			delete(r.buckets, id)
		}
	}
	r.sweepAt = max(minBuckets, 2*len(r.buckets))
}
