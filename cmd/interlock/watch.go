package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"interlock/internal/fault"
	"interlock/internal/serve/operators"
)

func (p *program) taskWatch() *cobra.Command {
	return p.operatorCommand("watch TASK", "follow a task until it has ended; exit code 1 if it did not succeed", arguments("the task's id"), func(cl *client, args []string) error {
		return p.watch(cl, args[0])
	})
}

// watch follows a task for somebody who may stop looking.
func (p *program) watch(cl *client, id string) error {
	err := p.follow(cl, id)
	if interrupted(p.ctx) {
		p.notef("the task goes on; stop it with: interlock task cancel %s\n", printable(id))
	}
	return err
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
		if broken == 1 {
			p.notef("the watch was cut; it goes on as soon as the server answers\n")
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
