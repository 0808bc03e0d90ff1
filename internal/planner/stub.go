package planner

import (
	"context"
	"encoding/json"

	"interlock/internal/llm"
	"interlock/internal/tool"
)

// StubName is the provider and the model that each proposal of a Stub names.
const StubName = "stub"

// Stub is the planner of a host whose AI planner is off. It asks nobody and
// always gives up.
type Stub struct{}

// NewStub returns a Stub.
func NewStub() *Stub { return &Stub{} }

// Plan proposes fail("AI planner is off"). It costs no tokens, which is known.
func (*Stub) Plan(ctx context.Context, _ Input) (Proposal, error) {
	if err := ctx.Err(); err != nil {
		return Proposal{}, llm.AsUnavailable(err)
	}
	return Proposal{
		Call:     tool.Call{Tool: Fail, Arguments: json.RawMessage(`{"reason":"AI planner is off"}`)},
		Usage:    llm.Usage{Input: llm.Known(0), Output: llm.Known(0)},
		Provider: StubName, Model: StubName, StepIndex: -1,
	}, nil
}
