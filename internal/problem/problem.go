// Package problem is the wire form of a failure (RFC 9457, problem+json) and
// both directions of its mapping: a door writes From(err), a client reads
// Problem.Err. The same failure has the same code on both sides of the wire.
package problem

import (
	"errors"
	"fmt"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
)

// MediaType is the Content-Type of an encoded Problem.
const MediaType = "application/problem+json"

// Problem is the body of every answer that isn't a success.
type Problem struct {
	Type   string `json:"type"`   // "urn:interlock:problem:<code>", stable
	Title  string `json:"title"`  // the kind, in words
	Status int    `json:"status"` // as in the status line
	Code   string `json:"code"`   // stable machine name
	Detail string `json:"detail"` // one sentence that says what to do

	// Retryable says whether the same request may succeed later; a problem
	// that is not retryable is final for that request.
	Retryable    bool   `json:"retryable"`
	RetryAfterMS int64  `json:"retry_after_ms,omitzero"`
	RequestID    string `json:"request_id,omitzero"`

	// Decision is set where no decision came (llm.Unavailable).
	Decision *Decision `json:"decision,omitzero"`
}

// Decision is what is known of a failed decision; Code then is its reason.
type Decision struct {
	Usage             llm.Usage `json:"usage"`
	Provider          string    `json:"provider,omitzero"`
	Model             string    `json:"model,omitzero"`
	ProviderRequestID string    `json:"provider_request_id,omitzero"`
}

const typePrefix = "urn:interlock:problem:"

// kinds is the one table of kind to status and title.
var kinds = map[fault.Kind]struct {
	status int
	title  string
}{
	fault.Internal:        {500, "Internal error"},
	fault.Invalid:         {400, "Invalid request"},
	fault.Forbidden:       {403, "Not allowed"},
	fault.NotFound:        {404, "Not found"},
	fault.Conflict:        {409, "Conflict"},
	fault.Exhausted:       {429, "Limit reached"},
	fault.Unavailable:     {503, "Unavailable"},
	fault.Unauthenticated: {401, "Not authenticated"},
}

// statuses overrides a kind's status for codes that HTTP has a better one for.
var statuses = map[string]int{
	"idempotency_conflict":   422,
	"body_too_large":         413,
	"unsupported_media_type": 415,
	"method_not_allowed":     405,
	"protocol_version":       426,
	"storage_full":           507,
	"subscription_inactive":  402,
	"credential_missing":     424,
	"credential_rejected":    502,
	"upstream_unavailable":   502,
}

// reasons gives each llm.Reason the kind it travels as, and whether a repeat
// of the same request may help.
var reasons = map[llm.Reason]struct {
	kind      fault.Kind
	retryable bool
}{
	llm.Refused:              {fault.Unavailable, false},
	llm.Truncated:            {fault.Unavailable, false},
	llm.NoCall:               {fault.Unavailable, false},
	llm.ManyCalls:            {fault.Unavailable, false},
	llm.UnknownTool:          {fault.Unavailable, false},
	llm.InvalidArguments:     {fault.Unavailable, false},
	llm.RateLimited:          {fault.Unavailable, false},
	llm.QuotaExhausted:       {fault.Unavailable, false},
	llm.BudgetExhausted:      {fault.Exhausted, false},
	llm.Overloaded:           {fault.Unavailable, false},
	llm.Auth:                 {fault.Unavailable, false},
	llm.BadRequest:           {fault.Invalid, false},
	llm.Timeout:              {fault.Unavailable, false},
	llm.Transport:            {fault.Unavailable, false},
	llm.ProviderError:        {fault.Unavailable, false},
	llm.Cancelled:            {fault.Conflict, false},
	llm.LeaseLost:            {fault.Conflict, false},
	llm.DecideInFlight:       {fault.Conflict, true},
	llm.HostUnauthorized:     {fault.Unauthenticated, false},
	llm.PlannerForbidden:     {fault.Forbidden, false},
	llm.PlannerNotConfigured: {fault.Unavailable, false},
	llm.StorageFull:          {fault.Unavailable, false},
}

// From maps err to its wire form. An *llm.Unavailable keeps its reason as the
// code; anything unclassified is "internal" and tells nothing.
func From(err error) Problem {
	var u *llm.Unavailable
	if errors.As(err, &u) {
		return fromDecision(u)
	}
	e := fault.Of(err)
	p := build(e.Kind, e.Code, e.Detail)
	p.Retryable, p.RetryAfterMS = e.Retryable, millis(e.RetryAfter)
	return p
}

func fromDecision(u *llm.Unavailable) Problem {
	r, ok := reasons[u.Reason]
	if !ok {
		return From(fmt.Errorf("reason %q is not of the closed list", u.Reason))
	}
	detail := u.Detail
	if detail == "" {
		detail = "there is no decision: " + string(u.Reason)
	}
	p := build(r.kind, string(u.Reason), detail)
	p.Retryable, p.RetryAfterMS = r.retryable, millis(u.RetryAfter)
	p.Decision = &Decision{Usage: u.Usage, Provider: u.Provider, Model: u.Model, ProviderRequestID: u.ProviderRequestID}
	return p
}

func build(kind fault.Kind, code, detail string) Problem {
	k, ok := kinds[kind]
	if !ok {
		k = kinds[fault.Internal]
	}
	status := k.status
	if s, ok := statuses[code]; ok {
		status = s
	}
	return Problem{Type: typePrefix + code, Title: k.title, Status: status, Code: code, Detail: detail}
}

func millis(d time.Duration) int64 { return max(0, d.Milliseconds()) }

// maxRetryAfter bounds what is taken of a wait from outside, which as
// milliseconds could be more than a Duration holds.
const maxRetryAfter = 366 * 24 * time.Hour

// Err maps a received problem back: to an *llm.Unavailable where it is about a
// decision, else to a *fault.Error of the kind that the status belongs to.
func (p Problem) Err() error {
	after := time.Duration(min(max(0, p.RetryAfterMS), maxRetryAfter.Milliseconds())) * time.Millisecond
	if _, known := reasons[llm.Reason(p.Code)]; known && p.Decision != nil {
		d := p.Decision
		return &llm.Unavailable{Reason: llm.Reason(p.Code), RetryAfter: after, Detail: p.Detail,
			Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID}
	}
	e := fault.New(kindOf(p.Status), p.Code, "%s", p.Detail)
	if p.Retryable {
		e = e.Retry(after)
	}
	return e
}

// kindOf maps a status back to a kind; an unknown one by its class.
func kindOf(status int) fault.Kind {
	for kind, k := range kinds {
		if k.status == status {
			return kind
		}
	}
	switch {
	case status == 507:
		return fault.Unavailable
	case status >= 400 && status < 500:
		return fault.Invalid
	case status == 502 || status == 504:
		return fault.Unavailable
	default:
		return fault.Internal
	}
}
