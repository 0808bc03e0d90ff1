// Package sleep waits, and lets a context end the wait. It starts no goroutine.
package sleep

import (
	"context"
	"time"
)

// For blocks for d, not at all where that is zero or less, and returns nil. As
// soon as ctx ends, or if it has ended already, it returns the context's cause
// instead.
func For(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
