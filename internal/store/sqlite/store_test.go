package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"interlock/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashVariable); path != "" {
		if err := untilKilled[os.Getenv(workVariable)](path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// hand is a clock that a test moves.
type hand struct{ us atomic.Int64 }

func newHand() *hand {
	h := &hand{}
	h.us.Store(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixMicro())
	return h
}

func (h *hand) now() time.Time          { return time.UnixMicro(h.us.Load()).UTC() }
func (h *hand) advance(d time.Duration) { h.us.Add(d.Microseconds()) }

// open opens a store that is closed with the test.
func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func harness(t testing.TB) storetest.Harness {
	clock := newHand()
	cfg := Config{Path: filepath.Join(t.TempDir(), "interlock.db"), Now: clock.now}
	s := open(t, cfg)
	return storetest.Harness{Store: s, Now: clock.now, Advance: clock.advance, Reopen: func() storetest.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cfg)
		return s
	}}
}

func TestTheStoreKeepsEveryPromise(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}
