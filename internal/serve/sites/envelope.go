package sites

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"interlock/internal/bridge/gateway"
	"interlock/internal/serve"
)

// Envelope is the body of every answer of this door.
type Envelope struct {
	OK    bool   `json:"ok"`
	Data  any    `json:"data"`  // null where ok is false
	Error *Error `json:"error"` // null where ok is true
	Meta  Meta   `json:"meta"`
}

// Error says why a call was refused or failed.
type Error struct {
	Code         string `json:"code" doc:"stable machine name"`
	Detail       string `json:"detail" doc:"one sentence that says what to do"`
	Retryable    bool   `json:"retryable" doc:"the same request, with a new token and the same Idempotency-Key, may succeed later"`
	RetryAfterMS int64  `json:"retry_after_ms,omitzero" doc:"no sooner than this"`
}

// Meta is what is known of the call.
type Meta struct {
	RequestID  string `json:"request_id" doc:"names the call in the server's log and records"`
	Tenant     string `json:"tenant,omitzero"`
	App        string `json:"app,omitzero"`
	Operation  string `json:"operation,omitzero"`
	Quota      *Quota `json:"quota,omitzero" doc:"absent where the call was refused before its quota was known"`
	Replayed   bool   `json:"replayed,omitzero" doc:"the answer to an earlier call with this Idempotency-Key; it cost nothing"`
	DurationMS int64  `json:"duration_ms"`
}

// Quota is the tenant's use of the app's quota after this call.
type Quota struct {
	Limit     int64     `json:"limit"`
	Remaining int64     `json:"remaining"`
	ResetsAt  time.Time `json:"resets_at"`
}

func quotaOf(m *gateway.Meter) *Quota {
	if m == nil {
		return nil
	}
	return &Quota{Limit: m.Quota.Limit, Remaining: m.Remaining(), ResetsAt: m.ResetsAt.UTC()}
}

// reply answers c with data or, where err is not nil, with what err is.
func (c call) reply(data any, err error) {
	c.meta.RequestID = serve.RequestID(c.r.Context())
	c.meta.DurationMS = time.Since(c.start).Milliseconds()
	e := Envelope{OK: true, Data: data, Meta: c.meta}
	status := http.StatusOK
	if err != nil {
		p := serve.Problem(c.r.Context(), c.door.Logger, err)
		serve.SetProblemHeaders(c.w.Header(), p)
		challenge(c.w.Header(), p.Status, p.Code, c.scope)
		status = p.Status
		e.OK, e.Data = false, nil
		e.Error = &Error{Code: p.Code, Detail: p.Detail, Retryable: p.Retryable, RetryAfterMS: p.RetryAfterMS}
	}
	c.limits()
	serve.Reply(c.w, c.r, c.door.Logger, status, e)
}

// challenge says, as RFC 6750 section 3 has it, what a token lacks.
func challenge(h http.Header, status int, code, scope string) {
	switch {
	case status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="interlock", error="invalid_token"`)
	case code == "insufficient_scope":
		h.Set("WWW-Authenticate", `Bearer realm="interlock", error="insufficient_scope", scope="`+scope+`"`)
	}
}

// limits tells the quota in the words of the RateLimit header fields
// (draft-ietf-httpapi-ratelimit-headers).
func (c call) limits() {
	if q := c.meta.Quota; q != nil {
		left := max(0, int64(math.Ceil(q.ResetsAt.Sub(c.door.Now()).Seconds())))
		c.w.Header().Set("RateLimit", `"quota";r=`+strconv.FormatInt(q.Remaining, 10)+`;t=`+strconv.FormatInt(left, 10))
		c.w.Header().Set("RateLimit-Policy", `"quota";q=`+strconv.FormatInt(q.Limit, 10))
	}
}
