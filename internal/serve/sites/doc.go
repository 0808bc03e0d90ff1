// Package sites is the sites' door: resolve, which proposes, and the apps'
// operations, which run.
//
// Every answer under /api/, also to a path that is not there, is an Envelope:
// whether it went well, the data or the error, and what is known of the call.
// A program acts on error.code, which is the same word as in a problem of the
// other doors. Each call carries a token of its own, which the site signed a
// moment ago; 401 and 403 carry the challenge of RFC 6750.
package sites
