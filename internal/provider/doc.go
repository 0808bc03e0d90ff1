// Package provider holds what the two wire clients share, so that neither
// writes it twice: the settings of a client, one bounded HTTP exchange, the
// one retry policy, the classes of failure and the limits of a screenshot.
// The sub-packages hold a vendor's request shape and reply parser each.
//
// A client is stateless between decisions, apart from connections and from
// what it learned about its model; a crash loses nothing. A decision is a pure
// call of a model: repeating one whose answer was lost does no harm but costs
// its tokens again, which nobody reports to us. They stay unknown.
//
// An answer in the form of a schema is asked for by the vendor's structured
// output, and by a forced call of one tool where there is none. Which a model
// takes is learned from its refusal, like the force itself.
//
// One deadline covers a whole decision with its retries. Retries happen only
// here: for rate limits, overload, server errors and transport faults, at most
// three of them, with growing, jittered pauses. A quota or spend limit, a
// refused key and a bad request fail at once. A pause that the provider asks
// for is kept; one that would outlast the deadline fails at once, and reaches
// the caller unchanged. Waits use this process's monotonic clock; a
// Retry-After given as a date is read against the reply's own Date, so the
// two machines' clocks needn't agree.
//
// Nothing that a provider writes in an error reaches our texts: a failure is a
// reason, a sentence of ours, the status and the request id. Providers echo
// keys and prompts in their errors.
package provider
