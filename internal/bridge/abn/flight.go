package abn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"interlock/internal/fault"
)

// flightKey tells answers apart: what one GUID brought is not another's.
type flightKey struct {
	owner  [sha256.Size]byte // hash of the GUID
	number Number
}

// flight is one request that callers share.
type flight struct {
	done    chan struct{} // closed once verdict and err are set
	verdict verdict
	err     error
	cancel  context.CancelCauseFunc
	waiting int // callers; guarded by flights.mu
}

// flights are the requests under way, and the answers that are kept.
type flights struct {
	logger *slog.Logger

	mu       sync.Mutex
	underWay map[flightKey]*flight // those that may be joined; guarded by mu
	kept     *cache                // guarded by mu
}

func newFlights(c WebConfig) *flights {
	return &flights{logger: c.Logger, underWay: map[flightKey]*flight{}, kept: newCache(c)}
}

// join returns the kept answer of the key, or that of the request under way, or
// that of a new one, which ask makes. It blocks until then, or until ctx ends.
// ask runs under a context of its own, with the values of ctx, that ends when
// the last caller has left.
func (f *flights) join(ctx context.Context, key flightKey, ask func(context.Context) (verdict, error)) (verdict, error) {
	if ctx.Err() != nil {
		return verdict{}, ended(ctx)
	}
	f.mu.Lock()
	if v, ok := f.kept.get(key); ok {
		f.mu.Unlock()
		return v, nil
	}
	shared, ok := f.underWay[key]
	if !ok {
		shared = f.start(ctx, key, ask)
	}
	shared.waiting++
	f.mu.Unlock()
	select {
	case <-shared.done:
		return shared.verdict, shared.err
	case <-ctx.Done():
		f.abandon(key, shared)
		return verdict{}, ended(ctx)
	}
}

// start makes a request that others can join. f.mu is held.
func (f *flights) start(ctx context.Context, key flightKey, ask func(context.Context) (verdict, error)) *flight {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	shared := &flight{done: make(chan struct{}), cancel: cancel}
	f.underWay[key] = shared
	go func() {
		defer cancel(nil)
		shared.verdict, shared.err = f.guarded(own, ask)
		f.land(key, shared)
	}()
	return shared
}

// guarded runs ask and makes an error of a panic: what the register writes must
// not end the process. The panic's value may hold the address, so it is dropped.
func (f *flights) guarded(ctx context.Context, ask func(context.Context) (verdict, error)) (v verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.logger.ErrorContext(ctx, "an ABN look-up panicked", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = fault.ErrInternal
		}
	}()
	return ask(ctx)
}

// land publishes a request's answer and keeps it, unless a purge came between.
func (f *flights) land(key flightKey, shared *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.underWay[key] == shared {
		delete(f.underWay, key)
		if shared.err == nil {
			f.kept.put(key, shared.verdict)
		}
	}
	close(shared.done)
}

var errNobodyWaits = errors.New("nobody waits for the answer any more")

// abandon counts a caller out. The request ends with the last of them, and
// nobody joins it any more.
func (f *flights) abandon(key flightKey, shared *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared.waiting--; shared.waiting > 0 {
		return
	}
	if f.underWay[key] == shared {
		delete(f.underWay, key)
	}
	shared.cancel(errNobodyWaits)
}

// purge forgets the answers that match, and returns how many were kept. Every
// request under way may bring a copy from before: its callers get it, nobody
// else does.
func (f *flights) purge(match func(verdict) bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.underWay)
	return f.kept.drop(match)
}
