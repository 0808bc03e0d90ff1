// Package planner turns one Scene into exactly one proposed call. It decides
// nothing: policy, scene binding and budgets are the runner's.
//
// There are two planners. AI asks a model through an llm.ToolCaller and can't
// tell whether that is a vendor or a proxy. Stub stands in where the AI
// planner is switched off; it only gives up, and says that it is the stub.
// Neither ever falls back to the other: a decision that fails is an error that
// wraps llm.ErrUnavailable.
//
// Prompts are built here and nowhere else. Whatever was read off a screen goes
// between fences with a mark that is drawn anew for each prompt and does not
// occur in what it encloses, each element on a line of its own with its text
// in quotes, so that no screen can end the fence or forge a line. The content
// of password fields is not in a Scene, hence not in a prompt.
package planner

import (
	"context"
	"time"

	"interlock/internal/device"
	"interlock/internal/llm"
	"interlock/internal/tool"
)

// Planner proposes one call. Its error wraps llm.ErrUnavailable. It returns
// when ctx ends.
type Planner interface {
	Plan(ctx context.Context, in Input) (Proposal, error)
}

// Input is what a proposal depends on.
type Input struct {
	TaskID  string
	Attempt int
	Ordinal int // of the decision within the attempt, from 0

	Goal        string
	Device      device.Info
	Scene       device.Scene
	Apps        []string // the packages that may be acted on; nil: any
	Step, Steps int      // this step from 1, and how many there may be
	History     []Past   // carried out so far, oldest first
	// Refusal says why the last proposal of this step was turned down, and
	// Warning that the task goes round in circles; both are our words.
	Refusal, Warning string
	// Timeout is what is left of the task's wall time; zero: no bound but
	// the planner's own.
	Timeout time.Duration
}

// Past is one step that was carried out.
type Past struct {
	Step   int
	Call   tool.Call
	Result string // "ok" and what changed on the screen: words of the screen's, not to be trusted
	// Changed says whether the screen changed at all.
	Changed bool
	// Fresh are the refs of what the step brought up, on the screen after it.
	Fresh []string
}

// Proposal is one call and where it came from.
type Proposal struct {
	Call              tool.Call
	Usage             llm.Usage
	Provider          string // "stub" for the stub
	Model             string
	ProviderRequestID string
	StepIndex         int // the decision's place in the log; -1 where none is kept
}
