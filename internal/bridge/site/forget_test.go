package site_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/bridge/site"
)

// forgetful counts what a store forgets.
type forgetful struct {
	site.Store
	rounds, forgotten int
}

func (f *forgetful) ForgetTokens(ctx context.Context, at time.Time, limit int) (int, error) {
	n, err := f.Store.ForgetTokens(ctx, at, limit)
	f.rounds++
	f.forgotten += n
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
		const tokens = 2500
		for i := range tokens {
			if fresh, err := store.SpendToken(t.Context(), "site_0123456789abcdef", time.Duration(i).String(), time.Now().Add(5*time.Minute)); !fresh || err != nil {
				t.Fatalf("token %d: %v, %v", i, fresh, err)
			}
		}
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		for _, want := range []struct {
			minute time.Duration
			total  int
		}{{6, 0}, {7, tokens}, {10, tokens}} {
			time.Sleep(want.minute*time.Minute + time.Second - time.Since(began))
			synctest.Wait()
			if store.forgotten != want.total {
				t.Errorf("after %d minutes %d are forgotten, want %d", want.minute, store.forgotten, want.total)
			}
		}
		if store.rounds > 10+tokens/1000 {
			t.Errorf("%d transactions in ten minutes", store.rounds)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
