package provider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"interlock/internal/llm"
	"interlock/internal/sleep"
)

// The retry policy: at most maxTries exchanges a request, pauses that start
// near firstPause and double up to maxPause.
const (
	maxTries   = 4
	firstPause = 500 * time.Millisecond
	maxPause   = 8 * time.Second
)

// askForced asks with a request that forces a call, or, of a model that takes
// none, with one that doesn't. A model that isn't known to is recognised by
// its refusal, asked again at once, and remembered until the process ends.
func (w *Wire) askForced(ask func(forced bool) (Answer, error)) (Answer, error) {
	if w.unforced.Load() {
		return ask(false)
	}
	a, err := ask(true)
	if !errors.Is(err, ErrUnforceable) {
		return a, err
	}
	if a, err = ask(false); err == nil {
		w.unforced.Store(true)
	}
	return a, err
}

// ask sends body until it brings a whole reply, within the retry policy and
// ctx. The error is an *llm.Unavailable.
func (w *Wire) ask(ctx context.Context, body []byte) (Answer, error) {
	if len(body) > maxRequestBytes {
		return Answer{}, w.fail(llm.BadRequest, fmt.Sprintf("the request is %d bytes, and the provider takes %d at most; lower the image edge setting or shorten the prompts", len(body), maxRequestBytes))
	}
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return Answer{}, w.unavailable(broken(ctx, ctx.Err()))
		}
		a, f := w.once(ctx, body)
		if f == nil {
			return a, nil
		}
		d := pause(try, f.retryAfter)
		if !f.again || try == maxTries || !roomFor(ctx, d) || sleep.For(ctx, d) != nil {
			if ctx.Err() != nil {
				f = broken(ctx, ctx.Err())
			}
			return Answer{}, w.unavailable(f)
		}
	}
}

func (w *Wire) unavailable(f *failure) *llm.Unavailable {
	u := w.fail(f.reason, f.detail)
	u.RetryAfter, u.ProviderRequestID, u.Err = f.retryAfter, f.requestID, f.err
	return u
}

// pause is how long to wait after the given try: what the provider asked for,
// else the doubling pause less up to a quarter, so that many hosts don't
// return together.
func pause(try int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(firstPause<<(try-1), maxPause)
	return d - rand.N(d/4)
}

// roomFor reports whether d is over before ctx's deadline.
func roomFor(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > d
}
