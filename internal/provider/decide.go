package provider

import (
	"context"
	"time"

	"interlock/internal/llm"
)

// Decide makes one decision for a vendor's client, which says how its API
// words a request, with or without forcing a call, and how it reads a reply.
// The whole of it ends by the shorter of the wire's timeout and the request's.
// The error is an *llm.Unavailable, as read's must be.
func (w *Wire) Decide(ctx context.Context, r llm.Request, message func(forced bool) any, read func(Answer) (llm.Reply, error)) (llm.Decision, error) {
	if err := w.check(r); err != nil {
		return llm.Decision{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.within(r.Timeout))
	defer cancel()
	answer, err := w.askForced(ctx, message)
	if err != nil {
		return llm.Decision{}, err
	}
	reply, err := read(answer)
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
