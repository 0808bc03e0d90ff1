package retention_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/retention"
)

// bin is a store that has something to remove at every look.
type bin struct {
	looks, reclaims int
	removes         int   // at each look
	broken          error // of Reclaim
	stuck           error // of Prune, beside what it removes
	reclaimedAt     []time.Duration
	start           time.Time
	failures        int
}

func (b *bin) loop(every time.Duration) *retention.Loop {
	return &retention.Loop{What: "things", Every: every, Logger: slog.New(slog.DiscardHandler), Failed: func() { b.failures++ },
		Prune: func(context.Context) (int, error) { b.looks++; return b.removes, b.stuck },
		Reclaim: func(context.Context) error {
			b.reclaims++
			b.reclaimedAt = append(b.reclaimedAt, time.Since(b.start))
			return b.broken
		}}
}

// run lets the loop work for so long on a fake clock.
func (b *bin) run(t *testing.T, every, span time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b.start = time.Now()
		ctx, stop := context.WithTimeout(t.Context(), span)
		defer stop()
		b.loop(every).Run(ctx)
	})
}

// R-CLOUD-6
func TestSpaceIsGivenBackSoonAndNotAtEveryLook(t *testing.T) {
	t.Parallel()
	b := &bin{removes: 1}
	b.run(t, time.Minute, 2*time.Hour-time.Second)
	if b.looks != 120 || b.reclaims != 4 || b.reclaimedAt[0] != 0 || b.reclaimedAt[1] != 30*time.Minute {
		t.Errorf("%d looks, space given back %d times, at %v; want 120 and 4, half an hour apart", b.looks, b.reclaims, b.reclaimedAt)
	}
}

func TestALookThatRemovesNothingGivesNothingBack(t *testing.T) {
	t.Parallel()
	b := &bin{}
	b.run(t, time.Minute, time.Hour)
	if b.looks < 60 || b.reclaims != 0 {
		t.Errorf("%d looks, space given back %d times", b.looks, b.reclaims)
	}
}

func TestWhatWasNotGivenBackIsTriedAtTheNextLook(t *testing.T) {
	t.Parallel()
	b := &bin{removes: 1, broken: errors.New("disk full")}
	b.run(t, time.Minute, 10*time.Minute-time.Second)
	if b.reclaims != 10 || b.failures != 10 {
		t.Errorf("tried %d times, told of %d failures; want 10 of each", b.reclaims, b.failures)
	}
}

func TestALookThatFailedIsTold(t *testing.T) {
	t.Parallel()
	b := &bin{removes: 1, stuck: errors.New("disk full")}
	b.run(t, time.Minute, 10*time.Minute-time.Second)
	if b.looks != 10 || b.failures != 10 || b.reclaims != 0 {
		t.Errorf("%d looks, told of %d failures, space given back %d times; want 10, 10 and 0", b.looks, b.failures, b.reclaims)
	}
}

// R-CLOUD-6
func TestWhatIsRemovedBetweenLooksIsGivenBackAtOnceOrLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bin{broken: errors.New("disk full"), start: time.Now()}
		l := b.loop(time.Minute)
		if err := l.GiveBack(t.Context()); !errors.Is(err, b.broken) || b.reclaims != 1 {
			t.Fatalf("%v after %d tries", err, b.reclaims)
		}
		b.broken = nil
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		l.Run(ctx)
		if b.reclaims != 2 {
			t.Errorf("tried %d times in all; want once by the loop, which is enough", b.reclaims)
		}
	})
}

func TestSweepGoesOnUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := 1201
		step := func(_ context.Context, _ time.Time, limit int) (int, error) {
			n := min(limit, left)
			left -= n
			return n, nil
		}
		if n, err := retention.Sweep(t.Context(), time.Now(), step); n != 1201 || err != nil || left != 0 {
			t.Errorf("removed %d, %v; %d left", n, err, left)
		}
		broken := errors.New("broken")
		if n, err := retention.Sweep(t.Context(), time.Now(), func(context.Context, time.Time, int) (int, error) { return 7, broken }); n != 7 || !errors.Is(err, broken) {
			t.Errorf("got %d, %v; want what was removed beside the error", n, err)
		}
	})
}
