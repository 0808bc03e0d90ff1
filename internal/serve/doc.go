// Package serve is the HTTP kit that every door stands on, and one door a kind
// of caller: serve/hosts and serve/operators.
//
// The kit promises, for each request of each door:
//   - It has a request id, in the context, in the X-Request-Id header of the
//     answer and in every problem. An id from outside is kept only if a
//     trusted proxy sent it.
//   - It is logged once, when it ends, by method, route pattern, status, sizes,
//     duration, caller and request id: never a path, a query, a header or a body.
//   - A failure is problem+json with one sentence. Only this package turns an
//     error into a Problem; the cause of one that is our fault goes to the log,
//     beside the request id, and never to the caller.
//   - A panic is such a failure, and ends that request alone.
//   - It ends: headers, bodies and answers have deadlines. A handler that holds
//     a request says how long with Hold.
//
// Server.Run owns the listeners. When its context ends, /readyz turns 503,
// held requests are told (UntilDrain) and answer at once, requests in flight
// finish within the grace, and only then are connections cut. Nothing here
// keeps state that a crash could lose.
package serve
