package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"interlock/internal/clocktest"
	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/store/sqlite"
)

// busyStore refuses to note a first use with refusal, where that is set.
type busyStore struct {
	*sqlite.Store
	refusal error
}

func (s *busyStore) MarkUsed(ctx context.Context, id string, at, retireOld time.Time) error {
	if s.refusal != nil {
		return s.refusal
	}
	return s.Store.MarkUsed(ctx, id, at, retireOld)
}

// R-CLOUD-1: a store that is too busy to note a credential's first use refuses
// no host, and the next call notes it; any other failure is the call's.
func TestABusyStoreRefusesNoHostItsFirstCall(t *testing.T) {
	t.Parallel()
	w := &world{t: t, clock: clocktest.New()}
	w.store = open(t, w.clock.Now)
	s := &busyStore{Store: w.store}
	var err error
	if w.Service, err = fleet.New(s, &w.work, fleet.Config{Now: w.clock.Now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))}); err != nil {
		t.Fatal(err)
	}
	issued := w.enroll()
	presented, err := secret.Parse(secret.HostCredential, issued.Credential.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	used := func() bool {
		t.Helper()
		c, _, err := w.store.Credential(t.Context(), presented.ID)
		if err != nil {
			t.Fatal(err)
		}
		return !c.FirstUsed.IsZero()
	}

	s.refusal = errors.New("broken")
	w.wantRefused("a store that is broken", issued.Credential, s.refusal)
	s.refusal = fault.New(fault.Exhausted, "store_busy", "busy").Retry(0)
	w.wantGood("a store that is busy", issued.Credential, issued.Host.ID)
	if used() {
		t.Error("the use was noted although the store was busy")
	}
	s.refusal = nil
	w.wantGood("the next call", issued.Credential, issued.Host.ID)
	if !used() {
		t.Error("the next call did not note the use")
	}
}
