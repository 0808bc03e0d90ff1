// Package clocktest is the clock that a test moves by hand: it stands still
// until it is told to go on. Where goroutines must wait for time to pass, use
// testing/synctest instead.
package clocktest

import (
	"sync"
	"time"
)

// Clock shows one time until Advance. Make it with New.
type Clock struct {
	mu sync.Mutex
	at time.Time // guarded by mu
}

// New returns a clock that shows noon UTC on 30 November 2026.
func New() *Clock { return &Clock{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock on by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
