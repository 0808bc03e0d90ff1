// Package operators is the operators' door: the HTTP API under /operator/v1
// that the CLI and other programs use to run the control plane.
//
// Every call but the OpenAPI document needs "Authorization: Bearer <API
// token>"; no cookie is ever read and no CORS header sent, so a page in a
// browser can't borrow an operator's rights, whatever name it was reached by.
// A token of tenant.Default runs the installation: it reaches every tenant. One
// of another tenant reaches that one alone: the others look as if they were not
// there. It can't change what its tenant may use: suspension, subscription,
// apps and quotas.
//
// Every change commits an audit fact whose actor is the token. Bodies are JSON
// in snake_case, decoded strictly: an unknown name, a duplicate or a wrong type
// is refused with one sentence. Times are UTC; durations and sizes say their
// unit in their name. A failure is a problem.Problem.
//
// The files api*.go hold the bodies and paths; the CLI uses the same types.
package operators
