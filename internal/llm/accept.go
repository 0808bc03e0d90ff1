package llm

import (
	"bytes"
	"encoding/json"
	"errors"

	"interlock/internal/tool"
)

// Stop is why a reply ended, over all providers.
type Stop uint8

// The ways a reply ends. A provider maps what it doesn't know to StopOther,
// which is judged by the reply's content alone.
const (
	StopOther     Stop = iota // also the ordinary ends: a tool call, end of turn, a stop sequence
	StopTruncated             // length limit or full context window
	StopRefused               // refusal or content filter
	StopPaused                // a turn that the vendor wants continued
)

// Reply is what a provider read off the wire, before any judgement.
type Reply struct {
	Stop              Stop
	Calls             []RawCall
	Usage             Usage
	Provider          string
	Model             string
	ProviderRequestID string
}

// RawCall is one call block of a reply; Arguments is the JSON text as it came.
type RawCall struct {
	Name      string
	Arguments []byte
}

// unavailable returns the failure of a reply that was read but can't be used.
func (r Reply) unavailable(reason Reason, detail string) *Unavailable {
	return &Unavailable{Reason: reason, Detail: detail, Usage: r.Usage, Provider: r.Provider, Model: r.Model, ProviderRequestID: r.ProviderRequestID}
}

// cutShort says why a reply can't be used whatever it holds; reason is "" where
// it ended in order.
func (r Reply) cutShort() (reason Reason, detail string) {
	switch r.Stop {
	case StopRefused:
		return Refused, "the model or its content filter declined the request"
	case StopTruncated:
		return Truncated, "the model's reply was cut off by a length limit"
	case StopPaused:
		return NoCall, "the model paused its turn instead of ending it"
	default:
		return "", ""
	}
}

// Accept decides whether r holds exactly one usable call of the offered tools.
// It is the only place that does; AcceptStructured is its sibling for answers
// in the form of a schema. The error is an *Unavailable that carries the
// reply's usage, because a reply that we refuse was still paid for.
//
// The reason is the first that applies: refused, truncated, no_call for a
// paused turn, no_call, many_calls, unknown_tool, invalid_arguments.
func Accept(offered *tool.Set, r Reply) (Decision, error) {
	fail := func(reason Reason, detail string) (Decision, error) {
		return Decision{}, r.unavailable(reason, detail)
	}
	if reason, detail := r.cutShort(); reason != "" {
		return fail(reason, detail)
	}
	switch {
	case len(r.Calls) == 0:
		return fail(NoCall, "the model called no tool; check that the model supports forced tool calls")
	case len(r.Calls) > 1:
		return fail(ManyCalls, "the model called more than one tool")
	}
	raw := r.Calls[0]
	args := raw.Arguments
	if len(bytes.TrimSpace(args)) == 0 && offered.TakesNothing(raw.Name) {
		args = json.RawMessage("{}")
	}
	call, err := offered.Check(raw.Name, args)
	switch {
	case errors.Is(err, tool.ErrUnknown):
		return fail(UnknownTool, "the model called a tool that was not offered")
	case err != nil:
		return fail(InvalidArguments, "the model's call has "+err.Error())
	}
	return Decision{Call: call, Usage: r.Usage, Provider: r.Provider, Model: r.Model, ProviderRequestID: r.ProviderRequestID, StepIndex: -1}, nil
}
