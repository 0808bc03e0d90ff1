// Package waittest waits for what other goroutines, or another process, will
// bring about in their own time. A test that can run in a testing/synctest
// bubble does not need it.
package waittest

import (
	"testing"
	"time"
)

// tick is how often a test looks: soon enough, and no load worth naming.
const tick = 5 * time.Millisecond

// For looks until ok holds and returns what it saw then. After limit the test
// fails and names what was waited for and what was seen last. Call it on the
// goroutine of the test.
func For[T any](t testing.TB, limit time.Duration, what string, ok func() (T, bool)) T {
	t.Helper()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	deadline := time.After(limit)
	for {
		v, done := ok()
		if done {
			return v
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("after %v: not so that %s; last seen %+v", limit, what, v)
		}
	}
}

// Until is For where there is nothing to see but whether it holds.
func Until(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	For(t, limit, what, func() (bool, bool) { h := holds(); return h, h })
}
