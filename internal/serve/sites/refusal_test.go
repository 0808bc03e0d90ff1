package sites_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/baresite"
	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

// send signs a token for the path's scope, and sends.
func (w *world) send(r baresite.Request) baresite.Answer {
	w.t.Helper()
	if r.Path == "" {
		r.Path = "/api/v1/service/say"
	}
	if r.Scope == "" && r.Token == "" {
		part := strings.Split(r.Path, "/")
		r.Scope = "app:" + part[3] + ":" + part[4]
	}
	if r.Body == nil {
		r.Body = []byte(`{"word":"hello"}`)
	}
	a, err := w.site.Send(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// set changes the tenant in the store, as an operator would.
func (w *world) set(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// The gateway decides alone: each of its refusals is reached over HTTP by a
// caller that never asked for a resolution. R-BRIDGE-5
func TestTheGatewayRefusesByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   string
		status int
		name   string
		break_ func(*world) // before the call; nil: nothing
		send   baresite.Request
		quota  int64 // units used afterwards
	}{
		{code: "", status: 200, name: "nothing is wrong", quota: 1},
		{code: "invalid_token", status: 401, name: "the token is none", send: baresite.Request{Token: "none"}},
		{code: "tenant_suspended", status: 403, name: "the tenant is suspended", break_: func(w *world) {
			at := w.clock.Now()
			_, err := w.store.ChangeTenant(w.t.Context(), acme, catalog.TenantChange{SuspendedAt: &at}, fact("tenant.suspend"))
			w.set(err)
		}},
		{code: "subscription_inactive", status: 402, name: "the subscription has ended", break_: func(w *world) {
			w.set(w.store.SetSubscription(w.t.Context(), acme, catalog.Subscription{Plan: "basic", StartsAt: w.clock.Now().Add(-time.Hour), EndsAt: w.clock.Now()}, fact("subscription.end")))
		}},
		{code: "app_not_enabled", status: 403, name: "the app is not enabled", break_: func(w *world) {
			w.set(w.store.Disable(w.t.Context(), acme, "service", fact("app.disable")))
		}},
		{code: "app_not_enabled", status: 403, name: "there is no such app", send: baresite.Request{Path: "/api/v1/nothing/say"}},
		{code: "unknown_operation", status: 404, name: "there is no such operation", send: baresite.Request{Path: "/api/v1/service/sing"}},
		{code: "insufficient_scope", status: 403, name: "the scope is another operation's", send: baresite.Request{Scope: "app:service:shout"}},
		{code: "insufficient_scope", status: 403, name: "the scope only begins like the right one", send: baresite.Request{Scope: "app:service:say2"}},
		{code: "insufficient_scope", status: 403, name: "the scope is the resolver's", send: baresite.Request{Scope: "platform:agent:invoke"}},
		{code: "idempotency_conflict", status: 422, name: "the key was used for another call", break_: func(w *world) {
			w.send(baresite.Request{Key: "k", Body: []byte(`{"word":"other"}`)})
		}, send: baresite.Request{Key: "k"}, quota: 1},
		{code: "invalid_arguments", status: 400, name: "the arguments break the schema", send: baresite.Request{Body: []byte(`{"word":7}`)}},
		{code: "invalid_arguments", status: 400, name: "an argument that nobody knows", send: baresite.Request{Body: []byte(`{"word":"a","more":1}`)}},
		{code: "invalid_arguments", status: 400, name: "an argument twice", send: baresite.Request{Body: []byte(`{"word":"a","word":"b"}`)}},
		{code: "invalid_arguments", status: 400, name: "something behind the arguments", send: baresite.Request{Body: []byte(`{"word":"a"} {}`)}},
		{code: "invalid_arguments", status: 400, name: "no arguments", send: baresite.Request{Body: []byte(` `)}},
		{code: "invalid_arguments", status: 400, name: "the app itself objects", send: baresite.Request{Body: []byte(`{"word":"silence"}`)}},
		{code: "policy_denied", status: 403, name: "the risk is above the tenant's ceiling", send: baresite.Request{Path: "/api/v1/service/shout"}},
		{code: "confirmation_required", status: 409, name: "a person must agree", send: baresite.Request{Path: "/api/v1/service/swear"}},
		{code: "quota_exceeded", status: 429, name: "the quota is used up", break_: func(w *world) {
			w.set(w.store.Enable(w.t.Context(), acme, catalog.Enablement{App: "service", Quota: catalog.Quota{Limit: 1, Window: catalog.Day}}, fact("app.enable")))
			w.send(baresite.Request{})
		}, quota: 1},
		{code: "quota_exceeded", status: 429, name: "the quota is none", break_: func(w *world) {
			w.set(w.store.Enable(w.t.Context(), acme, catalog.Enablement{App: "service", Quota: catalog.Quota{Window: catalog.Day}}, fact("app.enable")))
		}},
		{code: "credential_missing", status: 424, name: "the tenant has no credential", break_: func(w *world) {
			w.set(w.vault.Delete(w.t.Context(), acme, audit.System, "service"))
		}},
		{code: "credential_rejected", status: 502, name: "the service refuses the credential", break_: func(w *world) {
			w.set(w.vault.Set(w.t.Context(), acme, audit.System, "service", secret.New("another")))
		}},
		{code: "upstream_unavailable", status: 502, name: "the service does not answer", break_: func(w *world) {
			w.service.fail.Store(fault.New(fault.Unavailable, "upstream_unavailable", "the service does not answer; try again").Retry(0))
		}},
		{code: "internal", status: 500, name: "the app panics", break_: func(w *world) { w.service.panic.Store(true) }},
		{code: "invalid_idempotency_key", status: 400, name: "the key is too long", send: baresite.Request{Key: strings.Repeat("k", 201)}},
		{code: "body_too_large", status: 413, name: "the body is too large", send: baresite.Request{Body: bytes.Repeat([]byte{' '}, 1<<20)}},
		{code: "no_such_path", status: 404, name: "the path is not there", send: baresite.Request{Path: "/api/v2/service/say"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.break_ != nil {
				c.break_(w)
			}
			before := w.service.calls.Load()
			a := w.send(c.send)
			if a.Status != c.status || a.Code() != c.code || a.OK != (c.code == "") {
				t.Fatalf("got %d %s, want %d %q: %s", a.Status, a.Code(), c.status, c.code, a.Body)
			}
			w.checkEnvelope(a)
			used, err := w.store.Meter(t.Context(), acme, "service", catalog.Quota{Limit: 1000, Window: catalog.Day}, w.clock.Now())
			if err != nil || used.Used != c.quota {
				t.Errorf("the quota has %d units used (%v), want %d", used.Used, err, c.quota)
			}
			reached := map[string]bool{"": true, "credential_rejected": true, "upstream_unavailable": true, "internal": true}[c.code]
			if got := w.service.calls.Load() > before; got != reached {
				t.Errorf("the service was reached: %v, want %v", got, reached)
			}
			if log := w.log.String(); strings.Contains(log, "canary") || strings.Contains(log, "eyJ") || strings.Contains(log, "hello") {
				t.Errorf("the log holds a secret or an argument: %s", log)
			}
		})
	}
}

// checkEnvelope holds every answer to the one form.
func (w *world) checkEnvelope(a baresite.Answer) {
	w.t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &members); err != nil || len(members) != 4 {
		w.t.Errorf("not the four members of an envelope: %s", a.Body)
	}
	if (string(members["data"]) == "null") == a.OK || (string(members["error"]) == "null") != a.OK {
		w.t.Errorf("data and error don't agree with ok: %s", a.Body)
	}
	if a.Meta.RequestID == "" || a.Meta.RequestID != a.Header.Get("X-Request-Id") {
		w.t.Errorf("request id %q, header %q", a.Meta.RequestID, a.Header.Get("X-Request-Id"))
	}
	challenge := a.Header.Get("WWW-Authenticate")
	switch {
	case a.Status == http.StatusUnauthorized && !strings.Contains(challenge, `error="invalid_token"`),
		a.Code() == "insufficient_scope" && !strings.Contains(challenge, `error="insufficient_scope", scope="app:service:say"`),
		a.Status == http.StatusOK && challenge != "":
		w.t.Errorf("%d with the challenge %q", a.Status, challenge)
	}
	if a.Code() == "quota_exceeded" && (a.Header.Get("Retry-After") == "" || a.Meta.Quota == nil || a.Meta.Quota.Remaining != 0) {
		w.t.Errorf("quota_exceeded without the wait or the quota: %v %s", a.Header, a.Body)
	}
	if len(a.Body) > 0 && bytes.Contains(a.Body, []byte("canary")) {
		w.t.Errorf("the answer holds a secret: %s", a.Body)
	}
}

// A call that can't be logged is not made. R-BRIDGE-5
func TestACallThatCannotBeLoggedIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuseRows("call")
	a := w.send(baresite.Request{})
	if a.Status != http.StatusServiceUnavailable || a.Code() != "log_unavailable" || !a.Error.Retryable {
		t.Fatalf("got %d: %s", a.Status, a.Body)
	}
	if n := w.service.calls.Load(); n != 0 {
		t.Errorf("the service was called %d times", n)
	}
}
