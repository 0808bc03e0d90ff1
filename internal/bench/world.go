package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/cloud/task"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/usage"
)

// world is a running server and its first token.
type world struct {
	url, token, database string
	stop                 func() error
}

// startWorld runs a server in this process on a scratch database; upstream ""
// plans by the built-in script.
func startWorld(ctx context.Context, upstream string) (*world, error) {
	dir, err := os.MkdirTemp("", "interlock-bench-*")
	if err != nil {
		return nil, err
	}
	plan := app.Planner{Enabled: true, Provider: app.Scripted}
	if upstream != "" {
		plan = app.Planner{Enabled: true, Provider: app.OpenAI, Model: "bench-model", BaseURL: upstream, OpenAIKey: secret.New("sk-bench"), Timeout: 30 * time.Second}
	}
	w := &world{database: filepath.Join(dir, "interlock.db")}
	s, err := app.NewServer(ctx, app.ServerConfig{Version: "bench", Listen: "127.0.0.1:0", Database: w.database, Planner: plan,
		Bridge: app.Bridge{ABN: app.ABN{Source: app.ABNSample}},
		Caps:   usage.Caps{DecisionsPerAttempt: 10_000_000, ConcurrentPerHost: 64},
		Tasks:  task.Config{Lease: time.Hour}})
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	w.url, w.token = s.HostsURL(), s.FirstToken().Reveal()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.stop = func() error {
		cancel()
		defer os.RemoveAll(dir)
		return <-done
	}
	return w, nil
}

// operate does one call of the operators' API.
func (w *world) operate(ctx context.Context, method, path string, body, reply any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(operators.KeyHeader, secret.Mint(secret.APIToken).ID)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", method, path, answer)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(answer, reply)
}

// enroll makes a bare host with n devices d0, d1 …
func (w *world) enroll(ctx context.Context, client *http.Client, name string, n int) (*barehost.Host, error) {
	var made operators.EnrolTokenReply
	if err := w.operate(ctx, http.MethodPost, operators.PathEnrolTokens, operators.NewEnrolToken{}, &made); err != nil {
		return nil, err
	}
	devices := make([]hostapi.Device, n)
	for i := range devices {
		devices[i] = hostapi.Device{ID: fmt.Sprintf("d%d", i), Kind: "sim"}
	}
	h, _, err := barehost.Enroll(ctx, client, w.url, made.Token.Reveal(), name, devices...)
	return h, err
}

// hold gives h n tasks, each on a device of its own.
func (w *world) hold(ctx context.Context, h *barehost.Host, n int) ([]hostapi.Assignment, error) {
	idle := make([]string, n)
	for i := range idle {
		idle[i] = fmt.Sprintf("d%d", i)
		if err := w.operate(ctx, http.MethodPost, operators.PathTasks, operators.TaskSpec{Goal: "bench"}, &operators.SubmitReply{}); err != nil {
			return nil, err
		}
	}
	var held []hostapi.Assignment
	for try := 0; len(held) < n && try < 50; try++ {
		got, err := h.Claim(ctx, fmt.Sprintf("poll-%d", try), n-len(held), 500, idle...)
		if err != nil {
			return nil, err
		}
		held = append(held, got...)
	}
	if len(held) < n {
		return nil, fmt.Errorf("claimed %d of %d tasks", len(held), n)
	}
	return held, nil
}

// client returns an HTTP client that keeps n connections.
func client(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, MaxConnsPerHost: n}}
}
