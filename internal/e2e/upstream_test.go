package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/secret"
)

// upstream is a provider that always waits: each request is one forced call of
// the tool "wait", counted.
type upstream struct {
	url   string
	calls atomic.Int64
	delay atomic.Int64 // a time.Duration
}

func startUpstream(t *testing.T, delay time.Duration) *upstream {
	t.Helper()
	u := &upstream{}
	u.delay.Store(int64(delay))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		n := u.calls.Add(1)
		select {
		case <-time.After(time.Duration(u.delay.Load())):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c%d","object":"chat.completion","model":"m-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",`+
			`"tool_calls":[{"id":"t","type":"function","function":{"name":"wait","arguments":"{\"n\":%d}"}}]}}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`, n, n)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	u.url = s.URL
	return u
}

// planner is a server's planner that asks u.
func (u *upstream) planner() app.Planner {
	return app.Planner{Enabled: true, Provider: app.OpenAI, Model: "m-1", BaseURL: u.url, OpenAIKey: secret.New("sk-test-key-0000"), Timeout: 10 * time.Second}
}
