package site

import (
	"fmt"
	"testing"
	"time"

	"interlock/internal/clocktest"
)

// Only sites that used some of their burst lately cost memory, and forgetting
// the others changes no answer.
func TestFullBucketsAreDropped(t *testing.T) {
	t.Parallel()
	const sites, lasting = 20 * minBuckets, 50 * time.Second
	clock, r := clocktest.New(), newRates()
	busy := Site{ID: "busy", PerMinute: 1, Burst: 1}
	if wait := r.take(busy, clock.Now()); wait != 0 {
		t.Fatalf("the first call waits %v", wait)
	}
	most := 0
	for i := range sites {
		clock.Advance(lasting / sites)
		if wait := r.take(Site{ID: ID(fmt.Sprint("site ", i)), PerMinute: 600, Burst: 1}, clock.Now()); wait != 0 {
			t.Fatalf("site %d waits %v", i, wait)
		}
		most = max(most, len(r.buckets))
	}
	if most > 2*minBuckets {
		t.Errorf("%d buckets at once", most)
	}
	if wait := r.take(busy, clock.Now()); wait <= 0 {
		t.Error("the bucket of the busy site was forgotten")
	}
}
