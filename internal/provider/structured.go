package provider

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"interlock/internal/llm"
)

// FormWording is how a vendor's API says a request for an answer in the form of
// a schema, and its reply.
type FormWording struct {
	// Message is the body of a request. It is an object.
	Message func(llm.StructuredRequest) any
	// Takes reports whether the API takes the request's schema in a Message. Nil:
	// any.
	Takes func(llm.StructuredRequest) bool
	// Read reads a reply; each answer in it becomes one of the form's. Its
	// error is an *llm.Unavailable.
	Read func(Answer, *llm.Form) (llm.Reply, error)
	// Call asks for a call of the form's tool instead, for what can't be asked
	// in a Message.
	Call func(context.Context, llm.Request) (llm.Decision, error)
}

// Structured makes one answer for a vendor's client in its words, with the
// retries and within the deadline that a decision has. A model or a server that
// doesn't know the vendor's structured output is recognised by its refusal,
// asked for a tool call instead, and remembered until the process ends. The
// error is an *llm.Unavailable.
func (w *Wire) Structured(ctx context.Context, r llm.StructuredRequest, say FormWording) (llm.StructuredReply, error) {
	form, err := r.Form()
	switch {
	case r.User == "":
		return llm.StructuredReply{}, w.fail(llm.BadRequest, "the user prompt is empty")
	case err != nil:
		return llm.StructuredReply{}, w.fail(llm.BadRequest, "the schema of the answer can't be used")
	}
	ctx, cancel := context.WithTimeout(ctx, w.within(r.Timeout))
	defer cancel()
	if w.unformed.Load() || (say.Takes != nil && !say.Takes(r)) {
		return answerByCall(ctx, r, form, say)
	}
	reply, err := w.answerInForm(ctx, r, form, say)
	if !errors.Is(err, ErrUnformed) {
		return reply, err
	}
	if reply, err = answerByCall(ctx, r, form, say); err == nil {
		w.unformed.Store(true)
	}
	return reply, err
}

func (w *Wire) answerInForm(ctx context.Context, r llm.StructuredRequest, form *llm.Form, say FormWording) (llm.StructuredReply, error) {
	body, err := json.Marshal(say.Message(r), asScreensAre)
	if err != nil {
		return llm.StructuredReply{}, w.fail(llm.BadRequest, "the request can't be written as JSON")
	}
	answer, err := w.ask(ctx, body)
	if err != nil {
		return llm.StructuredReply{}, err
	}
	reply, err := say.Read(answer, form)
	if err != nil {
		return llm.StructuredReply{}, err
	}
	return llm.AcceptStructured(form, reply)
}

func answerByCall(ctx context.Context, r llm.StructuredRequest, form *llm.Form, say FormWording) (llm.StructuredReply, error) {
	d, err := say.Call(ctx, llm.Request{System: r.System, User: r.User, Tools: form.Tool()})
	if err != nil {
		return llm.StructuredReply{}, err
	}
	return llm.StructuredReply{JSON: d.Call.Arguments, Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID}, nil
}
