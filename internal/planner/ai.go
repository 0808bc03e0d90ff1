package planner

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"interlock/internal/llm"
)

// Options tune an AI planner. The zero value is useful.
type Options struct {
	Timeout time.Duration // of one decision with its retries; zero: llm.DefaultTimeout
	// SceneBudget is how many characters the screen may take in a prompt;
	// zero: DefaultSceneBudget.
	SceneBudget int
	// Window is how many past steps a prompt tells in full; zero: DefaultWindow.
	Window int
	Rand   io.Reader // for the marks of fences; nil: crypto/rand
}

// AI is the planner that asks a model. It is safe for concurrent use if its
// ToolCaller and Options.Rand are.
type AI struct {
	caller llm.ToolCaller
	opts   Options
}

// NewAI returns a planner that asks caller.
func NewAI(caller llm.ToolCaller, opts Options) *AI {
	if opts.Timeout <= 0 {
		opts.Timeout = llm.DefaultTimeout
	}
	if opts.SceneBudget <= 0 {
		opts.SceneBudget = DefaultSceneBudget
	}
	if opts.Window <= 0 {
		opts.Window = DefaultWindow
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	return &AI{caller: caller, opts: opts}
}

// Plan builds the prompt, asks once, and puts the answer through the one
// acceptance again, because a transport is to be trusted as little as a model.
// It repeats nothing: retries belong to the caller that it was given.
func (p *AI) Plan(ctx context.Context, in Input) (Proposal, error) {
	request, err := p.request(in)
	if err != nil {
		return Proposal{}, err
	}
	d, err := p.caller.Decide(ctx, request)
	if err != nil {
		return Proposal{}, llm.AsUnavailable(err)
	}
	accepted, err := llm.Accept(tools, llm.Reply{
		Calls: []llm.RawCall{{Name: d.Call.Tool, Arguments: d.Call.Arguments}},
		Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID,
	})
	if err != nil {
		return Proposal{}, err
	}
	return Proposal{Call: accepted.Call, Usage: d.Usage, Provider: d.Provider, Model: d.Model,
		ProviderRequestID: d.ProviderRequestID, StepIndex: d.StepIndex}, nil
}

func (p *AI) request(in Input) (llm.Request, error) {
	mark, err := newMark(p.opts.Rand)
	if err != nil {
		return llm.Request{}, &llm.Unavailable{Reason: llm.BadRequest, Detail: "there is no randomness for the prompt's marks", Err: err}
	}
	r := llm.Request{
		System: SystemPrompt, User: UserPrompt(in, mark, p.opts.SceneBudget, p.opts.Window),
		Tools: tools, Timeout: p.opts.Timeout,
		Key:    fmt.Sprintf("%s.%d.%d", in.TaskID, in.Attempt, in.Ordinal),
		TaskID: in.TaskID, Attempt: in.Attempt,
	}
	if in.Timeout > 0 {
		r.Timeout = min(r.Timeout, in.Timeout)
	}
	if shot := in.Scene.Screenshot; shot != nil {
		if r.Image, err = llm.NewImage(shot.Bytes()); err != nil {
			return llm.Request{}, &llm.Unavailable{Reason: llm.BadRequest, Detail: "the screenshot can't be read", Err: err}
		}
	}
	return r, nil
}
