package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/sleep"
)

// The bounds of the wait between two tries.
const (
	firstWait = 500 * time.Millisecond
	longWait  = 30 * time.Second
	// mostWait is the longest wait that the control plane can ask for.
	mostWait = 10 * time.Minute
)

// backoff spaces the tries of one thing. The zero value is ready.
type backoff struct{ tries int }

// next returns how long to wait after err: full jitter below a bound that
// doubles from firstWait to longWait, and never less than what the control
// plane asked for.
func (b *backoff) next(err error) time.Duration {
	bound := longWait
	if b.tries < 6 {
		bound = firstWait << b.tries
	}
	b.tries++
	return max(asked(err), 10*time.Millisecond+rand.N(bound))
}

// asked is how long the control plane wants us to wait, within mostWait.
func asked(err error) time.Duration {
	var u *llm.Unavailable
	var f *fault.Error
	switch {
	case errors.As(err, &u):
		return min(u.RetryAfter, mostWait)
	case errors.As(err, &f):
		return min(f.RetryAfter, mostWait)
	}
	return 0
}

// reset starts over after a success.
func (b *backoff) reset() { b.tries = 0 }

// repeatable reports whether the same call may get another answer later:
// after a fault of the way, a 5xx, or a problem that says so itself.
func repeatable(err error) bool {
	var u *llm.Unavailable
	if errors.As(err, &u) {
		return u.Reason == llm.DecideInFlight
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		return false
	}
	return f.Retryable || f.Kind == fault.Unavailable || f.Kind == fault.Internal
}

// lostOnTheWay reports whether the call may have failed between here and the
// control plane, or the control plane asks for a repeat. It is the stricter
// rule, for calls that cost money each time they get through.
func lostOnTheWay(err error) bool {
	var f *fault.Error
	return repeatable(err) && (!errors.As(err, &f) || f.Retryable)
}

// persist sends cl until it gets an answer that again doesn't want repeated or
// ctx ends, and decodes a success into out unless that is nil. It returns
// ctx's cause, or the last error where the next try could only start after
// ctx's deadline.
func (c *client) persist(ctx context.Context, cl call, out any, again func(error) bool) error {
	var pause backoff
	for {
		a, err := c.once(ctx, cl)
		if err == nil && out != nil {
			err = a.decode(out)
		}
		if err == nil || ctx.Err() != nil || !again(err) {
			return err
		}
		wait := pause.next(err)
		if end, bounded := ctx.Deadline(); bounded && time.Until(end) < wait {
			return err
		}
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
	}
}
