package hosts

import (
	"context"
	"net/http"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/llm"
	"interlock/internal/serve"
)

// maxDecide bounds how long a decide may be asked to take; its answer is given
// decideSlack more to arrive.
const (
	maxDecide   = 10 * time.Minute
	decideSlack = 15 * time.Second
)

// decide asks for one decision. Nothing of the body outlives the call.
func (d *Door) decide(ctx context.Context, c call) (int, any, error) {
	release, err := d.reserve(c)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	var body hostapi.ReceivedDecide
	if err := serve.Decode(c.w, c.r, hostapi.MaxDecideBody, &body); err != nil {
		return 0, nil, err
	}
	req, err := request(body, c.key)
	if err != nil {
		return 0, nil, err
	}
	body = hostapi.ReceivedDecide{}
	serve.Hold(c.w, maxDecide+decideSlack) // the service keeps the real, shorter deadline
	decided, err := d.Decisions.Decide(ctx, c.host, req, serve.RequestID(ctx))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, hostapi.NewDecideReply(decided), nil
}

// reserve takes the memory that the request will need, before any of it is
// read: the body, and the picture that is decoded out of it.
func (d *Door) reserve(c call) (release func(), err error) {
	size := c.r.ContentLength
	switch {
	case size > hostapi.MaxDecideBody:
		return nil, serve.TooLarge(hostapi.MaxDecideBody)
	case size < 0:
		size = hostapi.MaxDecideBody
	}
	return d.Decisions.Reserve(c.host.ID, 2*size)
}

// request reads the body's parts; a part that can't be right is a decision
// that did not come, like the provider's own refusal of it.
func request(body hostapi.ReceivedDecide, key string) (llm.Request, error) {
	switch {
	case body.TaskID == "" || len(body.TaskID) > maxTaskID || body.Attempt < 1:
		return llm.Request{}, refused("task_id and attempt name no attempt")
	case body.TimeoutSeconds < 0 || body.TimeoutSeconds > maxDecide.Seconds():
		return llm.Request{}, refused("timeout_seconds is between 0 (the server's own) and 600")
	}
	req, err := body.Request(key)
	if err != nil {
		return llm.Request{}, refused(err.Error())
	}
	return req, nil
}

func refused(what string) error { return &llm.Unavailable{Reason: llm.BadRequest, Detail: what} }
