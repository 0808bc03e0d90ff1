package operators

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"interlock/internal/cloud/task"
	"interlock/internal/serve"
)

func (d *Door) mountWatch(api huma.API) {
	o := op("GET "+PathTasks+"/{id}/watch", "watch-task", "Follow a task until it ends, as server-sent events")
	o.Description = "For each change come the new steps (event: step, with an id), then the task (event: task). After a task that has ended the stream closes. " +
		"A first watch starts with the first attempt; one that sends Last-Event-ID goes on behind that step. Comment lines are signs of life."
	o.Responses = map[string]*huma.Response{"200": {Description: "the events",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	add(d, api, o, d.watch)
}

type watchInput struct {
	ID          string `path:"id" maxLength:"64"`
	LastEventID string `header:"Last-Event-ID" maxLength:"64"`
}

// stream is an answer that is written while it happens.
type stream struct {
	Body func(huma.Context)
}

func (d *Door) watch(ctx context.Context, o operator, in *watchInput) (*stream, error) {
	at := place{1, -1}
	if in.LastEventID != "" {
		var err error
		if at, err = parsePlace(in.LastEventID); err != nil {
			return nil, err
		}
	}
	held, stop := serve.UntilDrain(ctx)
	changes, err := d.Tasks.Watch(held, o.tenant, task.ID(in.ID))
	if err != nil {
		stop()
		return nil, err
	}
	return &stream{func(hc huma.Context) {
		defer stop()
		_, w := humago.Unwrap(hc)
		d.follow(held, watching{d, w, at}, changes)
	}}, nil
}

// follow writes changes until the task ends, the client leaves or the server
// shuts down.
func (d *Door) follow(ctx context.Context, v watching, changes <-chan task.Task) {
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // or a proxy keeps it all until the end
	alive := time.NewTicker(d.WatchEvery)
	defer alive.Stop()
	err := v.write(": watching\n\n")
	for err == nil {
		select {
		case t, ok := <-changes:
			if !ok {
				return
			}
			err = v.change(ctx, t)
		case <-alive.C:
			err = v.write(": alive\n\n")
		case <-ctx.Done():
			return
		}
	}
}

// watching is one client and the last step that it was sent.
type watching struct {
	d  *Door
	w  http.ResponseWriter
	at place
}

// change writes the steps that are new, then the task.
func (v *watching) change(ctx context.Context, t task.Task) error {
	for v.at.attempt <= t.Attempt {
		steps, err := v.d.Tasks.Events(ctx, t.Tenant, t.ID, v.at.attempt, v.at.index, MaxPage)
		if err != nil {
			if ctx.Err() == nil {
				v.d.Logger.WarnContext(ctx, "watch of a task ended, since its steps could not be read", serve.KeyRequest, serve.RequestID(ctx), serve.KeyCause, err.Error())
			}
			return err
		}
		for _, e := range steps {
			v.at.index = e.Seq
			if err := v.event(WatchStep, v.at.String(), eventView(v.at.attempt, e)); err != nil {
				return err
			}
		}
		switch {
		case len(steps) > 0: // there may be more
		case v.at.attempt == t.Attempt:
			return v.event(WatchTask, "", taskView(t))
		default:
			v.at = place{v.at.attempt + 1, -1}
		}
	}
	return v.event(WatchTask, "", taskView(t))
}

func (v *watching) event(name, id string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return v.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, body))
}

// write sends text at once. A client that does not take it within twice the
// time of a sign of life is gone.
func (v *watching) write(text string) error {
	serve.Hold(v.w, 2*v.d.WatchEvery)
	if _, err := v.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(v.w).Flush()
}
