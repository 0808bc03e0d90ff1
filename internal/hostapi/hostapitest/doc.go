// Package hostapitest is a control plane for tests of hosts: a server with
// state that speaks the host protocol over real HTTP, on loopback or on a
// listener in memory (for testing/synctest), and that misbehaves when told to.
//
// It is stricter than the protocol asks: a call without its headers, with an
// unknown member or with a reused key and another body is refused and kept as
// a violation, and the test fails at its end. Its rules of leases, fences,
// receipts and credentials are those of the protocol, in memory and on the
// process's clock, which is the fake one inside a bubble. It plans nothing and
// calls no model: Options.Decide makes the decisions.
package hostapitest
