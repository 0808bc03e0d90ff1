package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"interlock/internal/barehost"
	"interlock/internal/hostapi"
	"interlock/internal/planner"
)

// decides measures decisions through the control plane, each row committed
// before its answer, beside the same bytes sent to the mock upstream directly
// and through a bare net/http reverse proxy.
func decides(ctx context.Context, b *bench) error {
	upstream, stopUpstream, err := startUpstream()
	if err != nil {
		return err
	}
	defer stopUpstream()
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	reverse := httputil.NewSingleHostReverseProxy(target)
	reverse.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := httptest.NewServer(reverse)
	defer proxy.Close()
	w, err := startWorld(ctx, upstream)
	if err != nil {
		return err
	}
	defer w.stop()

	const conns = 32
	h, err := w.enroll(ctx, client(conns), "bench", conns)
	if err != nil {
		return err
	}
	held, err := w.hold(ctx, h, conns)
	if err != nil {
		return err
	}
	bodies := make([][]byte, conns)
	for i, a := range held {
		if bodies[i], err = decideBody(a); err != nil {
			return err
		}
	}
	fsync, err := measureFsync(w.database)
	if err != nil {
		return err
	}
	row("one fsync beside the database", fsync.String()+" (median of 200)", "", true)

	post := func(url string, c *http.Client) func(context.Context, int) error {
		return func(ctx context.Context, i int) error { return postRaw(ctx, c, url, bodies[i]) }
	}
	ours := decider(h, held, bodies)
	var direct, bare, cloud [2]speed // at 32 connections and at one
	for i, n := range []int{conns, 1} {
		c := client(n)
		direct[i] = load(ctx, n, b.load, post(upstream, c))
		bare[i] = load(ctx, n, b.load, post(proxy.URL, c))
		cloud[i] = load(ctx, n, b.load, ours)
		c.CloseIdleConnections()
		label := fmt.Sprintf("%d connections: ", n)
		if n == 1 {
			label = "1 connection: "
		}
		speedRow(label+"directly to the mock", direct[i])
		speedRow(label+"bare net/http reverse proxy", bare[i])
		speedRow(label+"decisions through the control plane", cloud[i])
		if cloud[i].errors > 0 {
			return cloud[i].firstError
		}
	}
	ratio := cloud[0].perSecond / bare[0].perSecond
	row("32 connections: rate over the bare proxy's", fmt.Sprintf("%.2f", ratio), "at least 0.65", ratio >= 0.65)
	tail := float64(cloud[0].p99) / float64(bare[0].p99)
	row("32 connections: p99 over the bare proxy's", fmt.Sprintf("%.2f", tail), "at most 2", tail <= 2)
	allowed := bare[1].p50 + fsync + 300*time.Microsecond
	row("1 connection: p50", cloud[1].p50.String(), fmt.Sprintf("at most the proxy's + one fsync + 0.3 ms = %v", allowed), cloud[1].p50 <= allowed)
	return nil
}

// decider decides for the task of each worker, with a key of its own each time.
func decider(h *barehost.Host, held []hostapi.Assignment, bodies [][]byte) func(context.Context, int) error {
	var n atomic.Int64
	return func(ctx context.Context, i int) error {
		var reply hostapi.DecideReply
		return h.DoRaw(ctx, hostapi.PathDecide, fmt.Sprintf("bench-%d", n.Add(1)), bodies[i], &reply)
	}
}

// decideBody is a decide with the real system prompt and tools, and a screen
// of about 4,000 characters.
func decideBody(a hostapi.Assignment) ([]byte, error) {
	var screen strings.Builder
	for i := 0; screen.Len() < 4000; i++ {
		fmt.Fprintf(&screen, "[e%d] button \"Entry %d of task %s\" clickable\n", i, i, a.TaskID)
	}
	return json.Marshal(hostapi.DecideRequest{TaskID: a.TaskID, Attempt: a.Attempt, SystemPrompt: planner.SystemPrompt, UserPrompt: screen.String(),
		Tools: planner.Tools().Specs(), TimeoutSeconds: 30})
}

func postRaw(ctx context.Context, c *http.Client, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// measureFsync is the median time to append a page to a file in the database's
// folder and make it durable.
func measureFsync(database string) (time.Duration, error) {
	f, err := os.Create(database + ".fsync")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	all := make([]time.Duration, 200)
	for i := range all {
		t := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all[i] = time.Since(t)
	}
	slices.Sort(all)
	return quantile(all, 0.5), nil
}
