package usage

import (
	"cmp"

	"interlock/internal/fault"
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

// Problems lists everything that is wrong with c; zero values are fine.
func (c Caps) Problems() fault.Problems {
	c = c.WithDefaults()
	var wrong fault.Problems
	wrong.Require(c.DecisionsPerAttempt >= 1, "an attempt may make at least 1 decision, not %d", c.DecisionsPerAttempt)
	wrong.Require(c.TokensPerTask >= 0, "a task's tokens are capped at a positive number, or 0 for no cap, not %d", c.TokensPerTask)
	wrong.Require(c.Concurrent >= 1, "at least 1 decide may run at once, not %d", c.Concurrent)
	wrong.Require(c.ConcurrentPerHost >= 1, "at least 1 decide of a host may run at once, not %d", c.ConcurrentPerHost)
	wrong.Require(c.RequestBytes >= minRequestBytes, "decides may hold at least %d bytes of requests, not %d", minRequestBytes, c.RequestBytes)
	return wrong
}
