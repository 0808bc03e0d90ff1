package llm

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"interlock/internal/tool"
)

// StructuredCaller makes one answer in the form of a schema. It returns a
// reply that AcceptStructured took, or an error in whose chain is an
// *Unavailable, with the reasons and the promises of a ToolCaller: it never
// returns later than the request's Timeout and its own, whichever is shorter,
// and it is safe for concurrent use.
type StructuredCaller interface {
	Structured(ctx context.Context, r StructuredRequest) (StructuredReply, error)
}

// StructuredRequest is everything that one answer depends on.
type StructuredRequest struct {
	System, User string
	// Name says what the answer is, for the model: 1 to 64 of a-z, A-Z, 0-9,
	// '_' and '-'.
	Name string
	// Schema is a JSON Schema (2020-12) whose root type is "object". A vendor
	// holds its model to it as far as it can; AcceptStructured does so whole.
	Schema    json.RawMessage
	Timeout   time.Duration // the whole answer with its retries; zero: the caller's own default
	MaxOutput int           // tokens of a reply, thinking included; zero: the caller's own default
}

// Form compiles the schema. Whoever answers r gives it to AcceptStructured.
func (r StructuredRequest) Form() (*Form, error) {
	set, err := tool.NewSet([]tool.Spec{{Name: r.Name, Parameters: r.Schema}})
	if err != nil {
		return nil, err
	}
	return &Form{name: r.Name, set: set}, nil
}

// Form is what an answer must look like. It is immutable and safe for
// concurrent use.
type Form struct {
	name string
	set  *tool.Set // of the one name
}

// Tool offers the form as a tool, for models that answer by a call.
func (f *Form) Tool() *tool.Set { return f.set }

// Answer returns text, which a model wrote as its answer, for a Reply.
func (f *Form) Answer(text []byte) RawCall { return RawCall{Name: f.name, Arguments: text} }

// StructuredReply is one accepted answer.
type StructuredReply struct {
	JSON              json.RawMessage // a compact object that fits the schema
	Usage             Usage
	Provider          string // "anthropic" or "openai"
	Model             string // as the provider named it in its reply, else as asked
	ProviderRequestID string // "" where the provider gave none
}

// AcceptStructured decides whether r holds exactly one answer of the form, as
// Accept does for calls; each of r's calls is one answer. The error is an
// *Unavailable with the reply's usage.
//
// The reason is the first that applies: refused, truncated, no_call for a
// paused turn or an empty reply, many_calls, unknown_tool for a call of
// something that was not offered, invalid_arguments for an answer that is no
// JSON object or breaks the schema.
func AcceptStructured(f *Form, r Reply) (StructuredReply, error) {
	fail := func(reason Reason, detail string) (StructuredReply, error) {
		return StructuredReply{}, r.unavailable(reason, detail)
	}
	if reason, detail := r.cutShort(); reason != "" {
		return fail(reason, detail)
	}
	switch {
	case len(r.Calls) == 0:
		return fail(NoCall, "the model's reply holds no answer")
	case len(r.Calls) > 1:
		return fail(ManyCalls, "the model's reply holds more than one answer")
	}
	call, err := f.set.Check(r.Calls[0].Name, r.Calls[0].Arguments)
	switch {
	case errors.Is(err, tool.ErrUnknown):
		return fail(UnknownTool, "the model called a tool instead of answering")
	case err != nil:
		return fail(InvalidArguments, "the model's answer is not in the form that was asked for; check that the model supports structured output")
	}
	return StructuredReply{JSON: call.Arguments, Usage: r.Usage, Provider: r.Provider, Model: r.Model, ProviderRequestID: r.ProviderRequestID}, nil
}
