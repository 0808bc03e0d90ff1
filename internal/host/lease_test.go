package host

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/hostapi"
)

// R-HOST-3: however renewals arrive, the lease is over exactly one fence after
// the latest accepted one was sent, and stays over.
func TestALeaseEndsAFenceAfterItsLatestRenewalWasSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		pauses := rapid.SliceOfN(rapid.IntRange(1, 60), 1, 12).Draw(r, "seconds between answers")
		delays := rapid.SliceOfN(rapid.IntRange(0, 30), len(pauses), len(pauses)).Draw(r, "seconds that each answer took")
		synctest.Test(t, func(t *testing.T) {
			const fence = 40 * time.Second
			ended := make(chan time.Time, 2)
			sent := time.Now()
			deadline := sent.Add(fence)
			l := newLease(time.Now, sent, fence, func() { ended <- time.Now() })
			for i, pause := range pauses {
				time.Sleep(time.Duration(pause)*time.Second - time.Millisecond) // never at the very moment of a fence
				synctest.Wait()
				renewal := time.Now().Add(-time.Duration(delays[i]) * time.Second)
				if time.Now().Before(deadline) && renewal.After(sent) {
					sent, deadline = renewal, renewal.Add(fence)
				}
				l.renewed(renewal, fence)
			}
			time.Sleep(10 * time.Minute)
			if got := <-ended; !got.Equal(deadline) {
				t.Errorf("pauses %v, delays %v: over at %v, want %v", pauses, delays, got, deadline)
			}
			if over, _, _ := l.state(); !over || len(ended) != 0 {
				t.Errorf("over %v, and said %d times more; want over, said once", over, len(ended))
			}
		})
	})
}

// A machine that slept for longer than the fence is found out by the wall
// clock, because timers did not run.
func TestTheLongerOfTwoClocksCounts(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, c := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"both clocks went on":            {start.Add(10 * time.Second), 10 * time.Second},
		"the wall clock jumped forward":  {start.Round(0).Add(2 * time.Hour), 2 * time.Hour},
		"the wall clock was turned back": {start.Add(10 * time.Second), 10 * time.Second},
	} {
		l := newLease(func() time.Time { return c.now }, start, time.Hour, func() {})
		if _, age, _ := l.state(); age != c.want {
			t.Errorf("%s: the age is %v, want %v", name, age, c.want)
		}
		l.end()
	}
}

func TestTimingsAreMadeSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wire hostapi.Timings
		want timings
	}{
		"nothing was said": {hostapi.Timings{}, standardTimings},
		"all was said": {hostapi.Timings{LeaseMS: 6000, RenewMS: 1000, SelfFenceMS: 4000, FreshMS: 2000, PollHoldMS: 3000, DecideSlackMS: 500},
			timings{renew: time.Second, fence: 4 * time.Second, fresh: 2 * time.Second, hold: 3 * time.Second, slack: 500 * time.Millisecond}},
		"a fence after the lease": {hostapi.Timings{LeaseMS: 30_000, SelfFenceMS: 50_000},
			timings{renew: 15 * time.Second, fence: 20 * time.Second, fresh: 20 * time.Second, hold: 25 * time.Second, slack: 2 * time.Second}},
		"a lease that is short": {hostapi.Timings{LeaseMS: 3000},
			timings{renew: 15 * time.Second, fence: 2 * time.Second, fresh: 2 * time.Second, hold: 25 * time.Second, slack: 2 * time.Second}},
		"negative and endless": {hostapi.Timings{LeaseMS: -1, RenewMS: -5, SelfFenceMS: 1 << 60, FreshMS: 1 << 62}, standardTimings},
	} {
		if got := readTimings(c.wire); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// R-HOST-1: a lifetime that no Duration holds must not make the host rotate
// without end.
func TestALifetimeNeverOverflows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64/int64(time.Millisecond) + 1} {
		c := newCredential(hostapi.CredentialReply{LifetimeMS: ms}, now)
		if ahead := c.rotateOn().Sub(now); ahead < 365*24*time.Hour {
			t.Errorf("a lifetime of %d ms is rotated after %v", ms, ahead)
		}
	}
}
