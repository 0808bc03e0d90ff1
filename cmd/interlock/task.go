package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/serve/operators"
)

func (p *program) taskCommand() *cobra.Command {
	return p.group("task", "submit, list, show, watch, cancel and retry tasks",
		p.taskSubmit(), p.taskList(), p.taskShow(), p.taskWatch(), p.taskCancel(), p.taskRetry(), p.taskEvents())
}

// submission is what the flags of a submit say.
type submission struct {
	spec     operators.TaskSpec
	key      string
	watch    bool
	wallTime time.Duration
	priority int
	maxRisk  string
	start    string
	expires  string
	device   map[string]string
}

// flags declares the flags that describe a task.
func (s *submission) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.spec.Device.DeviceID, "device", "", "only on the device with this `ID`")
	f.StringVar(&s.spec.Device.Kind, "kind", "", "only on devices of this kind, such as sim")
	f.StringVar(&s.spec.Device.HostID, "host", "", "only on the host with this `ID`")
	f.StringToStringVar(&s.device, "device-label", nil, "only on devices with this `NAME=VALUE`, its own or its host's")
	f.IntVar(&s.spec.Budgets.Steps, "steps", 0, "steps that an attempt may take (0: the host's default)")
	f.DurationVar(&s.wallTime, "wall-time", 0, "how long an attempt may take (0: the host's default)")
	f.Int64Var(&s.spec.Budgets.Tokens, "tokens", 0, "tokens that an attempt may use (0: no limit)")
	f.IntVar(&s.priority, "priority", 5, "0 to 9, 9 is served first")
	f.BoolVar(&s.spec.Repeatable, "repeatable", false, "an attempt that already acted may be tried again by itself")
	f.StringSliceVar(&s.spec.AppLock, "app", nil, "`PACKAGE` that the task may act in, repeatable; without it: any")
	f.StringSliceVar(&s.spec.Policy.AllowedTools, "allow-tool", nil, "`TOOL` that may be used, repeatable; without it: all")
	f.StringVar(&s.maxRisk, "max-risk", "", "low, medium or high: riskier calls are denied")
	f.IntVar(&s.spec.MaxAttempts, "attempts", 0, "attempts that may be made (0: the server's default)")
	f.StringVar(&s.start, "not-before", "", "not started before this `TIME`, such as 2026-12-24T18:00:00Z, or 2h from now")
	f.StringVar(&s.expires, "expires", "", "dead if it is still queued at this `TIME`")
	f.StringToStringVar(&s.spec.Labels, "label", nil, "`NAME=VALUE` to find the task by, repeatable")
	f.StringVar(&s.key, "key", "", "idempotency `KEY`: the same again gets the same task")
	f.BoolVar(&s.watch, "watch", false, "stay until the task has ended; exit code 1 if it did not succeed")
}

// task returns what was asked for.
func (s *submission) task(goal string, now time.Time) (operators.TaskSpec, error) {
	spec := s.spec
	spec.Goal, spec.Priority = goal, &s.priority
	spec.Device.Labels = s.device
	spec.Budgets.WallTimeMS = s.wallTime.Milliseconds()
	spec.Policy.MaxRisk = policy.Risk(s.maxRisk)
	var err error
	if spec.NotBefore, err = s.moment("--not-before", s.start, now); err != nil {
		return spec, err
	}
	spec.ExpiresAt, err = s.moment("--expires", s.expires, now)
	return spec, err
}

// moment reads a time, or one from now; zero if the flag is not set. With a key
// it must be a time: from now, a repeat would ask for another task.
func (s *submission) moment(flag, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return at.UTC(), nil
	}
	d, err := duration(time.Second, 10*365*24*time.Hour)(value)
	switch {
	case err != nil:
		return time.Time{}, usageError("%s must be a time such as 2026-12-24T18:00:00Z, or one from now such as 2h or 3d", flag)
	case s.key != "":
		return time.Time{}, usageError("with --key, %s must be a time such as 2026-12-24T18:00:00Z, so that a repeat asks for the same", flag)
	}
	return now.Add(d).UTC(), nil
}

func (p *program) taskSubmit() *cobra.Command {
	var s submission
	c := p.operatorCommand(`submit "GOAL"`, "submit a task", arguments(`a goal, such as "turn on dark theme"`), func(cl *client, args []string) error {
		spec, err := s.task(args[0], time.Now())
		if err != nil {
			return err
		}
		var reply operators.SubmitReply
		if err := cl.once(p.ctx, operators.PathTasks, s.key, spec, &reply); err != nil {
			return err
		}
		p.warnUnserved(cl, reply.Task)
		return p.submitted(cl, reply, s.watch)
	})
	s.flags(c)
	return c
}

// warnUnserved says so if no host offers a device that could serve the task
// now. It is a courtesy: what it can't find out it doesn't mention.
func (p *program) warnUnserved(cl *client, k operators.Task) {
	var list operators.HostList
	if k.Ended() || cl.get(p.ctx, operators.PathHosts, nil, &list) != nil {
		return
	}
	for _, h := range list.Hosts {
		if h.Status == "revoked" || (k.Device.HostID != "" && k.Device.HostID != h.ID) {
			continue
		}
		for _, d := range h.Devices {
			if (k.Device.DeviceID == "" || k.Device.DeviceID == d.ID) && (k.Device.Kind == "" || k.Device.Kind == d.Kind) {
				return
			}
		}
	}
	p.notef("no host offers a device for it now; the task waits until one does\n")
}

// submitted shows the task that was made, and follows it if asked to.
func (p *program) submitted(cl *client, reply operators.SubmitReply, watch bool) error {
	if watch {
		p.notef("task %s is %s\n", reply.Task.ID, reply.Task.State)
		return p.follow(cl, reply.Task.ID)
	}
	if p.json {
		return p.printJSON(reply.Task)
	}
	p.printf("%s\n", reply.Task.ID)
	p.notef("the task is %s; follow it with: interlock task watch %s\n", reply.Task.State, reply.Task.ID)
	return nil
}

func (p *program) taskList() *cobra.Command {
	var states []string
	var host string
	var labels map[string]string
	var limit int
	c := p.operatorCommand("list", "list tasks, newest first", arguments(), func(cl *client, _ []string) error {
		query := url.Values{"state": states}
		if host != "" {
			query.Set("host_id", host)
		}
		for name, value := range labels {
			query.Add("label", name+"="+value)
		}
		tasks := []operators.Task{}
		err := pages(limit, query, func(query url.Values) (string, int, error) {
			var page operators.TaskPage
			err := cl.get(p.ctx, operators.PathTasks, query, &page)
			tasks = append(tasks, page.Tasks...)
			return page.NextCursor, len(page.Tasks), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(tasks)
		}
		t := table{head: []string{"TASK", "STATE", "REASON", "ATTEMPT", "DEVICE", "CREATED", "GOAL"}}
		for _, k := range tasks {
			t.add(k.ID, k.State, orDash(k.Reason), strconv.Itoa(k.Attempt), orDash(k.DeviceID), when(k.CreatedAt), shorten(k.Goal, 50))
		}
		t.print(p.out, "there are no tasks")
		return nil
	})
	c.Flags().StringSliceVar(&states, "state", nil, "only tasks in this `STATE`, repeatable")
	c.Flags().StringVar(&host, "host", "", "only tasks of the host with this `ID`")
	c.Flags().StringToStringVar(&labels, "label", nil, "only tasks with this `NAME=VALUE`, repeatable")
	c.Flags().IntVar(&limit, "limit", operators.DefaultPage, "how many")
	return c
}

// pages calls next with the query of page after page until limit things have
// come or there is no further page. next returns the cursor and how many came.
func pages(limit int, query url.Values, next func(url.Values) (string, int, error)) error {
	if limit < 1 {
		return usageError("--limit must be at least 1")
	}
	for limit > 0 {
		query.Set("limit", strconv.Itoa(min(limit, operators.MaxPage)))
		cursor, n, err := next(query)
		if err != nil || cursor == "" || n == 0 {
			return err
		}
		limit -= n
		query.Set("cursor", cursor)
	}
	return nil
}

// taskDetail is what "interlock task show --json" prints.
type taskDetail struct {
	operators.Task
	Attempts []operators.Attempt `json:"attempts"`
}

func (p *program) taskShow() *cobra.Command {
	return p.operatorCommand("show TASK", "show one task and its attempts", arguments("the task's id"), func(cl *client, args []string) error {
		var d taskDetail
		var attempts operators.AttemptList
		if err := cl.get(p.ctx, operators.TaskPath(args[0], ""), nil, &d.Task); err != nil {
			return err
		}
		if err := cl.get(p.ctx, operators.TaskPath(args[0], "attempts"), nil, &attempts); err != nil {
			return err
		}
		d.Attempts = attempts.Attempts
		if p.json {
			return p.printJSON(d)
		}
		p.printTask(d.Task)
		t := table{head: []string{"ATTEMPT", "HOST", "DEVICE", "CLAIMED", "ENDED", "END", "REASON", "DECISIONS"}}
		for _, a := range d.Attempts {
			t.add(strconv.Itoa(a.Number), a.HostID, a.DeviceID, when(a.ClaimedAt), when(a.EndedAt), orDash(a.End), orDash(a.Reason), strconv.Itoa(a.Decisions))
		}
		p.printf("\n")
		t.print(p.out, "no host has claimed it yet")
		return nil
	})
}

func (p *program) printTask(k operators.Task) {
	p.fields(
		"task", k.ID,
		"goal", k.Goal,
		"state", stateWords(k),
		"created", when(k.CreatedAt),
		"ended", when(k.TerminalAt),
		"priority", priority(k),
		"device", orDash(k.DeviceID),
		"host", orDash(k.HostID),
		"apps", orDash(strings.Join(k.AppLock, ", ")),
		"retry of", k.RetryOf,
	)
	if r := k.Result; r != nil {
		p.fields(
			"steps", strconv.Itoa(r.Steps),
			"tokens", fmt.Sprintf("%s in, %s out", r.Usage.Input, r.Usage.Output),
			"summary", r.Summary,
		)
	}
	if !k.DecisionsPrunedAt.IsZero() {
		p.fields("decisions", "removed "+when(k.DecisionsPrunedAt))
	}
}

// fields prints name and value pairs, those without a value left out.
func (p *program) fields(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.printf("%-10s %s\n", pairs[i], printable(pairs[i+1]))
		}
	}
}

func priority(k operators.Task) string {
	if k.Priority == nil {
		return ""
	}
	return strconv.Itoa(*k.Priority)
}

func stateWords(k operators.Task) string {
	if k.Reason == "" {
		return k.State
	}
	return k.State + " (" + k.Reason + ")"
}

func (p *program) taskWatch() *cobra.Command {
	return p.operatorCommand("watch TASK", "follow a task until it has ended; exit code 1 if it did not succeed", arguments("the task's id"), func(cl *client, args []string) error {
		return p.follow(cl, args[0])
	})
}

// watchLine is one line of "interlock task watch --json".
type watchLine struct {
	Task *operators.Task  `json:"task,omitempty"`
	Step *operators.Event `json:"step,omitempty"`
}

// follow prints what happens to a task until it has ended. A stream that is
// cut is picked up where it ended.
func (p *program) follow(cl *client, id string) error {
	var last operators.Task
	show := func(event string, data []byte) (bool, error) {
		switch event {
		case operators.WatchTask:
			before := last.State
			last = operators.Task{}
			if err := json.Unmarshal(data, &last); err != nil {
				return false, cl.stranger().Because(err)
			}
			return !last.Ended(), p.printState(before, last)
		case operators.WatchStep:
			var e operators.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return false, cl.stranger().Because(err)
			}
			return true, p.printStep(e)
		}
		return true, nil
	}
	lastID, broken := "", 0
	for !last.Ended() {
		next, err := cl.watch(p.ctx, operators.TaskPath(id, "watch"), lastID, show)
		if next != lastID {
			lastID, broken = next, 0
		}
		if err == nil || last.Ended() {
			break
		}
		cut := errors.Is(err, errStreamEnded) || (last.ID != "" && fault.KindOf(err) == fault.Unavailable)
		if broken++; !cut || p.ctx.Err() != nil || broken > maxBroken {
			return err
		}
		pause(p.ctx, time.Second)
	}
	if last.State != "succeeded" {
		return errReported
	}
	return nil
}

// maxBroken is how often a watch is picked up again without news between: a
// server that restarts is back within that.
const maxBroken = 30

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (p *program) printState(before string, k operators.Task) error {
	switch {
	case p.json:
		return p.printLine(watchLine{Task: &k})
	case k.State == before:
		return nil
	}
	p.printf("%s %s\n", p.mark(k.State), printable(stateWords(k)))
	if k.Ended() && k.Result != nil && k.Result.Summary != "" {
		p.printf("  %s\n", printable(k.Result.Summary))
	}
	return nil
}

func (p *program) printStep(e operators.Event) error {
	if p.json {
		return p.printLine(watchLine{Step: &e})
	}
	if e.Kind != "step" {
		return nil
	}
	p.printf("%s\n", p.stepLine(e.Step, e.Tool, e.Effect, e.Outcome, time.Duration(e.DurationMS)*time.Millisecond))
	return nil
}

func (p *program) taskCancel() *cobra.Command {
	var reason string
	c := p.operatorCommand("cancel TASK", "cancel a task; a running one stops at its next step", arguments("the task's id"), func(cl *client, args []string) error {
		var k operators.Task
		if err := cl.post(p.ctx, operators.TaskPath(args[0], "cancel"), operators.CancelRequest{Reason: reason}, &k); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(k)
		}
		p.printf("the task is %s\n", k.State)
		return nil
	})
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

func (p *program) taskRetry() *cobra.Command {
	var key string
	var watch bool
	c := p.operatorCommand("retry TASK", "run an ended task again, as a new task", arguments("the task's id"), func(cl *client, args []string) error {
		var reply operators.SubmitReply
		if err := cl.once(p.ctx, operators.TaskPath(args[0], "retry"), key, nil, &reply); err != nil {
			return err
		}
		return p.submitted(cl, reply, watch)
	})
	c.Flags().StringVar(&key, "key", "", "idempotency `KEY`: the same again gets the same task")
	c.Flags().BoolVar(&watch, "watch", false, "stay until the task has ended")
	return c
}

func (p *program) taskEvents() *cobra.Command {
	var attempt, limit int
	c := p.operatorCommand("events TASK", "list what happened in an attempt, step by step", arguments("the task's id"), func(cl *client, args []string) error {
		query := url.Values{}
		if attempt > 0 {
			query.Set("attempt", strconv.Itoa(attempt))
		}
		events := []operators.Event{}
		err := pages(limit, query, func(query url.Values) (string, int, error) {
			var page operators.EventPage
			err := cl.get(p.ctx, operators.TaskPath(args[0], "events"), query, &page)
			events = append(events, page.Events...)
			return page.NextCursor, len(page.Events), err
		})
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(events)
		}
		t := table{head: []string{"SEQ", "KIND", "STEP", "TOOL", "VERDICT", "RULE", "OUTCOME", "TOOK", "LOG", "AT"}}
		for _, e := range events {
			index := "-"
			if e.StepIndex != nil {
				index = strconv.Itoa(*e.StepIndex)
			}
			t.add(strconv.Itoa(e.Seq), e.Kind, strconv.Itoa(e.Step), orDash(e.Tool), orDash(e.Effect), orDash(e.Rule), orDash(e.Outcome),
				(time.Duration(e.DurationMS) * time.Millisecond).String(), index, when(e.At))
		}
		t.print(p.out, "nothing has happened in it")
		return nil
	})
	c.Flags().IntVar(&attempt, "attempt", 0, "`NUMBER` of the attempt (0: the latest)")
	c.Flags().IntVar(&limit, "limit", operators.MaxPage, "how many")
	return c
}
