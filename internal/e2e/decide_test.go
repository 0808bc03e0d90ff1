package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/barehost"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/serve/operators"
	"interlock/internal/tool"
)

// waitTool is what the bare hosts offer: any call of it is accepted.
var waitTool = []tool.Spec{{Name: "wait", Description: "Waits.", Parameters: json.RawMessage(`{"type":"object"}`)}}

func decideBody(a hostapi.Assignment, prompt string) hostapi.DecideRequest {
	return hostapi.DecideRequest{TaskID: a.TaskID, Attempt: a.Attempt, SystemPrompt: "You wait.", UserPrompt: prompt, Tools: waitTool, TimeoutSeconds: 10}
}

func decide(t *testing.T, h *barehost.Host, a hostapi.Assignment, key, prompt string) (hostapi.DecideReply, error) {
	t.Helper()
	var reply hostapi.DecideReply
	err := h.Do(t.Context(), hostapi.PathDecide, key, decideBody(a, prompt), &reply)
	return reply, err
}

// R-CLOUD-3: a decide retried with the same key calls the provider once and
// stores one row.
func TestADecideRetriedWithItsKeyIsBilledOnce(t *testing.T) {
	t.Parallel()
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) { c.Planner = u.planner() })
	task := w.submit(operators.TaskSpec{Goal: "wait"})
	h := w.bare("h", 1)
	a := w.claim(h, 1, devices(1))[0]
	var first hostapi.DecideReply
	for i := range 10 {
		got, err := decide(t, h, a, "same-key", "scene")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		}
		if got.StepIndex != 0 || string(got.Arguments) != string(first.Arguments) || got.Usage != first.Usage || got.Model != first.Model {
			t.Errorf("repeat %d: got %+v, want %+v", i, got, first)
		}
	}
	if n := u.calls.Load(); n != 1 {
		t.Errorf("the provider was called %d times, want once", n)
	}
	rows := w.decisions(task.ID)
	if len(rows) != 1 || rows[0].UserPrompt != "scene" || rows[0].SystemPrompt != "You wait." || rows[0].Tool != "wait" {
		t.Errorf("rows: %+v", rows)
	}
	_, err := decide(t, h, a, "same-key", "another scene")
	if e := fault.Of(err); e.Code != "idempotency_conflict" || e.Retryable {
		t.Errorf("the key with another body: %v", err)
	}
	var report operators.UsageReport
	w.must(http.MethodGet, operators.PathUsage+"?group=task", nil, &report)
	if len(report.Rows) != 1 || report.Rows[0].Calls != 1 || report.Rows[0].Input.Total != 10 {
		t.Errorf("usage: %+v", report.Rows)
	}
}

// R-CLOUD-3: 64 callers on 8 tasks, each making its own decision and retrying
// decide_in_flight, end with 64 rows and no gap.
func TestManyCallersLeaveNoGap(t *testing.T) {
	t.Parallel()
	const tasks, callers = 8, 64
	u := startUpstream(t, time.Millisecond)
	w := start(t, func(c *app.ServerConfig) { c.Planner = u.planner() })
	for range tasks {
		w.submit(operators.TaskSpec{Goal: "wait"})
	}
	h := w.bare("h", tasks)
	held := w.claim(h, tasks, devices(tasks))
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			a := held[i%tasks]
			for {
				_, err := decide(t, h, a, fmt.Sprintf("caller-%d", i), fmt.Sprintf("scene %d", i))
				var un *llm.Unavailable
				if errors.As(err, &un) && un.Reason == llm.DecideInFlight {
					continue
				}
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
				return
			}
		})
	}
	wg.Wait()
	for _, a := range held {
		rows := w.decisions(a.TaskID)
		if len(rows) != callers/tasks {
			t.Errorf("task %s has %d rows, want %d", a.TaskID, len(rows), callers/tasks)
		}
		for i, r := range rows {
			if r.StepIndex != i {
				t.Errorf("task %s: row %d has index %d", a.TaskID, i, r.StepIndex)
			}
		}
	}
	if n := u.calls.Load(); n != callers {
		t.Errorf("the provider was called %d times, want %d", n, callers)
	}
}

// R-CLOUD-1, R-HOST-5: a host acts only on what it has claimed, and decides
// only while it may.
func TestAHostDecidesOnlyWhatItHolds(t *testing.T) {
	t.Parallel()
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) { c.Planner = u.planner() })
	w.submit(operators.TaskSpec{Goal: "wait"})
	owner, other := w.bare("owner", 1), w.bare("other", 1)
	a := w.claim(owner, 1, devices(1))[0]
	if _, err := decide(t, other, a, "k", "scene"); reason(err) != llm.LeaseLost {
		t.Errorf("another host's task: %v", err)
	}
	if err := other.Do(t.Context(), hostapi.TaskPath(a.TaskID, a.Attempt, "result"), "r", hostapi.ResultRequest{State: "succeeded"}, &hostapi.ResultReply{}); fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.NotFound {
		t.Errorf("another host's result: %v", err)
	}
	stale := a
	stale.Attempt++
	if _, err := decide(t, owner, stale, "k", "scene"); reason(err) != llm.LeaseLost {
		t.Errorf("an attempt that was never given: %v", err)
	}
	w.must(http.MethodPut, operators.HostPath(owner.ID, "planner"), operators.PlannerGrant{Allowed: false}, nil)
	if _, err := decide(t, owner, a, "k", "scene"); reason(err) != llm.PlannerForbidden {
		t.Errorf("without the permission: %v", err)
	}
	if err := owner.Do(t.Context(), hostapi.PathHeartbeat, "hb", hostapi.HeartbeatRequest{Held: []hostapi.Held{{TaskID: a.TaskID, Attempt: a.Attempt}}}, &hostapi.HeartbeatReply{}); err != nil {
		t.Errorf("the heartbeat ended with the permission: %v", err)
	}
	w.must(http.MethodPut, operators.HostPath(owner.ID, "planner"), operators.PlannerGrant{Allowed: true}, nil)
	w.must(http.MethodPut, operators.PathStop, operators.StopRequest{On: true, Reason: "too dear"}, nil)
	if _, err := decide(t, owner, a, "k", "scene"); reason(err) != llm.PlannerForbidden {
		t.Errorf("while all decides are stopped: %v", err)
	}
	w.must(http.MethodPut, operators.PathStop, operators.StopRequest{On: false}, nil)
	if n := u.calls.Load(); n != 0 {
		t.Errorf("refused decides reached the provider %d times", n)
	}
	if got, err := decide(t, owner, a, "k", "scene"); err != nil || got.StepIndex != 0 {
		t.Errorf("allowed again: %+v, %v", got, err)
	}
}

func reason(err error) llm.Reason {
	var u *llm.Unavailable
	if errors.As(err, &u) {
		return u.Reason
	}
	return ""
}

// R-CLOUD-4: a failed call leaves no row, and its use is metered.
func TestAFailedCallLeavesNoRow(t *testing.T) {
	t.Parallel()
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) { c.Planner = u.planner() })
	task := w.submit(operators.TaskSpec{Goal: "wait"})
	h := w.bare("h", 1)
	a := w.claim(h, 1, devices(1))[0]
	body := decideBody(a, "scene")
	body.Tools = []tool.Spec{{Name: "other", Parameters: json.RawMessage(`{"type":"object"}`)}}
	if err := h.Do(t.Context(), hostapi.PathDecide, "k", body, &hostapi.DecideReply{}); reason(err) != llm.UnknownTool {
		t.Errorf("a call of a tool not offered: %v", err)
	}
	if rows := w.decisions(task.ID); len(rows) != 0 {
		t.Errorf("rows: %+v", rows)
	}
	if got, err := decide(t, h, a, "k", "scene"); err != nil || got.StepIndex != 0 {
		t.Errorf("a failure must not be remembered: %+v, %v", got, err)
	}
	var report operators.UsageReport
	w.must(http.MethodGet, operators.PathUsage, nil, &report)
	if len(report.Rows) != 1 || report.Rows[0].Calls != 2 || report.Rows[0].Failed != 1 || report.Rows[0].Input.Total != 20 {
		t.Errorf("usage: %+v", report.Rows)
	}
}
