package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) taskCommand() *cobra.Command {
	return p.group("task", "submit, list, show, watch, cancel and retry tasks",
		p.taskSubmit(), p.taskList(), p.taskShow(), p.taskWatch(), p.taskCancel(), p.taskRetry(), p.taskEvents())
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
		p.print(t, "there are no tasks")
		return nil
	})
	c.Flags().StringSliceVar(&states, "state", nil, "only tasks in this `STATE`, repeatable")
	c.Flags().StringVar(&host, "host", "", "only tasks of the host with this `ID`")
	c.Flags().StringToStringVar(&labels, "label", nil, "only tasks with this `NAME=VALUE`, repeatable")
	c.Flags().IntVar(&limit, "limit", operators.DefaultPage, "how many")
	return c
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
		p.print(t, "no host has claimed it yet")
		return nil
	})
}

func (p *program) printTask(k operators.Task) {
	p.fields(
		"task", k.ID,
		"goal", k.Goal,
		"state", stateWords(k),
		"created", when(k.CreatedAt),
		"not before", set(k.NotBefore),
		"next try", nextTry(k),
		"ended", when(k.TerminalAt),
		"priority", priority(k),
		"labels", labelWords(k.Labels),
		"wants", wants(k.Device),
		"budget", budget(k.Budgets),
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

// set shows a time that was asked for, and nothing where none was.
func set(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return when(t)
}

// nextTry is when a queued task that was tried before may be claimed again.
func nextTry(k operators.Task) string {
	if k.State != "queued" || k.Attempt == 0 {
		return ""
	}
	return set(k.NextRunAt)
}

// wants says which devices a task asks for.
func wants(s operators.Selector) string {
	var words []string
	for _, w := range [][2]string{{"device ", s.DeviceID}, {"kind ", s.Kind}, {"host ", s.HostID}, {"labels ", labelWords(s.Labels)}} {
		if w[1] != "" {
			words = append(words, w[0]+w[1])
		}
	}
	return strings.Join(words, ", ")
}

// budget says what an attempt may use, where that is less than the default.
func budget(b operators.Budgets) string {
	var words []string
	if b.Steps > 0 {
		words = append(words, count(b.Steps, "step"))
	}
	if b.WallTimeMS > 0 {
		words = append(words, (time.Duration(b.WallTimeMS) * time.Millisecond).String())
	}
	if b.Tokens > 0 {
		words = append(words, count(int(b.Tokens), "token"))
	}
	return strings.Join(words, ", ")
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
		t := table{head: []string{"SEQ", "KIND", "STEP", "TOOL", "VERDICT", "RULE", "OUTCOME", "TOOK", "DECISION", "AT"}}
		for _, e := range events {
			index := "-"
			if e.StepIndex != nil {
				index = strconv.Itoa(*e.StepIndex)
			}
			t.add(strconv.Itoa(e.Seq), e.Kind, strconv.Itoa(e.Step), orDash(e.Tool), orDash(e.Effect), orDash(e.Rule), orDash(e.Outcome),
				(time.Duration(e.DurationMS) * time.Millisecond).String(), index, when(e.At))
		}
		p.print(t, "nothing has happened in it")
		return nil
	})
	c.Flags().IntVar(&attempt, "attempt", 0, "`NUMBER` of the attempt (0: the latest)")
	c.Flags().IntVar(&limit, "limit", operators.MaxPage, "how many")
	return c
}
