package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/runner"
	"interlock/internal/tool"
)

// world is one task with everything around it.
type world struct {
	*testing.T
	phone *sim.Phone
	host  *ledger
	task  runner.Task
	opts  runner.Options
	seen  []planner.Input // what the planner was asked with
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, phone: sim.New(sim.Options{}), host: &ledger{}, task: runner.Task{ID: "t1", Attempt: 1, Goal: "do it"}}
	w.opts = runner.Options{Driver: w.phone, Host: w.host}
	return w
}

// play runs the task with a planner that makes the proposals in order, and
// gives up when there is none left.
func (w *world) play(moves ...move) runner.Result {
	w.Helper()
	return w.playFunc(func(in planner.Input) (planner.Proposal, error) {
		if len(moves) == 0 {
			return propose("fail", `{"reason":"out of moves"}`)(in)
		}
		next := moves[0]
		moves = moves[1:]
		return next(in)
	})
}

func (w *world) playFunc(m move) runner.Result {
	w.Helper()
	w.opts.Planner = proposer(func(ctx context.Context, in planner.Input) (planner.Proposal, error) {
		w.seen = append(w.seen, in)
		return m(in)
	})
	return runner.New(w.opts).Run(w.Context(), w.task)
}

// ends checks the end of a task and the invariants that hold for every one.
func (w *world) ends(got runner.Result, state runner.State, reason string) {
	w.Helper()
	if got.State != state || got.Reason != reason {
		w.Errorf("ended as %s(%s), want %s(%s): %s", got.State, got.Reason, state, reason, got.Summary)
	}
	permitted := 0
	for _, p := range w.host.permits {
		if p.Mutating {
			permitted++
		}
	}
	if done := len(w.phone.Done()); done > permitted || (done > 0) != got.Acted && got.State != runner.Indeterminate {
		w.Errorf("%d actions, %d permissions, acted %v", done, permitted, got.Acted)
	}
	for i, e := range w.host.events {
		if e.Decision != i || e.Step < 1 || e.Tool == "" || e.SceneHash == "" || e.Verdict.Rule == "" {
			w.Errorf("event %d is %+v", i, e)
		}
	}
}

func (w *world) outcomes() []runner.Outcome {
	var out []runner.Outcome
	for _, e := range w.host.events {
		out = append(out, e.Outcome)
	}
	return out
}

// proposer is a planner.
type proposer func(context.Context, planner.Input) (planner.Proposal, error)

func (p proposer) Plan(ctx context.Context, in planner.Input) (planner.Proposal, error) {
	return p(ctx, in)
}

// move is one decision of a planner.
type move func(planner.Input) (planner.Proposal, error)

func propose(name, args string) move {
	return func(planner.Input) (planner.Proposal, error) {
		return planner.Proposal{Call: tool.Call{Tool: name, Arguments: json.RawMessage(args)}, Provider: "test", StepIndex: -1,
			Usage: llm.Usage{Input: llm.Known(100), Output: llm.Known(10)}}, nil
	}
}

// on proposes tool for the element that shows text; more are further members
// of the arguments.
func on(name, text string, more ...string) move {
	return func(in planner.Input) (planner.Proposal, error) {
		args := map[string]string{"ref": refOf(in.Scene, text)}
		for i := 0; i+1 < len(more); i += 2 {
			args[more[i]] = more[i+1]
		}
		b, err := json.Marshal(args)
		if err != nil {
			return planner.Proposal{}, err
		}
		return propose(name, string(b))(in)
	}
}

func refOf(s device.Scene, text string) string {
	i := slices.IndexFunc(s.Elements, func(e device.Element) bool { return e.Text == text || e.Label == text })
	if i < 0 {
		return "missing:" + text
	}
	return s.Elements[i].Ref
}

func open(app string) move { return propose("open_app", `{"package":"`+app+`"}`) }

func finish(evidence string) move {
	return propose("finish", `{"status":"success","summary":"done","evidence":"`+evidence+`"}`)
}

func noDecision(u *llm.Unavailable) move {
	return func(planner.Input) (planner.Proposal, error) { return planner.Proposal{}, u }
}

// finishOn gives as evidence the ref of the element that shows text.
func finishOn(text string) move {
	return func(in planner.Input) (planner.Proposal, error) { return finish(refOf(in.Scene, text))(in) }
}

// ledger is a host that permits everything, unless told otherwise, and keeps
// what it hears.
type ledger struct {
	permit func(runner.Permission) error
	record func(runner.StepEvent) error

	mu      sync.Mutex
	permits []runner.Permission
	events  []runner.StepEvent
}

func (l *ledger) Permit(_ context.Context, p runner.Permission) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.permits = append(l.permits, p)
	if l.permit != nil {
		return l.permit(p)
	}
	return nil
}

func (l *ledger) Record(ctx context.Context, e runner.StepEvent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.events = append(l.events, e)
	if l.record != nil {
		return l.record(e)
	}
	return nil
}
