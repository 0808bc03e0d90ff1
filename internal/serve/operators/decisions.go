package operators

import (
	"context"
	"encoding/hex"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
)

func (d *Door) mountDecisions(api huma.API) {
	add(d, api, op("GET "+PathTasks+"/{id}/decisions", "list-decisions", "List a task's decisions, by attempt and step"), d.listDecisions)
	add(d, api, op("GET "+PathTasks+"/{id}/attempts/{attempt}/decisions/{step_index}", "get-decision", "Show one decision with its prompts and tools"), d.getDecision)
	add(d, api, op("DELETE "+PathTasks+"/{id}/decisions", "purge-decisions", "Remove all decisions of a task that has ended, now"), d.purgeDecisions)
}

// maxBodies is how many decisions with prompts one page holds at most: each
// can be large.
const maxBodies = 20

type listDecisionsInput struct {
	ID      string `path:"id" maxLength:"64"`
	Attempt int    `query:"attempt" minimum:"1" doc:"left out: all"`
	Bodies  bool   `query:"bodies" doc:"with prompts and tools; pages then hold at most 20"`
	Limit   int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor  string `query:"cursor" maxLength:"64"`
}

func (d *Door) listDecisions(ctx context.Context, o operator, in *listDecisionsInput) (*reply[DecisionPage], error) {
	// A task without decisions has an empty list; no task is an error.
	if _, err := d.Tasks.Task(ctx, o.tenant, task.ID(in.ID)); err != nil {
		return nil, err
	}
	limit := in.Limit
	if in.Bodies {
		limit = min(limit, maxBodies)
	}
	q := decision.Query{Tenant: o.tenant, Task: task.ID(in.ID), Attempt: in.Attempt, AfterStep: -1, Limit: limit + 1, Bodies: in.Bodies}
	if in.Cursor != "" {
		at, err := parsePlace(in.Cursor)
		if err != nil {
			return nil, err
		}
		q.AfterAttempt, q.AfterStep = at.attempt, at.index
	}
	found, err := d.Decisions.List(ctx, q)
	if err != nil {
		return nil, err
	}
	page := DecisionPage{Decisions: []Decision{}}
	for i, r := range found {
		if i == limit {
			page.NextCursor = place{found[i-1].Attempt, found[i-1].StepIndex}.String()
			break
		}
		page.Decisions = append(page.Decisions, decisionView(r))
	}
	return answer(page, nil)
}

type aDecision struct {
	ID        string `path:"id" maxLength:"64"`
	Attempt   int    `path:"attempt" minimum:"1"`
	StepIndex int    `path:"step_index" minimum:"0"`
}

func (d *Door) getDecision(ctx context.Context, o operator, in *aDecision) (*reply[Decision], error) {
	r, err := d.Decisions.Show(ctx, o.tenant, task.ID(in.ID), in.Attempt, in.StepIndex)
	return answer(decisionView(r), err)
}

func (d *Door) purgeDecisions(ctx context.Context, o operator, in *aTask) (*reply[PurgeReply], error) {
	p, err := d.Decisions.Purge(ctx, o.tenant, o.by, task.ID(in.ID))
	return answer(PurgeReply{p.Decisions}, err)
}

func decisionView(r decision.Row) Decision {
	v := Decision{TaskID: string(r.Task), Attempt: r.Attempt, StepIndex: r.StepIndex, HostID: string(r.Host), Tool: r.Tool, Arguments: r.Arguments,
		SystemPrompt: r.SystemPrompt, UserPrompt: r.UserPrompt, Tools: r.Tools, Usage: r.Usage, Provider: r.Provider, Model: r.Model,
		ProviderRequestID: r.ProviderRequestID, RequestID: r.RequestID, At: r.At, LatencyMS: r.Latency.Milliseconds()}
	if s := r.Screenshot; s != nil {
		v.Screenshot = &Screenshot{hex.EncodeToString(s.SHA256[:]), s.Width, s.Height, s.Bytes}
	}
	return v
}
