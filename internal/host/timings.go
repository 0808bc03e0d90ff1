package host

import (
	"time"

	"interlock/internal/hostapi"
)

// timings are the control plane's settings, made safe: each is positive, and
// the fence comes before the lease ends whatever was sent.
type timings struct {
	renew, fence, fresh, hold, slack time.Duration
}

// standardTimings hold until the control plane has said its own.
var standardTimings = timings{renew: 15 * time.Second, fence: 40 * time.Second, fresh: 20 * time.Second, hold: 25 * time.Second, slack: 2 * time.Second}

// readTimings keeps the standard where the wire says nothing usable.
func readTimings(w hostapi.Timings) timings {
	ms := func(n int64, standard time.Duration) time.Duration {
		if n <= 0 || n > time.Hour.Milliseconds() {
			return standard
		}
		return time.Duration(n) * time.Millisecond
	}
	t := timings{
		renew: ms(w.RenewMS, standardTimings.renew),
		fence: ms(w.SelfFenceMS, standardTimings.fence),
		fresh: ms(w.FreshMS, standardTimings.fresh),
		hold:  ms(w.PollHoldMS, standardTimings.hold),
		slack: ms(w.DecideSlackMS, standardTimings.slack),
	}
	t.fence = min(t.fence, fenceOf(w.LeaseMS, t.fence))
	t.fresh = min(t.fresh, t.fence)
	return t
}

// fenceOf is two thirds of a lease, or standard where the lease is not known.
func fenceOf(leaseMS int64, standard time.Duration) time.Duration {
	if leaseMS <= 0 || leaseMS > time.Hour.Milliseconds() {
		return standard
	}
	return time.Duration(leaseMS) * time.Millisecond * 2 / 3
}
