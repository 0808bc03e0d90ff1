package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
)

// ErrUnforceable is in the chain of a bad_request whose message is about the
// forced call, or about the thinking that had to be off for it: some models
// always think, and take no forced call.
var ErrUnforceable = errors.New("the model can't be forced to call a tool")

// ErrUnformed is in the chain of a bad_request whose message is about the
// vendor's structured output: some models and servers don't know it.
var ErrUnformed = errors.New("the model can't be asked for structured output")

// failure is one exchange that brought no reply.
type failure struct {
	reason     llm.Reason
	detail     string
	again      bool // the same request may work in a moment
	retryAfter time.Duration
	requestID  string
	err        error
}

func (f *failure) from(requestID string) *failure {
	if requestID != "" {
		f.requestID = requestID
	}
	return f
}

// broken classes an exchange that ended without a whole reply.
func broken(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		u := ended(ctx)
		return &failure{reason: u.Reason, detail: u.Detail, err: u.Err}
	}
	f := &failure{reason: llm.Transport, again: true, err: cause(err), detail: "the connection to the provider failed; check the base URL, the network and that the server runs"}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		f.detail = "the provider's reply broke off"
	}
	if unverified(err) {
		f.again, f.detail = false, "the provider's TLS certificate can't be verified; check the base URL and the certificate authorities"
	}
	return f
}

// ended says why ctx is over. A cause that already is an *llm.Unavailable, for
// instance a lost lease, keeps its reason.
func ended(ctx context.Context) *llm.Unavailable {
	var u *llm.Unavailable
	if errors.As(context.Cause(ctx), &u) {
		return u
	}
	return llm.AsUnavailable(ctx.Err())
}

// cause keeps of a transport error what is ours or the operating system's.
// The rest is dropped: net/http quotes bytes of the peer in some errors.
func cause(err error) error {
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		return op
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return fmt.Errorf("exchange with the provider: %T", err)
	}
}

func unverified(err error) bool {
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &host) || errors.As(err, &authority) || errors.As(err, &invalid) || errors.As(err, &certificate)
}

// complaint is the error document of both vendors, read leniently: compatible
// servers write numbers for codes, and a string for the error.
type complaint struct {
	Type, Code, Message, Details, RequestID string
}

func readComplaint(body []byte) complaint {
	var d struct {
		Error     jsontext.Value `json:"error"`
		RequestID jsontext.Value `json:"request_id"`
	}
	var e struct {
		Type    jsontext.Value `json:"type"`
		Code    jsontext.Value `json:"code"`
		Message jsontext.Value `json:"message"`
		Details struct {
			Code jsontext.Value `json:"error_code"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &d) != nil {
		return complaint{}
	}
	c := complaint{RequestID: identifier(text(d.RequestID))}
	if json.Unmarshal(d.Error, &e) == nil {
		c.Type, c.Code, c.Message, c.Details = text(e.Type), text(e.Code), strings.ToLower(text(e.Message)), text(e.Details.Code)
	}
	return c
}

// text returns a JSON string's content, else "".
func text(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// verdict is what one row of the tables below concludes.
type verdict struct {
	reason llm.Reason
	again  bool
	detail string
}

var (
	outOfQuota = verdict{llm.QuotaExhausted, false, "the provider's quota or spend limit is used up; raise it in the provider's console"}
	filtered   = verdict{llm.Refused, false, "the provider's content filter declined the request"}
	refusedKey = verdict{llm.Auth, false, "the provider refused our key; check the key and what it may use"}
	tooLarge   = verdict{llm.BadRequest, false, "the provider says that the request is too large; lower the image edge setting or shorten the prompts"}
)

// byName are the names in an error document that say more than its status.
// The vendors' names don't collide, and gateways mix them, so there is one
// table.
var byName = map[string]verdict{
	"insufficient_quota":             outOfQuota,
	"billing_hard_limit_reached":     outOfQuota,
	"billing_not_active":             outOfQuota,
	"billing_error":                  outOfQuota,
	"contract_spend_limit_reached":   outOfQuota,
	"enforced_spend_limit_reached":   outOfQuota,
	"content_filter":                 filtered,
	"content_policy_violation":       filtered,
	"image_content_policy_violation": filtered,
	"context_length_exceeded":        tooLarge,
	"request_too_large":              tooLarge,
	"authentication_error":           refusedKey,
	"invalid_api_key":                refusedKey,
	"overloaded_error":               {llm.Overloaded, true, "the provider is overloaded; try again later"},
}

// byStatus is the rest. A status that is not listed is judged by its hundred.
var byStatus = map[int]verdict{
	http.StatusUnauthorized:          refusedKey,
	http.StatusPaymentRequired:       outOfQuota,
	http.StatusForbidden:             refusedKey,
	http.StatusNotFound:              {llm.BadRequest, false, "the provider knows no such model or path; check the model's name and the base URL"},
	http.StatusRequestTimeout:        {llm.Transport, true, "the provider gave up reading the request"},
	http.StatusConflict:              {llm.ProviderError, true, "the provider answered with a conflict"},
	http.StatusRequestEntityTooLarge: tooLarge,
	http.StatusTooManyRequests:       {llm.RateLimited, true, "the provider's rate limit is reached; try again later"},
	http.StatusServiceUnavailable:    {llm.Overloaded, true, "the provider is overloaded; try again later"},
	529:                              {llm.Overloaded, true, "the provider is overloaded; try again later"},
}

// spendPhrases tell an account that is out of money from a wrong request where
// the vendor gives both one status and one type.
var spendPhrases = []string{"credit balance", "usage limits", "spend limit"}

// about says which of the ways to ask the message is about; nil: none.
func (c complaint) about() error {
	mentions := func(word string) bool { return strings.Contains(c.Message, word) }
	var wrong []error
	if slices.ContainsFunc([]string{"thinking", "tool_choice"}, mentions) {
		wrong = append(wrong, ErrUnforceable)
	}
	if slices.ContainsFunc([]string{"output_config", "response_format", "json_schema", "structured output"}, mentions) {
		wrong = append(wrong, ErrUnformed)
	}
	return errors.Join(wrong...)
}

// classify reads a reply whose status is not 200.
func classify(resp *http.Response, body []byte) *failure {
	c := readComplaint(body)
	v := judge(resp.StatusCode, c)
	f := &failure{reason: v.reason, again: v.again, requestID: c.RequestID}
	if v.reason == llm.BadRequest {
		f.err = c.about()
	}
	f.detail = fmt.Sprintf("%s (HTTP %d)", v.detail, resp.StatusCode)
	if v.reason == llm.RateLimited || v.reason == llm.Overloaded || v.reason == llm.ProviderError || v.reason == llm.QuotaExhausted {
		f.retryAfter = retryAfter(resp.Header)
	}
	return f
}

func judge(status int, c complaint) verdict {
	for _, name := range []string{c.Details, c.Code, c.Type} {
		if v, ok := byName[name]; ok && status >= 400 {
			return v
		}
	}
	for _, phrase := range spendPhrases {
		if status >= 400 && status < 500 && strings.Contains(c.Message, phrase) {
			return outOfQuota
		}
	}
	v, listed := byStatus[status]
	switch {
	case listed:
		return v
	case status >= 500:
		return verdict{llm.ProviderError, true, "the provider failed; try again later"}
	case status >= 400:
		return verdict{llm.BadRequest, false, "the provider refused the request; check that the model takes forced tool calls and pictures"}
	case status >= 300:
		return verdict{llm.ProviderError, false, "the provider answered with a redirect, which is not followed; check the base URL"}
	default:
		return verdict{llm.ProviderError, false, "the provider answered with a status that its API doesn't use; check the base URL"}
	}
}

// maxRetryAfter bounds what is taken for a sensible answer.
const maxRetryAfter = 366 * 24 * time.Hour

// retryAfter reads how long the provider wants to be left alone; zero: it
// didn't say. Milliseconds are the more exact word where both are given.
func retryAfter(h http.Header) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := number(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func number(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0, false
	}
	if f > float64(maxRetryAfter)/float64(unit) {
		return maxRetryAfter, true
	}
	return time.Duration(f * float64(unit)), true
}
