package provider

import (
	"context"
	"time"

	"interlock/internal/llm"
	"interlock/internal/tool"
)

// Wording is how a vendor's API says a request and its reply.
type Wording struct {
	// Message is the body of a request but for its tools, with or without
	// forcing a call. It is an object with at least one member.
	Message func(r llm.Request, forced bool) any
	// Offer is one entry of its "tools". It depends on nothing but the spec and
	// on whether the dialect is portable: it is asked once a set of tools.
	Offer func(tool.Spec) any
	// Read reads a reply; its error is an *llm.Unavailable.
	Read func(Answer) (llm.Reply, error)
}

// Decide makes one decision for a vendor's client in its words. The whole of
// it ends by the shorter of the wire's timeout and the request's. The error is
// an *llm.Unavailable.
func (w *Wire) Decide(ctx context.Context, r llm.Request, say Wording) (llm.Decision, error) {
	if err := w.check(r); err != nil {
		return llm.Decision{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.within(r.Timeout))
	defer cancel()
	answer, err := w.askForced(func(forced bool) (Answer, error) {
		body, err := w.encode(r, say, forced)
		if err != nil {
			return Answer{}, err
		}
		return w.ask(ctx, body)
	})
	if err != nil {
		return llm.Decision{}, err
	}
	reply, err := say.Read(answer)
	if err != nil {
		return llm.Decision{}, err
	}
	return llm.Accept(r.Tools, reply)
}

// check refuses, as bad_request, what the vendor would refuse in r for its
// screenshot or its lack of a prompt.
func (w *Wire) check(r llm.Request) error {
	if r.User == "" {
		return w.fail(llm.BadRequest, "the user prompt is empty")
	}
	if err := w.vendor.Images.check(r.Image); err != nil {
		return w.fail(llm.BadRequest, err.Error())
	}
	return nil
}

// within is how long a decision may take of which so much is asked; zero: not
// asked.
func (w *Wire) within(asked time.Duration) time.Duration {
	if asked > 0 {
		return min(w.timeout, asked)
	}
	return w.timeout
}
