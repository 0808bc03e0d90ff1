package abn

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// After tolerated failures in a row a lane is shut for the pause.
const (
	tolerated = 5
	pause     = 10 * time.Second
)

// lanes holds one lane a GUID. There are as many as GUIDs that operators have
// set since the start, so they stay.
type lanes struct {
	config WebConfig
	mu     sync.Mutex
	byGUID map[[sha256.Size]byte]*lane // guarded by mu
}

func newLanes(c WebConfig) *lanes {
	return &lanes{config: c, byGUID: map[[sha256.Size]byte]*lane{}}
}

func (l *lanes) of(owner [sha256.Size]byte) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, ok := l.byGUID[owner]
	if !ok {
		own = &lane{slots: make(chan struct{}, l.config.Concurrent), now: l.config.Now, logger: l.config.Logger}
		l.byGUID[owner] = own
	}
	return own
}

// lane is the way to the register for one GUID: so many requests at a time, and
// none for a pause once it keeps failing. After the pause one request at a
// time tries; the first that is answered opens the lane.
type lane struct {
	slots  chan struct{} // one token a request under way
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	failures int       // in a row; guarded by mu
	shutAt   time.Time // when the last of too many failed; guarded by mu
	trying   bool      // one tries; guarded by mu
}

// enter waits for a slot. It returns ErrUnavailable if ctx ends before, or if
// the lane is shut. Who entered must leave.
func (l *lane) enter(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx)
	}
	if err := l.admit(); err != nil {
		<-l.slots
		return err
	}
	return nil
}

var errShut = errors.New("the register failed too often in a row; look-ups pause")

func (l *lane) admit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures < tolerated {
		return nil
	}
	wait := pause - l.now().Sub(l.shutAt)
	if wait > pause { // the clock was set back
		wait = 0
	}
	if wait > 0 || l.trying {
		return ErrUnavailable.Retry(max(wait, time.Second)).Because(errShut)
	}
	l.trying = true
	return nil
}

// leave gives the slot back and counts how the request under ctx ended. One
// that nobody waited for says nothing about the register; each answer that was
// understood, a refused GUID too, says that the service works: one number that
// was replaced, asked for again and again, shuts nobody out.
func (l *lane) leave(ctx context.Context, err error) {
	defer func() { <-l.slots }()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trying = false
	switch {
	case errors.Is(context.Cause(ctx), errNobodyWaits):
	case err == nil || errors.Is(err, ErrRejected) || errors.Is(err, ErrDisagrees) || errors.Is(err, ErrElsewhere):
		l.failures = 0
	default:
		l.failures++
		if l.failures >= tolerated {
			l.shutAt = l.now()
			l.logger.WarnContext(ctx, "the Australian Business Register keeps failing; look-ups with this GUID pause", "failures", l.failures, "pause", pause, "error", err)
		}
	}
}
