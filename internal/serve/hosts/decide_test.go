package hosts_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"os"
	"strings"
	"testing"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/secret"
	"interlock/internal/tenant"
	"interlock/internal/tool"
	"interlock/internal/usage"
)

func get(t *testing.T, url string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res, out.Bytes()
}

// R-CLOUD-3
func TestADecideRetriedWithItsKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("host")
	as := a.take()
	body := encode(t, question(as))
	for range 10 {
		res, out := a.send(request{path: hostapi.PathDecide, body: body, headers: map[string]string{hostapi.KeyHeader: "same"}})
		if res.StatusCode != http.StatusOK || !strings.Contains(string(out), `"step_index":0`) {
			t.Fatalf("got %d %s, want step 0", res.StatusCode, out)
		}
	}
	if n := a.w.oracle.calls.Load(); n != 1 {
		t.Errorf("the provider was called %d times, want once", n)
	}
	q := question(as)
	q.UserPrompt = "another question"
	res, out := a.send(request{path: hostapi.PathDecide, body: encode(t, q), headers: map[string]string{hostapi.KeyHeader: "same"}})
	if p := problemOf(t, res, out); p.Status != 422 || p.Code != "idempotency_conflict" {
		t.Errorf("the key with another body: got %d %s, want 422 idempotency_conflict", p.Status, p.Code)
	}
}

// R-PLAN-5, R-PLAN-7, R-CLOUD-4
func TestAFailedDecisionKeepsItsReasonAndUsageOnTheWire(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("host")
	as := a.take()
	a.w.oracle.say = func(context.Context, llm.Request) (llm.Decision, error) {
		return llm.Decision{}, &llm.Unavailable{Reason: llm.Truncated, Detail: "the reply was cut", Usage: llm.Usage{Input: llm.Known(7)}, Provider: "oracle", Model: "m-1"}
	}
	p := a.refused(hostapi.PathDecide, question(as))
	if p.Code != "truncated" || p.Retryable || p.Decision == nil || p.Decision.Provider != "oracle" || p.Decision.Usage.Input != llm.Known(7) {
		t.Errorf("got %+v, want truncated with its usage", p)
	}
	rows, err := a.w.decisions.List(t.Context(), decision.Query{Tenant: tenant.Default, Task: task.ID(as.TaskID), AfterStep: -1})
	if err != nil || len(rows) != 0 {
		t.Errorf("a failed decision left %d rows, %v", len(rows), err)
	}
}

func TestADecideThatCannotBeRightIsABadRequest(t *testing.T) {
	t.Parallel()
	a := newWorld(t, usage.Caps{}).enroll("host")
	as := a.take()
	for _, c := range []struct {
		name   string
		change func(*hostapi.DecideRequest)
		says   string
	}{
		{"no task", func(q *hostapi.DecideRequest) { q.TaskID = "" }, "task_id"},
		{"an attempt that can't be", func(q *hostapi.DecideRequest) { q.Attempt = 0 }, "attempt"},
		{"no tools", func(q *hostapi.DecideRequest) { q.Tools = nil }, "tools"},
		{"a tool twice", func(q *hostapi.DecideRequest) { q.Tools = append(q.Tools, q.Tools[0]) }, "tap"},
		{"a schema that looks outside", func(q *hostapi.DecideRequest) {
			q.Tools = []tool.Spec{{Name: "leak", Parameters: []byte(`{"type":"object","$ref":"file:///etc/passwd"}`)}}
		}, "leak"},
		{"a screenshot that is no picture", func(q *hostapi.DecideRequest) { q.Screenshot = []byte("canary") }, "screenshot"},
		{"a negative timeout", func(q *hostapi.DecideRequest) { q.TimeoutSeconds = -1 }, "timeout_seconds"},
		{"an endless timeout", func(q *hostapi.DecideRequest) { q.TimeoutSeconds = 1e300 }, "timeout_seconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := question(as)
			c.change(&q)
			if p := a.refused(hostapi.PathDecide, q); p.Status != 400 || p.Code != "bad_request" || !strings.Contains(p.Detail, c.says) || p.Decision == nil {
				t.Errorf("got %d %s %q, want 400 bad_request about %s", p.Status, p.Code, p.Detail, c.says)
			}
		})
	}
	if a.w.oracle.calls.Load() != 0 {
		t.Error("a request that can't be right reached the provider")
	}
}

// R-HOST-5
func TestAHostWithoutThePermissionKeepsItsHeartbeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("host")
	as := a.take()
	if err := w.fleet.SetPlanner(t.Context(), tenant.Default, "token:test", fleet.HostID(a.id), false, 0); err != nil {
		t.Fatal(err)
	}
	if p := a.refused(hostapi.PathDecide, question(as)); p.Status != 403 || p.Code != "planner_forbidden" {
		t.Errorf("got %d %s, want 403 planner_forbidden", p.Status, p.Code)
	}
	var beat hostapi.HeartbeatReply
	a.must(hostapi.PathHeartbeat, hostapi.HeartbeatRequest{Version: "test"}, &beat)
}

func TestADecideBeyondTheMemoryIsTurnedAwayUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{RequestBytes: 2 * hostapi.MaxDecideBody})
	first, second := w.enroll("first"), w.enroll("second")
	arrived, goOn := make(chan struct{}), make(chan struct{})
	w.oracle.say = func(ctx context.Context, r llm.Request) (llm.Decision, error) {
		close(arrived)
		<-goOn
		return tap(), nil
	}
	q := question(first.take())
	q.UserPrompt = strings.Repeat("x", 1<<20)
	body := append(encode(t, q), bytes.Repeat([]byte(" "), 6<<20)...)
	done := make(chan int, 1)
	go func() {
		res, _ := first.send(request{path: hostapi.PathDecide, body: body})
		done <- res.StatusCode
	}()
	<-arrived
	res, out := second.send(request{path: hostapi.PathDecide, body: bytes.Repeat([]byte(" "), 6<<20)})
	if p := problemOf(t, res, out); p.Status != 429 || p.Code != "decides_busy" || !p.Retryable || p.RetryAfterMS <= 0 {
		t.Errorf("got %+v, want a retryable 429 decides_busy", p)
	}
	close(goOn)
	if status := <-done; status != http.StatusOK {
		t.Errorf("the first decide got %d, want 200", status)
	}
	res, out = second.send(request{path: hostapi.PathDecide, body: bytes.Repeat([]byte(" "), 6<<20)})
	if p := problemOf(t, res, out); p.Code != "invalid_body" {
		t.Errorf("with the memory given back: got %s, want the body read and refused", p.Code)
	}
}

// R-CLOUD-5
func TestAScreenshotIsGivenToTheProviderAndKeptNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("host")
	as := a.take()
	q := question(as)
	q.Screenshot = picture(t)
	var saw []byte
	w.oracle.say = func(_ context.Context, r llm.Request) (llm.Decision, error) {
		saw = bytes.Clone(r.Image.Bytes())
		return tap(), nil
	}
	var decided hostapi.DecideReply
	a.must(hostapi.PathDecide, q, &decided)
	if !bytes.Equal(saw, q.Screenshot) {
		t.Error("the provider did not get the screenshot as it was sent")
	}
	w.oracle.say = func(context.Context, llm.Request) (llm.Decision, error) {
		return llm.Decision{}, &llm.Unavailable{Reason: llm.ProviderError, Detail: "the provider failed"}
	}
	answer := a.refused(hostapi.PathDecide, q)
	row, err := w.decisions.Show(t.Context(), tenant.Default, task.ID(as.TaskID), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if e := row.Screenshot; e == nil || e.Width != 40 || e.Height != 30 || e.Bytes != len(q.Screenshot) {
		t.Errorf("the evidence kept is %+v", e)
	}
	places := map[string][]byte{"the log": []byte(w.log.String()), "the answer": encode(t, answer)}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.file + suffix)
		if err != nil {
			t.Fatal(err)
		}
		places["the database"+suffix] = b
	}
	middle := q.Screenshot[len(q.Screenshot)/2:][:24]
	for place, b := range places {
		if bytes.Contains(b, middle) || bytes.Contains(b, []byte(base64.StdEncoding.EncodeToString(q.Screenshot)[100:140])) {
			t.Errorf("%s holds the screenshot", place)
		}
	}
}

// picture is a PNG whose pixels don't compress away.
func picture(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	for i, x := 0, uint32(2463534242); i < len(img.Pix); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		img.Pix[i] = byte(x)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNoCredentialTokenPromptOrArgumentReachesTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usage.Caps{})
	a := w.enroll("host")
	w.oracle.say = func(context.Context, llm.Request) (llm.Decision, error) {
		d := tap()
		d.Call.Arguments = []byte(`{"ref":"canary-argument"}`)
		return d, nil
	}
	as := a.take()
	q := question(as)
	q.SystemPrompt, q.UserPrompt = "canary-system", "canary-user"
	var decided hostapi.DecideReply
	a.must(hostapi.PathDecide, q, &decided)
	token := w.token()
	(&agent{w: w, credential: "canary-bearer"}).refused(hostapi.PathPoll, hostapi.PollRequest{})
	a.refused(hostapi.PathEnroll, hostapi.EnrollRequest{Token: secret.Expose(secret.New(token)), Name: "canary name with\nlines"})
	var end hostapi.ResultReply
	a.must(hostapi.TaskPath(as.TaskID, as.Attempt, "result"), hostapi.ResultRequest{State: "failed", Reason: "stuck_here", Summary: "canary-summary"}, &end)
	log := w.log.String()
	for _, secret := range []string{a.credential, token, "canary"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q:\n%s", secret, log)
		}
	}
	if !strings.Contains(log, "caller=host:"+a.id) {
		t.Errorf("the log does not say which host called:\n%s", log)
	}
}
