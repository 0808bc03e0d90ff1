package operators

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/serve"
)

func (d *Door) mountTasks(api huma.API) {
	submit := op("POST "+PathTasks, "submit-task", "Submit a task")
	submit.DefaultStatus = http.StatusCreated
	add(d, api, submit, d.submit)
	add(d, api, op("GET "+PathTasks, "list-tasks", "List tasks, newest first"), d.listTasks)
	add(d, api, op("GET "+PathTasks+"/{id}", "get-task", "Show one task"), d.getTask)
	add(d, api, op("POST "+PathTasks+"/{id}/cancel", "cancel-task", "Cancel a task; a host that holds it stops at its next step"), d.cancelTask)
	retry := op("POST "+PathTasks+"/{id}/retry", "retry-task", "Run a task that has ended again, as a new task")
	retry.DefaultStatus = http.StatusCreated
	add(d, api, retry, d.retryTask)
	add(d, api, op("GET "+PathTasks+"/{id}/attempts", "list-attempts", "List a task's attempts"), d.listAttempts)
	add(d, api, op("GET "+PathTasks+"/{id}/events", "list-events", "List what happened in one attempt"), d.listEvents)
	d.mountWatch(api)
}

// aTask names one task.
type aTask struct {
	ID string `path:"id" maxLength:"64"`
}

type submitInput struct {
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"200" pattern:"^[ -~]+$" doc:"new for each task, the same for its repeats"`
	Body TaskSpec
}

func (d *Door) submit(ctx context.Context, o operator, in *submitInput) (*reply[SubmitReply], error) {
	t, replayed, err := d.Tasks.Submit(ctx, task.Submission{Tenant: o.tenant, By: o.by, Key: in.Key, Spec: in.Body.spec()})
	return answer(SubmitReply{taskView(t), replayed}, err)
}

type listTasksInput struct {
	State  []string `query:"state,explode" maxItems:"8" enum:"queued,leased,running,cancelling,succeeded,failed,cancelled,dead"`
	HostID string   `query:"host_id" maxLength:"64"`
	Label  []string `query:"label,explode" maxItems:"16" doc:"name=value; each must be among the task's labels"`
	Limit  int      `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string   `query:"cursor" maxLength:"64"`
}

func (d *Door) listTasks(ctx context.Context, o operator, in *listTasksInput) (*reply[TaskPage], error) {
	f := task.Filter{Tenant: o.tenant, Host: fleet.HostID(in.HostID), Before: task.ID(in.Cursor), Limit: in.Limit + 1}
	for _, s := range in.State {
		f.States = append(f.States, task.State(s))
	}
	labels, err := parseLabels(in.Label)
	if err != nil {
		return nil, err
	}
	f.Labels = labels
	found, err := d.Tasks.Tasks(ctx, f)
	if err != nil {
		return nil, err
	}
	page := TaskPage{Tasks: []Task{}}
	for i, t := range found {
		if i == in.Limit {
			page.NextCursor = page.Tasks[i-1].ID
			break
		}
		page.Tasks = append(page.Tasks, taskView(t))
	}
	return answer(page, nil)
}

func parseLabels(given []string) (map[string]string, error) {
	var labels map[string]string
	for _, pair := range given {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.Invalid, "invalid_request", "write each label as name=value")
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
	}
	return labels, nil
}

func (d *Door) getTask(ctx context.Context, o operator, in *aTask) (*reply[Task], error) {
	t, err := d.Tasks.Task(ctx, o.tenant, task.ID(in.ID))
	return answer(taskView(t), err)
}

type cancelInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body *CancelRequest
}

func (d *Door) cancelTask(ctx context.Context, o operator, in *cancelInput) (*reply[Task], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	t, err := d.Tasks.Cancel(ctx, o.tenant, o.by, task.ID(in.ID), reason)
	return answer(taskView(t), err)
}

type retryInput struct {
	ID  string `path:"id" maxLength:"64"`
	Key string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"200" pattern:"^[ -~]+$"`
}

func (d *Door) retryTask(ctx context.Context, o operator, in *retryInput) (*reply[SubmitReply], error) {
	t, replayed, err := d.Tasks.Retry(ctx, o.tenant, o.by, task.ID(in.ID), in.Key)
	return answer(SubmitReply{taskView(t), replayed}, err)
}

func (d *Door) listAttempts(ctx context.Context, o operator, in *aTask) (*reply[AttemptList], error) {
	found, err := d.Tasks.Attempts(ctx, o.tenant, task.ID(in.ID))
	list := AttemptList{Attempts: []Attempt{}}
	for _, a := range found {
		list.Attempts = append(list.Attempts, Attempt{Number: a.Number, HostID: string(a.Host), DeviceID: a.Device, ClaimedAt: a.ClaimedAt,
			AckedAt: a.AckedAt, ActingAt: a.ActingAt, EndedAt: a.EndedAt, End: a.End, Reason: a.Reason, Decisions: a.Steps})
	}
	return answer(list, err)
}

type listEventsInput struct {
	ID      string `path:"id" maxLength:"64"`
	Attempt int    `query:"attempt" minimum:"1" doc:"left out: the latest"`
	Limit   int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor  string `query:"cursor" maxLength:"64"`
}

func (d *Door) listEvents(ctx context.Context, o operator, in *listEventsInput) (*reply[EventPage], error) {
	t, err := d.Tasks.Task(ctx, o.tenant, task.ID(in.ID))
	if err != nil {
		return nil, err
	}
	at := place{in.Attempt, -1}
	if in.Attempt == 0 {
		at.attempt = t.Attempt
	}
	if in.Cursor != "" {
		if at, err = parsePlace(in.Cursor); err != nil {
			return nil, err
		}
	}
	found, err := d.Tasks.Events(ctx, o.tenant, t.ID, at.attempt, at.index, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := EventPage{Events: []Event{}}
	for i, e := range found {
		if i == in.Limit {
			page.NextCursor = place{at.attempt, page.Events[i-1].Seq}.String()
			break
		}
		page.Events = append(page.Events, eventView(at.attempt, e))
	}
	return answer(page, nil)
}

// spec is what the task room understands. A zero priority is a priority.
func (s TaskSpec) spec() task.Spec {
	priority := task.DefaultPriority
	if s.Priority != nil {
		priority = *s.Priority
	}
	return task.Spec{Goal: s.Goal, Priority: priority, Repeatable: s.Repeatable, AppLock: s.AppLock, Policy: s.Policy,
		Selector:  task.Selector{Host: fleet.HostID(s.Device.HostID), Device: s.Device.DeviceID, Kind: s.Device.Kind, Labels: s.Device.Labels},
		Budgets:   task.Budgets{Steps: s.Budgets.Steps, WallTime: serve.Millis(s.Budgets.WallTimeMS), Tokens: s.Budgets.Tokens},
		NotBefore: s.NotBefore, ExpiresAt: s.ExpiresAt, MaxAttempts: s.MaxAttempts, Labels: s.Labels}
}

func taskView(t task.Task) Task {
	priority := t.Spec.Priority
	v := Task{ID: string(t.ID), State: string(t.State), Reason: t.Reason, RetryOf: string(t.RetryOf), Attempt: t.Attempt, Tries: t.Tries,
		LeaseMisses: t.LeaseMisses, HostID: string(t.Host), DeviceID: t.Device, LeaseExpiresAt: t.LeaseExpires, Acted: t.Acted,
		NextRunAt: t.NextRun, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, TerminalAt: t.TerminalAt, DecisionsPrunedAt: t.PrunedAt,
		TaskSpec: TaskSpec{Goal: t.Spec.Goal, Priority: &priority, Repeatable: t.Spec.Repeatable, AppLock: t.Spec.AppLock, Policy: t.Spec.Policy,
			Device:    Selector{HostID: string(t.Spec.Selector.Host), DeviceID: t.Spec.Selector.Device, Kind: t.Spec.Selector.Kind, Labels: t.Spec.Selector.Labels},
			Budgets:   Budgets{Steps: t.Spec.Budgets.Steps, WallTimeMS: t.Spec.Budgets.WallTime.Milliseconds(), Tokens: t.Spec.Budgets.Tokens},
			NotBefore: t.Spec.NotBefore, ExpiresAt: t.Spec.ExpiresAt, MaxAttempts: t.Spec.MaxAttempts, Labels: t.Spec.Labels}}
	if r := t.Result; r != nil {
		v.Result = &TaskResult{State: r.State, Reason: r.Reason, Summary: r.Summary, Steps: r.Steps, Acted: r.Acted, Usage: r.Usage}
	}
	return v
}

func eventView(attempt int, e task.Event) Event {
	v := Event{Attempt: attempt, Seq: e.Seq, Kind: e.Kind, Step: e.Step, Tool: e.Tool, Effect: e.Effect, Rule: e.Rule, Revision: e.Revision,
		Outcome: e.Outcome, DurationMS: e.Duration.Milliseconds(), SceneHash: e.SceneHash, At: e.At}
	if e.StepIndex >= 0 {
		index := e.StepIndex
		v.StepIndex = &index
	}
	return v
}
