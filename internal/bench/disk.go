package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"interlock/internal/app"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
)

// disk measures what decisions with the real prompts of a task on the
// simulated phone weigh in the log.
func disk(ctx context.Context, b *bench) error {
	const tasks = 50
	w, err := startWorld(ctx, "")
	if err != nil {
		return err
	}
	defer w.stop()
	dir, err := os.MkdirTemp("", "interlock-bench-host-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var made operators.EnrolTokenReply
	if err := w.operate(ctx, http.MethodPost, operators.PathEnrolTokens, operators.NewEnrolToken{}, &made); err != nil {
		return err
	}
	h, err := app.NewHost(ctx, app.HostConfig{Version: "bench", Server: w.url, StateDir: dir, Name: "bench", Devices: []app.DeviceConfig{{Kind: "sim", ID: "sim"}},
		Planner: app.Planner{Enabled: true, Transport: app.Cloud, Timeout: 30 * time.Second}}, secret.New(made.Token.Reveal()))
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	defer func() { stop(); <-done }()

	ids := make([]string, tasks)
	for i := range ids {
		var t operators.SubmitReply
		if err := w.operate(ctx, http.MethodPost, operators.PathTasks, operators.TaskSpec{Goal: app.DemoGoal, AppLock: app.DemoApps()}, &t); err != nil {
			return err
		}
		ids[i] = t.Task.ID
	}
	var raw, decisions int
	for _, id := range ids {
		if err := ended(ctx, w, id); err != nil {
			return err
		}
		var page operators.DecisionPage
		if err := w.operate(ctx, http.MethodGet, operators.TaskPath(id, "decisions")+"?bodies=true", nil, &page); err != nil {
			return err
		}
		for _, d := range page.Decisions {
			raw += len(d.SystemPrompt) + len(d.UserPrompt) + len(d.Arguments)
			for _, t := range d.Tools {
				raw += len(t.Name) + len(t.Description) + len(t.Parameters)
			}
			decisions++
		}
	}
	var status operators.Status
	if err := w.operate(ctx, http.MethodGet, operators.PathStatus, nil, &status); err != nil {
		return err
	}
	if decisions == 0 {
		return fmt.Errorf("no decisions")
	}
	share := float64(status.Log.Bytes) / float64(raw)
	row(fmt.Sprintf("%d decisions: stored bytes over raw text", decisions), fmt.Sprintf("%.3f (%d of %d bytes a decision)", share, status.Log.Bytes/int64(decisions), raw/decisions), "at most 0.2", share <= 0.2)
	return nil
}

func ended(ctx context.Context, w *world, id string) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var t operators.Task
		if err := w.operate(ctx, http.MethodGet, operators.TaskPath(id, ""), nil, &t); err != nil {
			return err
		}
		if t.Ended() {
			if t.State != "succeeded" {
				return fmt.Errorf("task %s is %s (%s)", id, t.State, t.Reason)
			}
			return nil
		}
	}
	return fmt.Errorf("task %s did not end within a minute", id)
}
