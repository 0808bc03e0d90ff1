package serve

import (
	"context"
	"errors"
)

// ErrDraining is the cause of a context of UntilDrain that ended because the
// server is shutting down.
var ErrDraining = errors.New("the server is shutting down")

type drainKey struct{}

// withDrain lets the requests of ctx notice that drain has ended.
func withDrain(ctx, drain context.Context) context.Context {
	return context.WithValue(ctx, drainKey{}, drain)
}

// UntilDrain returns a context for a handler that holds its request: it ends
// with ErrDraining as its cause when the server begins to shut down. The
// caller must call stop. It costs no goroutine: ten thousand polls are held.
func UntilDrain(ctx context.Context) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	drain, ok := ctx.Value(drainKey{}).(context.Context)
	if !ok {
		return held, func() { cancel(nil) }
	}
	forget := context.AfterFunc(drain, func() { cancel(ErrDraining) })
	return held, func() { forget(); cancel(nil) }
}
