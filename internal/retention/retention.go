// Package retention is the loop that keeps a promise about time: what is past
// its time is removed at the next look, and is in no file of the store some
// looks later.
//
// Removing is cheap and goes in small steps, so that others work meanwhile.
// Giving the space back looks at the whole store, however little was removed:
// measured, 1.4 s for each GB of it. So that happens at most once in thirty
// looks, or once in half an hour. What fails is tried again at the next look;
// nothing but the end of the context ends the loop.
package retention

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"interlock/internal/sleep"
)

// Loop is one room's retention. All fields but Failed must be set, before use.
// Its methods are safe for concurrent use.
type Loop struct {
	What  string        // is removed, for the log: "decisions"
	Every time.Duration // between two looks
	// Prune removes what is past its time and returns how many that were, also
	// beside an error.
	Prune func(context.Context) (int, error)
	// Reclaim gives the space back.
	Reclaim func(context.Context) error
	Logger  *slog.Logger
	// Failed is told of each look that failed; nil: nobody is.
	Failed func()

	owed atomic.Bool // something was removed whose space was not given back yet
}

// GiveBack gives back at once the space of what somebody removed just now. If
// that fails Run tries again.
func (l *Loop) GiveBack(ctx context.Context) error {
	l.owed.Store(true)
	return l.reclaim(ctx)
}

// reclaim clears the debt before it is paid: what is removed meanwhile is owed
// again.
func (l *Loop) reclaim(ctx context.Context) error {
	l.owed.Store(false)
	err := l.Reclaim(ctx)
	if err != nil {
		l.owed.Store(true)
	}
	return err
}

const (
	looksAReclaim  = 30
	maxReclaimWait = 30 * time.Minute
)

// Run looks at once, and then again and again until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	var last time.Time // when space was given back; zero: not yet
	for {
		last = l.look(ctx, last)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look prunes once, and gives the space back where that is due. It returns
// when that was last done.
func (l *Loop) look(ctx context.Context, last time.Time) time.Time {
	n, err := l.Prune(ctx)
	if n > 0 {
		l.owed.Store(true)
	}
	if err == nil && l.owed.Load() && time.Since(last) >= min(looksAReclaim*l.Every, maxReclaimWait) {
		if err = l.reclaim(ctx); err == nil {
			last = time.Now()
		}
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if l.Failed != nil {
			l.Failed()
		}
		l.Logger.WarnContext(ctx, l.What+" past their time not pruned; trying again soon", "pruned", n, "error", err)
	case n > 0:
		l.Logger.InfoContext(ctx, l.What+" pruned", "pruned", n)
	}
	return last
}

// A step of Sweep: small, so that others go on meanwhile.
const (
	stepSize  = 500
	stepYield = 10 * time.Millisecond
)

// Sweep repeats a step, which removes up to limit things from before at, until
// it finds nothing left. It returns how many that were, also beside an error.
func Sweep(ctx context.Context, at time.Time, step func(ctx context.Context, at time.Time, limit int) (int, error)) (total int, err error) {
	for {
		n, err := step(ctx, at, stepSize)
		total += n
		if err != nil || n < stepSize {
			return total, err
		}
		if err := sleep.For(ctx, stepYield); err != nil {
			return total, err
		}
	}
}
