package abn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/logtest"
)

// R-BRIDGE-8
func TestALaneTakesSoManyAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newLanes(WebConfig{Concurrent: 2}.withDefaults())
		l := all.of([32]byte{1})
		for range 2 {
			if err := l.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		entered := make(chan error, 1)
		go func() { entered <- l.enter(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-entered:
			t.Fatalf("a third entered: %v", err)
		default:
		}
		if err := all.of([32]byte{2}).enter(t.Context()); err != nil {
			t.Errorf("another GUID waits too: %v", err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errTimeout)
		defer cancel()
		if err := l.enter(ctx); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errTimeout) {
			t.Errorf("who waited too long got %v", err)
		}
		l.leave(t.Context(), nil)
		if err := <-entered; err != nil {
			t.Errorf("who waited got %v", err)
		}
	})
}

// pass enters and leaves with the outcome; it returns why it could not enter.
func pass(t *testing.T, l *lane, outcome error) error {
	t.Helper()
	if err := l.enter(t.Context()); err != nil {
		return err
	}
	l.leave(t.Context(), outcome)
	return nil
}

// R-BRIDGE-8
func TestALaneThatKeepsFailingIsShutForAPause(t *testing.T) {
	t.Parallel()
	clock, log := clocktest.New(), &logtest.Log{}
	l := newLanes(WebConfig{Now: clock.Now, Logger: log.Logger()}.withDefaults()).of([32]byte{})
	down := odd("down")
	steps := []struct {
		name    string
		pass    time.Duration // before it
		outcome error
		shut    bool
	}{
		{"a failure", 0, down, false}, {"another", 0, down, false}, {"a third", 0, down, false}, {"a fourth", 0, down, false},
		{"an answer, so that counting begins anew", 0, nil, false},
		{"a failure", 0, down, false}, {"another", 0, down, false},
		{"a refused GUID is an answer too", 0, ErrRejected, false},
		{"a failure", 0, down, false}, {"another", 0, down, false},
		{"one about another number is an answer too", 0, ErrUnavailable.Because(ErrElsewhere), false},
		{"a failure", 0, down, false}, {"another", 0, down, false}, {"a third", 0, down, false}, {"a fourth", time.Hour, down, false},
		{"the fifth in a row", 0, down, false},
		{"now it is shut", 0, nil, true},
		{"and stays so", pause - time.Nanosecond, nil, true},
		{"after the pause one tries and fails", time.Nanosecond, down, false},
		{"so it is shut again", pause / 2, nil, true},
		{"one tries again and is answered", pause / 2, nil, false},
		{"so it is open", 0, down, false}, {"for more failures", 0, down, false}, {"than one", 0, down, false}, {"or two", 0, down, false}, {"or four", 0, down, false},
		{"shut", 0, nil, true},
		{"a clock that was set back does not make it longer", -time.Hour, nil, false},
	}
	for _, s := range steps {
		clock.Advance(s.pass)
		err := pass(t, l, s.outcome)
		if s.shut != errors.Is(err, errShut) || (err != nil) != s.shut {
			t.Fatalf("%s: got %v", s.name, err)
		}
		if e := fault.Of(err); s.shut && (e.Code != "upstream_unavailable" || !e.Retryable || e.RetryAfter <= 0 || e.RetryAfter > pause) {
			t.Errorf("%s: got %+v", s.name, e)
		}
	}
	if n := strings.Count(log.String(), "keeps failing"); n != 3 {
		t.Errorf("the log tells %d times of three: %s", n, log.String())
	}
}

// R-BRIDGE-8
func TestOneAtATimeTriesALaneThatWasShut(t *testing.T) {
	t.Parallel()
	clock := clocktest.New()
	l := newLanes(WebConfig{Now: clock.Now}.withDefaults()).of([32]byte{})
	for range tolerated {
		if err := pass(t, l, odd("down")); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(pause)
	if err := l.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.enter(t.Context()); !errors.Is(err, errShut) {
		t.Errorf("a second tries at the same time: %v", err)
	}
	abandoned, cancel := context.WithCancelCause(t.Context())
	cancel(errNobodyWaits)
	l.leave(abandoned, ended(abandoned))
	if err := pass(t, l, nil); err != nil {
		t.Errorf("one that nobody waited for counts as a failure: %v", err)
	}
	if err := pass(t, l, nil); err != nil {
		t.Errorf("the lane is still shut: %v", err)
	}
}
