package hosts_test

import (
	"strings"
	"testing"

	"interlock/internal/hostapi"
	"interlock/internal/usage"
)

// paths are all calls of the protocol.
var paths = []string{hostapi.PathEnroll, hostapi.PathRotate, hostapi.PathHeartbeat, hostapi.PathPoll, hostapi.PathDecide,
	hostapi.TaskPath("t", 1, "ack"), hostapi.TaskPath("t", 1, "renew"), hostapi.TaskPath("t", 1, "events"),
	hostapi.TaskPath("t", 1, "result"), hostapi.TaskPath("t", 1, "release")}

// withBody are the calls that read one.
var withBody = []string{hostapi.PathEnroll, hostapi.PathHeartbeat, hostapi.PathPoll, hostapi.PathDecide,
	hostapi.TaskPath("t", 1, "events"), hostapi.TaskPath("t", 1, "result"), hostapi.TaskPath("t", 1, "release")}

func TestEveryCallNeedsTheVersionAKeyAndACredential(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("host")
	for _, path := range paths {
		for _, c := range []struct {
			name    string
			headers map[string]string
			status  int
			code    string
		}{
			{"no version", map[string]string{hostapi.VersionHeader: ""}, 426, "protocol_version"},
			{"another version", map[string]string{hostapi.VersionHeader: "2"}, 426, "protocol_version"},
			{"no key", map[string]string{hostapi.KeyHeader: ""}, 400, "invalid_idempotency_key"},
			{"a key that is too long", map[string]string{hostapi.KeyHeader: strings.Repeat("k", 201)}, 400, "invalid_idempotency_key"},
			{"a key that is not ASCII", map[string]string{hostapi.KeyHeader: "k\u00e9y"}, 400, "invalid_idempotency_key"},
			{"no credential", map[string]string{"Authorization": ""}, 401, "no_credential"},
			{"another scheme", map[string]string{"Authorization": "Basic aG9zdA=="}, 401, "no_credential"},
			{"a credential that is none", map[string]string{"Authorization": "Bearer ilk_host_nonsense"}, 401, "host_unauthorized"},
			{"a credential with another secret", map[string]string{"Authorization": "Bearer " + a.credential[:len(a.credential)-4] + "AAAA"}, 401, "host_unauthorized"},
		} {
			if path == hostapi.PathEnroll && c.status == 401 {
				continue // its credential is the token in the body
			}
			res, body := a.send(request{path: path, body: []byte(`{}`), headers: c.headers})
			if p := problemOf(t, res, body); p.Status != c.status || p.Code != c.code || p.Retryable {
				t.Errorf("%s with %s: got %d %s, want a final %d %s", path, c.name, p.Status, p.Code, c.status, c.code)
			}
		}
	}
}

func TestABodyThatCannotBeRightIsRefusedByEveryCall(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("host")
	for _, path := range withBody {
		for _, c := range []struct {
			name, media, body string
			status            int
			code              string
		}{
			{"a form", "application/x-www-form-urlencoded", "a=b", 415, "unsupported_media_type"},
			{"nothing", "application/json", "", 400, "invalid_body"},
			{"half an object", "application/json", `{"a":`, 400, "invalid_body"},
			{"an array", "application/json", `["canary-4711"]`, 400, "invalid_body"},
			{"a name twice", "application/json", `{"x":1,"x":2}`, 400, "invalid_body"},
			{"trailing data", "application/json", `{}{}`, 400, "invalid_body"},
			{"text that is not UTF-8", "application/json", "{\"x\":\"\xfe\"}", 400, "invalid_body"},
			{"a body over the limit", "application/json", `{"x":"` + strings.Repeat("x", hostapi.MaxDecideBody) + `"}`, 413, "body_too_large"},
		} {
			res, body := a.send(request{path: path, body: []byte(c.body), headers: map[string]string{"Content-Type": c.media}})
			if p := problemOf(t, res, body); p.Status != c.status || p.Code != c.code || strings.Contains(string(body), "4711") {
				t.Errorf("%s with %s: got %d %s %s, want %d %s", path, c.name, p.Status, p.Code, p.Detail, c.status, c.code)
			}
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("host")
	for _, path := range paths {
		res, body := get(t, a.w.url+path)
		if p := problemOf(t, res, body); p.Status != 405 || res.Header.Get("Allow") != "POST" {
			t.Errorf("GET %s: got %d, Allow %q, want 405 POST", path, p.Status, res.Header.Get("Allow"))
		}
	}
}
