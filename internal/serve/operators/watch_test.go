package operators_test

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"interlock/internal/serve"
	"interlock/internal/serve/operators"
	"interlock/internal/waittest"
)

// message is one server-sent event, or a comment.
type message struct{ id, event, data, comment string }

// viewer reads one watch.
type viewer struct {
	t      *testing.T
	res    *http.Response
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// watch opens a stream behind the step that lastID names.
func (w *world) watch(id, lastID string) *viewer {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+operators.TaskPath(id, "watch"), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		w.t.Fatalf("got %d %s, want a stream", res.StatusCode, got)
	}
	w.t.Cleanup(func() { cancel(); res.Body.Close() })
	return &viewer{w.t, res, bufio.NewReader(res.Body), cancel}
}

// next returns the next message; false: the stream has ended.
func (v *viewer) next() (message, bool) {
	var m message
	for {
		line, err := v.lines.ReadString('\n')
		if err != nil {
			return m, false
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "":
			if value != "" {
				m.comment = value
				continue
			}
			if m != (message{}) {
				return m, true
			}
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		}
	}
}

// news returns the next message that is no comment.
func (v *viewer) news() message {
	v.t.Helper()
	for {
		m, ok := v.next()
		if !ok {
			v.t.Fatal("the stream ended early")
		}
		if m.event != "" {
			return m
		}
	}
}

// until reads steps' ids up to the message of a task in the given state.
func (v *viewer) until(state string) (steps []string) {
	v.t.Helper()
	for {
		switch m := v.news(); m.event {
		case operators.WatchStep:
			steps = append(steps, m.id)
		case operators.WatchTask:
			var t operators.Task
			if decode(v.t, []byte(m.data), &t); t.State == state {
				return steps
			}
		}
	}
}

// ended reports whether nothing but comments comes before the stream's end.
func (v *viewer) ended() bool {
	for {
		m, ok := v.next()
		if !ok {
			return true
		}
		if m.event != "" {
			return false
		}
	}
}

// R-CLOUD-10
func TestAWatchShowsEveryStepUntilTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.submit("x")
	v := w.watch(made.ID, "")
	v.until("queued")
	f := w.claim()
	v.until("running")
	w.step(f, 0)
	w.step(f, 1)
	w.finish(f)
	if got := strings.Join(v.until("succeeded"), " "); got != "1-0 1-1" {
		t.Errorf("got the steps %s, want 1-0 1-1", got)
	}
	if !v.ended() {
		t.Error("the stream goes on after the task has ended")
	}
	back := w.watch(made.ID, "1-0")
	if got := strings.Join(back.until("succeeded"), " "); got != "1-1" {
		t.Errorf("behind 1-0 came %s, want 1-1", got)
	}
	if !back.ended() {
		t.Error("a watch of an ended task goes on")
	}
}

func TestAWatchSeesACancelAndShowsSignsOfLifeBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.submit("x")
	v := w.watch(made.ID, "")
	v.until("queued")
	for alive := 0; alive < 2; {
		if m, ok := v.next(); !ok {
			t.Fatal("the stream ended")
		} else if m.comment == "alive" {
			alive++
		}
	}
	var cancelled operators.Task
	w.must("POST", operators.TaskPath(made.ID, "cancel"), operators.CancelRequest{Reason: "late"}, &cancelled)
	v.until("cancelled")
	if !v.ended() {
		t.Error("the stream goes on after the cancel")
	}
}

func TestAWatchEndsWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.watch(w.submit("x").ID, "")
	v.until("queued")
	v.cancel()
	// The request log's line is written when the handler has returned.
	waittest.Until(t, 30*time.Second, "the watch ends", func() bool { return strings.Contains(w.log.String(), `route="GET /operator/v1/tasks/{id}/watch"`) })
}

func TestAShutdownEndsWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.submit("x")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &serve.Server{Listeners: []serve.Listener{{Listener: listener, Handler: w.handler}}, Logger: slog.New(slog.DiscardHandler)}
	ctx, shutDown := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	w.url = "http://" + listener.Addr().String()
	v := w.watch(made.ID, "")
	v.until("queued")
	shutDown()
	if !v.ended() {
		t.Error("something came after the shutdown")
	}
	if err := <-done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
