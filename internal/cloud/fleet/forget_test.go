package fleet_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/tenant"
)

// R-HOST-1
func TestAnEnrolmentTokenIsListedForNinetyDaysAfterItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := fleet.New(open(t, time.Now), &told{}, fleet.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		made, _, err := s.CreateEnrolToken(t.Context(), fleet.NewEnrolToken{Tenant: tenant.Default, By: operator})
		if err != nil {
			t.Fatal(err)
		}
		const day = 24 * time.Hour
		time.Sleep(time.Until(made.ExpiresAt.Add(90*day - 30*time.Minute))) // nothing runs yet
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		for _, c := range []struct{ wait, listed int }{{5, 1}, {60, 0}} { // minutes
			time.Sleep(time.Duration(c.wait) * time.Minute)
			synctest.Wait()
			left, err := s.EnrolTokens(t.Context(), tenant.Default)
			if err != nil || len(left) != c.listed {
				t.Errorf("after another %d minutes: %d are listed, %v; want %d", c.wait, len(left), err, c.listed)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
