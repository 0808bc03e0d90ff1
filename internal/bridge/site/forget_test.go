package site_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/bridge/site"
)

// forgetful counts what a store forgets, and how often it is asked to.
type forgetful struct {
	site.Store
	asked, forgotten atomic.Int64
}

func (f *forgetful) ForgetTokens(ctx context.Context, at time.Time, limit int) (int, error) {
	n, err := f.Store.ForgetTokens(ctx, at, limit)
	f.asked.Add(1)
	f.forgotten.Add(int64(n))
	return n, err
}

// A spent token is remembered as long as it would be good, and not for ever.
func TestSpentTokensAreForgottenWhenTheyHaveExpired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &forgetful{Store: openStore(t, time.Now)}
		s, err := site.New(store, site.Config{Audience: audience, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		const tokens = 1200 // three steps
		began := time.Now()
		var all sync.WaitGroup
		for i := range tokens {
			all.Go(func() {
				if fresh, err := store.SpendToken(t.Context(), "site_0123456789abcdef", time.Duration(i).String(), began.Add(5*time.Minute)); !fresh || err != nil {
					t.Errorf("token %d: %v, %v", i, fresh, err)
				}
			})
		}
		all.Wait()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		for _, at := range []struct {
			minute           time.Duration
			forgotten, asked int64
		}{{6, 0, 6}, {7, tokens, 9}, {10, tokens, 12}} {
			time.Sleep(at.minute*time.Minute + time.Second - time.Since(began))
			synctest.Wait()
			if forgotten, asked := store.forgotten.Load(), store.asked.Load(); forgotten != at.forgotten || asked != at.asked {
				t.Errorf("after %d minutes %d are forgotten, asked %d times; want %d and %d", at.minute, forgotten, asked, at.forgotten, at.asked)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
