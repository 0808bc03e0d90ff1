package usage

import (
	"cmp"
	"errors"
	"fmt"
)

// Caps are the hard limits of decides. A zero field means its default; there
// is no value that means "no limit" but for TokensPerTask.
type Caps struct {
	DecisionsPerAttempt int   // default 200
	TokensPerTask       int64 // input and output that providers reported, over all attempts; 0: no cap
	Concurrent          int   // decides that call a provider at once; default 64
	ConcurrentPerHost   int   // of one host; default 16, and a host's own limit may be lower
	RequestBytes        int64 // requests in memory at once, screenshots included; default 256 MiB
}

// WithDefaults fills in the zero fields.
func (c Caps) WithDefaults() Caps {
	c.DecisionsPerAttempt = cmp.Or(c.DecisionsPerAttempt, 200)
	c.Concurrent = cmp.Or(c.Concurrent, 64)
	c.ConcurrentPerHost = cmp.Or(c.ConcurrentPerHost, 16)
	c.RequestBytes = cmp.Or(c.RequestBytes, 256<<20)
	return c
}

// minRequestBytes leaves room for one request of the largest size.
const minRequestBytes = 16 << 20

// Validate reports every problem at once; zero values are fine.
func (c Caps) Validate() error {
	c = c.WithDefaults()
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(c.DecisionsPerAttempt >= 1, "an attempt may make at least 1 decision, not %d", c.DecisionsPerAttempt)
	check(c.TokensPerTask >= 0, "a task's tokens are capped at a positive number, or 0 for no cap, not %d", c.TokensPerTask)
	check(c.Concurrent >= 1, "at least 1 decide may run at once, not %d", c.Concurrent)
	check(c.ConcurrentPerHost >= 1, "at least 1 decide of a host may run at once, not %d", c.ConcurrentPerHost)
	check(c.RequestBytes >= minRequestBytes, "decides may hold at least %d bytes of requests, not %d", minRequestBytes, c.RequestBytes)
	return errors.Join(wrong...)
}
