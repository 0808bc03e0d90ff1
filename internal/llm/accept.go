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

// Accept decides whether r holds exactly one usable call of the offered tools.
// It is the only place that does. The error is an *Unavailable that carries
// the reply's usage, because a reply that we refuse was still paid for.
//
// The reason is the first that applies: refused, truncated, no_call for a
// paused turn, no_call, many_calls, unknown_tool, invalid_arguments.
func Accept(offered *tool.Set, r Reply) (Decision, error) {
	fail := func(reason Reason, detail string) (Decision, error) {
		return Decision{}, &Unavailable{Reason: reason, Detail: detail, Usage: r.Usage, Provider: r.Provider, Model: r.Model, ProviderRequestID: r.ProviderRequestID}
	}
	switch {
	case r.Stop == StopRefused:
		return fail(Refused, "the model or its content filter declined the request")
	case r.Stop == StopTruncated:
		return fail(Truncated, "the model's reply was cut off by a length limit")
	case r.Stop == StopPaused:
		return fail(NoCall, "the model paused its turn instead of calling a tool")
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
