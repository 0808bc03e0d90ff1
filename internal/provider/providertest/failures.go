package providertest

import (
	"net/http"
	"time"

	"interlock/internal/llm"
)

// What the fakes write in their errors. Nothing of it may reach a text of ours.
const wordsCanary = "provider-words-5c1d"

// failing is one answer that is no reply.
type failing struct {
	name       string
	reply      func(Shape) Reply
	want       llm.Reason
	retryAfter time.Duration
	again      bool // worth another try
	nameless   bool // the answer has no request id
}

// complaint answers with the status and the vendor's error document, whose
// message holds the canary, the key and a piece of the prompt.
func complaint(status int, kind, code, message string, header map[string]string) func(Shape) Reply {
	return func(s Shape) Reply {
		return Reply{Status: status, Header: header, Body: s.complain(kind, code, message+" "+wordsCanary+" "+keyCanary+" "+promptCanary)}
	}
}

// body answers with the status and a body that is not the vendor's.
func body(status int, contentType, text string) func(Shape) Reply {
	return func(Shape) Reply {
		return Reply{Status: status, Header: map[string]string{"Content-Type": contentType}, Body: text + wordsCanary}
	}
}

var fiveMinutes = map[string]string{"Retry-After": "300"}

// R-PLAN-5, R-PLAN-11
var failures = []failing{
	{name: "400", reply: complaint(400, "invalid_request_error", "invalid_function_parameters", "bad", nil), want: llm.BadRequest},
	{name: "400 that invites a retry [kanban 47]", reply: complaint(400, "invalid_request_error", "", "bad", map[string]string{"Retry-After": "1", "X-Should-Retry": "true"}), want: llm.BadRequest},
	{name: "400 for an exhausted balance", reply: complaint(400, "invalid_request_error", "", "Your credit balance is too low", nil), want: llm.QuotaExhausted},
	{name: "400 of a content filter", reply: complaint(400, "invalid_request_error", "content_filter", "filtered", nil), want: llm.Refused},
	{name: "400 for a full context window", reply: complaint(400, "invalid_request_error", "context_length_exceeded", "too long", nil), want: llm.BadRequest},
	{name: "401 that echoes the key [litellm 18731 and 39385]", reply: complaint(401, "authentication_error", "invalid_api_key", "Incorrect API key provided", nil), want: llm.Auth},
	{name: "402", reply: complaint(402, "billing_error", "", "pay", nil), want: llm.QuotaExhausted},
	{name: "403", reply: complaint(403, "permission_error", "", "no", nil), want: llm.Auth},
	{name: "404", reply: complaint(404, "not_found_error", "model_not_found", "no model", nil), want: llm.BadRequest},
	{name: "413", reply: complaint(413, "request_too_large", "", "big", nil), want: llm.BadRequest},
	{name: "413 of a proxy, in HTML", reply: body(413, "text/html", "<html>413</html>"), want: llm.BadRequest},
	{name: "429 with a Retry-After beyond the deadline [litellm 21553]", reply: complaint(429, "rate_limit_error", "rate_limit_exceeded", "slow", fiveMinutes), want: llm.RateLimited, retryAfter: 5 * time.Minute},
	{name: "429 without Retry-After [voidllm 184]", reply: complaint(429, "rate_limit_error", "rate_limit_exceeded", "slow", nil), want: llm.RateLimited, again: true},
	{name: "429 for an exhausted quota", reply: complaint(429, "insufficient_quota", "insufficient_quota", "quota", map[string]string{"Retry-After": "1"}), want: llm.QuotaExhausted, retryAfter: time.Second},
	{name: "429 for a spend limit", reply: complaint(429, "rate_limit_error", "enforced_spend_limit_reached", "limit", nil), want: llm.QuotaExhausted},
	{name: "429 for a contract's limit", reply: complaint(429, "rate_limit_error", "contract_spend_limit_reached", "limit", nil), want: llm.QuotaExhausted},
	{name: "500", reply: complaint(500, "api_error", "server_error", "oops", nil), want: llm.ProviderError, again: true},
	{name: "502 in HTML", reply: body(502, "text/html", "<html><h1>502 Bad Gateway</h1></html>"), want: llm.ProviderError, again: true},
	{name: "503", reply: body(503, "text/plain", "busy"), want: llm.Overloaded, again: true},
	{name: "529 [free-coding-models 148]", reply: complaint(529, "overloaded_error", "", "busy", nil), want: llm.Overloaded, again: true},
	{name: "200 in HTML", reply: body(200, "text/html", "<html>log in</html>"), want: llm.ProviderError},
	{name: "200 with another document", reply: body(200, "application/json", `{"hello":"world"}`+"\n"), want: llm.ProviderError},
	{name: "200 with an error document", reply: complaint(200, "api_error", "", "oops", nil), want: llm.ProviderError},
	{name: "200 with nothing", reply: func(Shape) Reply { return Reply{} }, want: llm.ProviderError},
	{name: "200 with a name twice", reply: func(Shape) Reply { return Reply{Body: `{"content":[],"choices":[],"content":[],"choices":[]}`} }, want: llm.ProviderError},
	{name: "200 that never ends", reply: func(Shape) Reply {
		return Reply{Body: `{"content":[{"type":"text","text":"` + string(make([]byte, 5<<20))}
	}, want: llm.ProviderError},
	{name: "204", reply: func(Shape) Reply { return Reply{Status: http.StatusNoContent} }, want: llm.ProviderError},
	{name: "a body cut in the middle", reply: func(Shape) Reply { return Reply{Body: `{"type":"message","con`, Cut: true} }, want: llm.Transport, again: true},
	{name: "a body cut without a declared length", reply: func(Shape) Reply { return Reply{Body: `{"type":"message","con`} }, want: llm.Transport, again: true},
	{name: "an answer that is no HTTP", reply: func(Shape) Reply { return Reply{Raw: "SSH-2.0-" + wordsCanary + "\r\n"} }, want: llm.Transport, again: true, nameless: true},
	{name: "an answer whose header is no HTTP", reply: func(Shape) Reply { return Reply{Raw: "HTTP/1.1 200 OK\r\n" + wordsCanary + "\r\n\r\n"} }, want: llm.Transport, again: true, nameless: true},
}
