// Package hosts is the host agents' door: the calls of hostapi, and their
// description at /internal/v1/openapi.json.
//
// Each call is authenticated by the host's bearer credential (enroll by its
// one-use token), must speak the protocol's version and carries an
// idempotency key. A call about an attempt acts for exactly one fence: the
// task and attempt of its path, the tenant and host of its credential; so no
// host can speak for another, whatever its body says. Every 409 says in its
// code and its retryable member what it is and whether it is final.
//
// Bodies are bounded before they are read. A decide's screenshot lives in the
// memory of that one request, from the body to the provider, and is in no log,
// no error and no record; how many such bodies are held at once is bounded in
// bytes, and a decide beyond it is turned away unread.
//
// The door keeps no state: leases, claims and decisions are the rooms'.
package hosts
