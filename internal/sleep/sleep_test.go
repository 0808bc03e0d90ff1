package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/sleep"
)

func TestASleepLastsItsTimeUnlessTheContextEnds(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for name, c := range map[string]struct {
		end  time.Duration // when the context ends
		want error
		took time.Duration
	}{
		"the context goes on":            {time.Hour, nil, time.Minute},
		"the context ends meanwhile":     {time.Second, stopped, time.Second},
		"the context had ended long ago": {0, stopped, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.end == 0 {
					cancel(stopped)
				} else {
					defer time.AfterFunc(c.end, func() { cancel(stopped) }).Stop()
				}
				began := time.Now()
				if err := sleep.For(ctx, time.Minute); err != c.want || time.Since(began) != c.took {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), c.want, c.took)
				}
			})
		})
	}
}
