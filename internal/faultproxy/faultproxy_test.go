package faultproxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"interlock/internal/faultproxy"
)

func TestEachFaultIsWhatItSays(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Path", r.URL.Path)
		w.Write(b)
	}))
	t.Cleanup(s.Close)
	p := faultproxy.Start(t, s.URL)
	for _, c := range []struct {
		fault   faultproxy.Fault
		acts    int32 // whether the server sees it
		answers bool  // whether the client gets a whole answer
		status  int
	}{
		{faultproxy.None, 1, true, 200},
		{faultproxy.LoseRequest, 0, false, 0},
		{faultproxy.LoseAnswer, 1, false, 0},
		{faultproxy.CutAnswer, 1, false, 200},
		{faultproxy.HTML, 0, true, 502},
		{faultproxy.Hang, 0, false, 0},
	} {
		seen.Store(0)
		ctx, cancel := context.WithCancel(t.Context())
		p.Rule(func(*http.Request) faultproxy.Fault {
			if c.fault == faultproxy.Hang {
				cancel()
			}
			return c.fault
		})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/a", strings.NewReader("hello"))
		resp, err := http.DefaultClient.Do(req)
		status, whole := 0, false
		if err == nil {
			b, readErr := io.ReadAll(resp.Body)
			resp.Body.Close()
			status, whole = resp.StatusCode, readErr == nil
			if c.fault == faultproxy.None && (string(b) != "hello" || resp.Header.Get("X-Path") != "/a") {
				t.Errorf("passed through as %q, %v", b, resp.Header)
			}
		}
		cancel()
		if seen.Load() != c.acts || whole != c.answers || status != c.status {
			t.Errorf("fault %d: server saw %d, status %d, whole %v; want %+v", c.fault, seen.Load(), status, whole, c)
		}
	}
}
