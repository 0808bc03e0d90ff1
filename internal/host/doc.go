// Package host is the agent on a machine that has phones: it enrolls, keeps
// one poll held at the control plane, carries out the attempts that it is
// given, and reports how each ended.
//
// # What it promises
//
// One device is driven by one attempt at a time. Devices are given, or found as
// they come and go: what a finder sees no more is not offered any more, and an
// attempt that runs on it finds out by itself. The control plane's word on
// who holds an attempt is authoritative; the host only ever narrows it. A
// lease counts from when the request that renewed it was sent, so a slow
// answer never lengthens it. When no renewal was accepted for the self-fence
// time (two thirds of the lease) the run is cancelled as lease lost: Permit
// refuses, the device is not touched any more, and nothing is reported.
// An action on a lease older than the fresh time waits for a renewal. Before
// the first action of an attempt that may change something, the control plane
// has acknowledged the `acting` event.
//
// Events of an attempt arrive in order, each once, before its result; where
// the control plane can't be reached they are given up a bounded time after
// the end (flushTime), never the result. A result is on disk before it is
// sent and is sent, by this process or the next, until the control plane
// accepts it or answers that it never will, at most for a week (keepResult).
//
// # States
//
// A Host is open, running, draining (Drain was called: nothing new, Run ends
// when the last attempt has), and ended. An operator's drain only stops the
// claiming; the host stays. A revoked or unknown host cancels what it runs as
// lease lost, and Run ends with ErrRevoked or the control plane's own refusal.
//
// # Crash
//
// Killed before acting, the host leaves a lease to run out. Killed after an
// attempt ended, it finds the result in its outbox at the next start and
// sends it first. What an attempt does that can't be taken back is in its
// ledger, on disk, before it is sent: should that very attempt come to this host
// again, it ends as indeterminate without touching the device. The credential file always holds a credential that works:
// during a rotation it holds both, until the new one has been accepted once.
//
// # Clocks
//
// The wire carries relative times only. Leases are measured on the monotonic
// clock and on the wall clock, and the longer time counts, because the
// monotonic one stands still while a machine sleeps. A wall clock that jumps
// forward costs one renewal. The age of a credential and of a result in the
// outbox outlive the process and go by the wall clock: one that is set wrong
// rotates early or late, within the margin of a quarter of the lifetime.
package host
