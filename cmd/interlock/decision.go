package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"interlock/internal/serve/operators"
)

func (p *program) decisionCommand() *cobra.Command {
	return p.group("decision", "read and purge the decision log", p.decisionList(), p.decisionShow(), p.decisionPurge())
}

func (p *program) decisionList() *cobra.Command {
	var attempt, limit int
	var bodies bool
	c := p.operatorCommand("list TASK", "list the decisions of a task", arguments("the task's id"), func(cl *client, args []string) error {
		query := url.Values{}
		if attempt > 0 {
			query.Set("attempt", strconv.Itoa(attempt))
		}
		if bodies {
			query.Set("bodies", "true")
		}
		decisions, err := cl.decisions(p.ctx, args[0], query, limit)
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(decisions)
		}
		t := table{head: []string{"ATTEMPT", "STEP", "TOOL", "ARGUMENTS", "MODEL", "TOKENS IN", "TOKENS OUT", "TOOK", "AT"}}
		for _, d := range decisions {
			t.add(strconv.Itoa(d.Attempt), strconv.Itoa(d.StepIndex), d.Tool, shorten(string(d.Arguments), 60), d.Model,
				d.Usage.Input.String(), d.Usage.Output.String(), strconv.FormatInt(d.LatencyMS, 10)+"ms", when(d.At))
		}
		p.print(t, "the log holds no decision of this task: it made none, its host decides directly, or they were removed")
		return nil
	})
	c.Flags().IntVar(&attempt, "attempt", 0, "only of the attempt with this `NUMBER`")
	c.Flags().BoolVar(&bodies, "bodies", false, "with prompts and tools, in JSON")
	c.Flags().IntVar(&limit, "limit", operators.MaxPage, "how many")
	return c
}

// decisions reads up to limit decisions of a task.
func (c *client) decisions(ctx context.Context, task string, query url.Values, limit int) ([]operators.Decision, error) {
	all := []operators.Decision{}
	err := pages(limit, query, func(query url.Values) (string, int, error) {
		var page operators.DecisionPage
		err := c.get(ctx, operators.TaskPath(task, "decisions"), query, &page)
		all = append(all, page.Decisions...)
		return page.NextCursor, len(page.Decisions), err
	})
	return all, err
}

func (p *program) decisionShow() *cobra.Command {
	var attempt int
	c := p.operatorCommand("show TASK STEP", "show one decision with its prompts", arguments("the task's id", "the step index, from 0"), func(cl *client, args []string) error {
		step, err := strconv.Atoi(args[1])
		if err != nil || step < 0 {
			return usageError("the step index is a whole number from 0; list them with: interlock decision list %s", args[0])
		}
		var d operators.Decision
		if err := cl.get(p.ctx, operators.DecisionPath(args[0], attempt, step), nil, &d); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(d)
		}
		p.printDecision(d)
		return nil
	})
	c.Flags().IntVar(&attempt, "attempt", 1, "`NUMBER` of the attempt")
	return c
}

func (p *program) printDecision(d operators.Decision) {
	p.fields("task", d.TaskID, "attempt", strconv.Itoa(d.Attempt), "step", strconv.Itoa(d.StepIndex), "at", when(d.At), "host", d.HostID,
		"provider", d.Provider, "model", d.Model, "request", d.ProviderRequestID,
		"tokens", d.Usage.Input.String()+" in, "+d.Usage.Output.String()+" out",
		"call", d.Tool+" "+string(d.Arguments))
	if s := d.Screenshot; s != nil {
		p.fields("screen", strconv.Itoa(s.WidthPX)+"x"+strconv.Itoa(s.HeightPX)+", sha256 "+s.SHA256+" (the picture is not kept)")
	}
	p.printf("\n%s\n%s\n\n%s\n%s\n", p.paint(strong, "system prompt"), lines(d.SystemPrompt), p.paint(strong, "user prompt"), lines(d.UserPrompt))
}

func (p *program) decisionPurge() *cobra.Command {
	return p.operatorCommand("purge TASK", "remove all decisions of an ended task now", arguments("the task's id"), func(cl *client, args []string) error {
		var reply operators.PurgeReply
		if err := cl.call(p.ctx, http.MethodDelete, operators.TaskPath(args[0], "decisions"), nil, nil, nil, &reply); err != nil {
			return err
		}
		if p.json {
			return p.printJSON(reply)
		}
		p.printf("removed %s\n", count(reply.Decisions, "decision"))
		return nil
	})
}
