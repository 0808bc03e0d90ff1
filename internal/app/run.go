package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"interlock/internal/planner"
	"interlock/internal/recording"
	"interlock/internal/runner"
)

// RunConfig is one task that is carried out in this process, without a server.
type RunConfig struct {
	Task    runner.Task
	Device  DeviceConfig
	Planner Planner         // its transport is Direct whatever it says
	Script  planner.Planner // plans instead of Planner; nil: it doesn't
	Record  Record
	Logger  *slog.Logger
	OnStep  func(runner.StepEvent) // nil: nobody looks
	Now     func() time.Time       // nil: time.Now
}

// Record says where a run is recorded.
type Record struct {
	Path string // "": nowhere
	recording.Options
}

// RunTask carries out the task and returns how it ended. The error says why it
// could not begin, in which case the result has no State, or why it could not
// be recorded. Cancelling ctx ends the task as cancelled.
func RunTask(ctx context.Context, c RunConfig) (runner.Result, error) {
	p, err := c.plan()
	if err != nil {
		return runner.Result{}, err
	}
	recorder := recording.New(c.Task, c.Record.Options)
	if c.Record.Path != "" {
		p = recorder.Planner(p)
	}
	c.Device.ImageMaxEdge = c.Planner.ImageMaxEdge
	driver, err := OpenDevice(ctx, c.Device)
	if err != nil {
		return runner.Result{}, err
	}
	defer driver.Close()
	watch := onlooker{func(e runner.StepEvent) {
		recorder.Step(e)
		if c.OnStep != nil {
			c.OnStep(e)
		}
	}}
	r := runner.New(runner.Options{Driver: driver, Planner: p, Host: watch, Clock: c.Now, Logger: c.Logger})
	result := r.Run(ctx, c.Task)
	if c.Record.Path == "" {
		return result, nil
	}
	return result, recorder.Save(c.Record.Path, result)
}

func (c RunConfig) plan() (planner.Planner, error) {
	if c.Script != nil {
		return c.Script, nil
	}
	return c.Planner.direct()
}

// direct returns the planner that calls its provider from this process.
func (p Planner) direct() (planner.Planner, error) {
	if !p.Enabled {
		return planner.NewStub(), nil
	}
	caller, err := p.Caller()
	if err != nil {
		return nil, err
	}
	if caller == nil {
		return nil, errNoProvider
	}
	return planner.NewAI(caller, p.options()), nil
}

func (p Planner) options() planner.Options {
	return planner.Options{Timeout: p.Timeout, SceneBudget: p.SceneChars}
}

// onlooker is the runner's host where there is no lease to keep.
type onlooker struct{ onStep func(runner.StepEvent) }

// Permit allows everything until the run is cancelled.
func (onlooker) Permit(ctx context.Context, _ runner.Permission) error {
	if ctx.Err() != nil {
		return errors.Join(runner.ErrCancelled, context.Cause(ctx))
	}
	return nil
}

// Record shows the step.
func (o onlooker) Record(_ context.Context, e runner.StepEvent) error {
	o.onStep(e)
	return nil
}
