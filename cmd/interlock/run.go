package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/app"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/runner"
)

// localTask is what the flags of "interlock run" say.
type localTask struct {
	device  string
	task    runner.Task
	maxRisk string
	record  app.Record
	script  planner.Planner // plans instead of a model; nil: it doesn't
	pace    time.Duration
}

const runUses = forPlanning | forProvider | forPhones

func (p *program) runCommand() *cobra.Command {
	var t localTask
	c := &cobra.Command{
		Use: `run "GOAL"`, Short: "run one task here, without a server",
		Args: arguments(`a goal, such as "turn on dark theme"`),
	}
	p.settingFlags(c, runUses)
	t.deviceFlags(c)
	f := c.Flags()
	f.IntVar(&t.task.Budgets.Steps, "steps", 0, "steps that it may take (0: 30)")
	f.DurationVar(&t.task.Budgets.WallTime, "wall-time", 0, "how long it may take (0: 10m)")
	f.Int64Var(&t.task.Budgets.Tokens, "tokens", 0, "tokens that it may use (0: no limit)")
	f.StringSliceVar(&t.task.AppLock, "app", nil, "`PACKAGE` that it may act in, repeatable; without it: any")
	f.StringSliceVar(&t.task.Policy.AllowedTools, "allow-tool", nil, "`TOOL` that may be used, repeatable; without it: all")
	safetyFlags(c, &t.task.Policy)
	f.StringVar(&t.record.Path, "record", "", "save what was seen, proposed and done to this `FILE`, with personal text masked")
	f.BoolVar(&t.record.Unmasked, "record-unmasked", false, "with --record: mask nothing")
	f.BoolVar(&t.record.Images, "record-images", false, "with --record: save the screenshots too, in the folder FILE.images; nothing in them is masked")
	f.StringVar(&t.maxRisk, "max-risk", "", "low, medium or high: riskier calls are denied")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkGoal(args[0]); err != nil {
			return err
		}
		if b := t.task.Budgets; b.Steps < 0 || b.WallTime < 0 || b.Tokens < 0 || t.pace < 0 {
			return usageError("--steps, --wall-time, --tokens and --pace can't be below 0; see: %s --help", c.CommandPath())
		}
		if err := checkRecord(t.record); err != nil {
			return err
		}
		if err := p.load(c, runUses); err != nil {
			return err
		}
		return p.runHere(t, args[0])
	}
	return c
}

// deviceFlags declares the flags that choose a device.
func (t *localTask) deviceFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.device, "device", "sim", "`DEVICE` to run it on, as KIND or KIND:ID; sim is a simulated phone, android the phone that is connected")
	f.DurationVar(&t.pace, "pace", 0, "make every call of a simulated device take so long")
}

// checkRecord spares a run whose recording nobody could save.
func checkRecord(r app.Record) error {
	if r.Path == "" && (r.Unmasked || r.Images) {
		return usageError("--record-unmasked and --record-images need --record FILE")
	}
	if folder, err := os.Stat(filepath.Dir(r.Path)); r.Path != "" && (err != nil || !folder.IsDir()) {
		return usageError("the folder of --record %s is not there; make it first", r.Path)
	}
	return nil
}

// checkGoal spares a task that nobody could carry out.
func checkGoal(goal string) error {
	if strings.TrimSpace(goal) == "" {
		return usageError("the goal is empty; say what the device should look like, or have done, at the end")
	}
	return nil
}

// runReport is what "interlock run --json" prints.
type runReport struct {
	State   runner.State `json:"state"`
	Reason  string       `json:"reason,omitzero"`
	Summary string       `json:"summary,omitzero"`
	Steps   int          `json:"steps"`
	Acted   bool         `json:"acted"`
	Usage   llm.Usage    `json:"usage"`
}

func (p *program) runHere(t localTask, goal string) error {
	kind, id, named := strings.Cut(t.device, ":")
	if !named && kind != app.Android {
		id = kind
	}
	t.task.ID, t.task.Attempt, t.task.Goal = "local", 1, goal
	if t.maxRisk != "" {
		t.task.Policy.MaxRisk = policy.Risk(t.maxRisk)
	}
	if err := t.task.Policy.Validate(); err != nil {
		return err
	}
	config := app.RunConfig{
		Task: t.task, Planner: p.settings.planner, Script: t.script, Record: t.record, Logger: p.quietLogger(),
		Device: app.DeviceConfig{Kind: kind, ID: id, Latency: t.pace, ADBServer: p.settings.host.ADBServer, StateDir: p.settings.host.StateDir, Logger: p.quietLogger()},
		OnStep: func(e runner.StepEvent) {
			p.notef("%s\n", p.stepLine(e.Step, e.Tool, string(e.Verdict.Effect), string(e.Outcome), e.Duration))
		},
	}
	result, err := app.RunTask(p.ctx, config)
	if result.State == "" {
		return err
	}
	if err := errors.Join(p.printResult(result), err); err != nil {
		return err
	}
	return resultError(result)
}

func (p *program) printResult(r runner.Result) error {
	if p.json {
		return p.printJSON(runReport{State: r.State, Reason: r.Reason, Summary: r.Summary, Steps: r.Steps, Acted: r.Acted, Usage: r.Usage})
	}
	state := string(r.State)
	if r.Reason != "" {
		state += " (" + r.Reason + ")"
	}
	sign := p.mark("failed")
	if r.State == runner.Succeeded {
		sign = p.mark("succeeded")
	}
	p.printf("%s %s after %s, tokens: %s in, %s out\n", sign, state, count(r.Steps, "step"), r.Usage.Input, r.Usage.Output)
	if r.Summary != "" {
		p.printf("  %s\n", printable(r.Summary))
	}
	return nil
}

// resultError gives a run that failed for want of a decision the exit code of
// the reason.
func resultError(r runner.Result) error {
	if r.State == runner.Succeeded {
		return nil
	}
	if reason, ok := llm.OfTask(r.Reason); ok {
		return reported(exitOfReason(reason))
	}
	if r.State == runner.DeviceLost {
		return reported(exitUnavailable)
	}
	return errReported
}
