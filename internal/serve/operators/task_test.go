package operators_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/serve/operators"
)

// R-CLOUD-10
func TestASubmitWithTheSameKeyMakesOneTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit := func(goal string) (int, operators.SubmitReply) {
		res, out := w.send("POST", operators.PathTasks, encode(t, operators.TaskSpec{Goal: goal}), map[string]string{operators.KeyHeader: "same"})
		var reply operators.SubmitReply
		if res.StatusCode == 201 {
			decode(t, out, &reply)
		}
		return res.StatusCode, reply
	}
	_, first := submit("once")
	status, again := submit("once")
	if status != 201 || again.Task.ID != first.Task.ID || !again.Replayed || first.Replayed {
		t.Errorf("got %d %+v, want the first task replayed", status, again)
	}
	if status, _ := submit("something else"); status != 422 {
		t.Errorf("the key with another task: got %d, want 422", status)
	}
}

func TestATaskIsShownAsItWasSubmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	zero := 0
	spec := operators.TaskSpec{Goal: "open the settings", Device: operators.Selector{Kind: "sim", Labels: map[string]string{"room": "7"}},
		Budgets: operators.Budgets{Steps: 9, WallTimeMS: 60_000, Tokens: 1_000}, Priority: &zero, Repeatable: true, AppLock: []string{"sim.home"},
		MaxAttempts: 2, Labels: map[string]string{"team": "qa"}}
	spec.Policy.MaxRisk, spec.Policy.Revision = "low", "r1"
	var made operators.SubmitReply
	w.must("POST", operators.PathTasks, spec, &made)
	var shown operators.Task
	w.must("GET", operators.TaskPath(made.Task.ID, ""), nil, &shown)
	if shown.State != "queued" || shown.Ended() || shown.ExpiresAt.IsZero() {
		t.Errorf("got state %s and expiry %s", shown.State, shown.ExpiresAt)
	}
	shown.ExpiresAt = spec.ExpiresAt // the server's default
	if diff := cmp.Diff(spec, shown.TaskSpec); diff != "" {
		t.Errorf("submitted and shown differ:\n%s", diff)
	}
}

func TestListsComeInPagesWithoutGapsOrRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []string
	for range 5 {
		want = append([]string{w.submit("x").ID}, want...) // newest first
	}
	var got []string
	for cursor, pages := "", 1; ; pages++ {
		var page operators.TaskPage
		w.must("GET", operators.PathTasks+"?limit=2&cursor="+cursor, nil, &page)
		for _, task := range page.Tasks {
			got = append(got, task.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			if pages != 3 {
				t.Errorf("5 tasks came in %d pages of 2, want 3", pages)
			}
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pages differ from what was submitted:\n%s", diff)
	}
}

// R-CLOUD-8, R-CLOUD-10
func TestARunCanBeReadBackStepByStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.finished(3)

	var shown operators.Task
	w.must("GET", operators.TaskPath(made.ID, ""), nil, &shown)
	if !shown.Ended() || shown.State != "succeeded" || shown.Result == nil || shown.Result.Summary != "it is open" || shown.Attempt != 1 {
		t.Errorf("got %+v, want a success with its result", shown)
	}
	var attempts operators.AttemptList
	w.must("GET", operators.TaskPath(made.ID, "attempts"), nil, &attempts)
	if len(attempts.Attempts) != 1 || attempts.Attempts[0].Decisions != 3 || attempts.Attempts[0].DeviceID != "phone" || attempts.Attempts[0].EndedAt.IsZero() {
		t.Errorf("got the attempts %+v", attempts)
	}
	var seqs, indexes []int
	for cursor := ""; ; {
		var page operators.EventPage
		w.must("GET", operators.TaskPath(made.ID, "events")+"?limit=2&cursor="+cursor, nil, &page)
		for _, e := range page.Events {
			seqs = append(seqs, e.Seq)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	for cursor := ""; ; {
		var page operators.DecisionPage
		w.must("GET", operators.TaskPath(made.ID, "decisions")+"?limit=2&cursor="+cursor, nil, &page)
		for _, d := range page.Decisions {
			indexes = append(indexes, d.StepIndex)
			if d.UserPrompt != "" || d.Tools != nil || d.Tool != "tap" || string(d.Arguments) != `{"ref":"e1"}` || d.RequestID != "request-1" {
				t.Errorf("got %+v, want a decision without bodies", d)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if want := []int{0, 1, 2}; !cmp.Equal(seqs, want) || !cmp.Equal(indexes, want) {
		t.Errorf("got events %v and decisions %v, want %v of each", seqs, indexes, want)
	}
	var one operators.Decision
	w.must("GET", operators.DecisionPath(made.ID, 1, 2), nil, &one)
	if one.SystemPrompt != "canary-system" || one.UserPrompt != "canary-user 2" || len(one.Tools) != 1 || one.Usage.CachedInput.IsKnown() {
		t.Errorf("got %+v, want the decision with its prompts and an unknown cache", one)
	}
	if p := w.refused("GET", operators.DecisionPath(made.ID, 1, 3), nil); p.Status != 404 || p.Code != "decision_not_found" {
		t.Errorf("a decision that was not made: got %d %s", p.Status, p.Code)
	}
}

// R-CLOUD-6
func TestAPurgeNeedsATaskThatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running := w.submit("x")
	f := w.claim()
	w.step(f, 0)
	if p := w.refused("DELETE", operators.TaskPath(running.ID, "decisions"), nil); p.Status != 409 || p.Code != "task_not_terminal" {
		t.Errorf("of a running task: got %d %s, want 409 task_not_terminal", p.Status, p.Code)
	}
	w.finish(f)
	var purged operators.PurgeReply
	w.must("DELETE", operators.TaskPath(running.ID, "decisions"), nil, &purged)
	var left operators.DecisionPage
	w.must("GET", operators.TaskPath(running.ID, "decisions"), nil, &left)
	var shown operators.Task
	w.must("GET", operators.TaskPath(running.ID, ""), nil, &shown)
	if purged.Decisions != 1 || len(left.Decisions) != 0 || shown.DecisionsPrunedAt.IsZero() {
		t.Errorf("got %+v removed, %d left, pruned at %s", purged, len(left.Decisions), shown.DecisionsPrunedAt)
	}
}

func TestOnlyAnEndedTaskIsRetriedAndOnlyALiveOneCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.submit("x")
	if p := w.refused("POST", operators.TaskPath(made.ID, "retry"), nil); p.Status != 409 || p.Code != "task_not_terminal" {
		t.Errorf("retry of a queued task: got %d %s", p.Status, p.Code)
	}
	var cancelled operators.Task
	w.must("POST", operators.TaskPath(made.ID, "cancel"), nil, &cancelled)
	if cancelled.State != "cancelled" {
		t.Errorf("got state %s, want cancelled", cancelled.State)
	}
	if p := w.refused("POST", operators.TaskPath(made.ID, "cancel"), nil); p.Status != 409 || p.Code != "task_terminal" || p.Retryable {
		t.Errorf("cancel of an ended task: got %d %s", p.Status, p.Code)
	}
	var again operators.SubmitReply
	w.must("POST", operators.TaskPath(made.ID, "retry"), nil, &again)
	if again.Task.RetryOf != made.ID || again.Task.State != "queued" || again.Task.Goal != "x" {
		t.Errorf("got %+v, want a new task that retries the first", again.Task)
	}
}
