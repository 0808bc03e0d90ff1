package main

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"time"

	"interlock/internal/fault"
)

// What a watch puts up with.
const (
	watchSilence  = 60 * time.Second // one that says nothing for so long is broken
	maxWatchEvent = 1 << 20          // bytes
)

// watch reads a stream of server-sent events until do returns an error or
// false, or the stream ends; it returns the id of the last event that had one.
func (c *client) watch(ctx context.Context, path, lastID string, do func(event string, data []byte) (more bool, err error)) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(watchSilence, func() { cancel(context.DeadlineExceeded) })
	defer silence.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-Id", lastID)
	}
	reply, err := c.send(ctx, http.MethodGet, path, nil, header, nil)
	if err != nil {
		return lastID, err
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	lines.Buffer(make([]byte, 64<<10), maxWatchEvent)
	var m message
	for lines.Scan() {
		silence.Reset(watchSilence)
		if !m.add(lines.Text()) {
			continue
		}
		if m.id != "" {
			lastID = m.id
		}
		if more, err := do(m.event, m.data); err != nil || !more {
			return lastID, err
		}
		m = message{}
	}
	return lastID, errStreamEnded
}

// errStreamEnded says that a watch was cut; it is picked up where it ended.
var errStreamEnded = fault.New(fault.Unavailable, "stream_ended", "the server ends the watch before the task has ended; look at it with: interlock task show").Retry(0)

// message is one server-sent event while its lines arrive.
type message struct {
	event, id string
	data      []byte
}

// add takes one line and reports whether it completed a message with data.
// Comment lines, which begin with a colon, only show that the server lives.
func (m *message) add(line string) (complete bool) {
	if line == "" {
		if len(m.data) > 0 {
			return true
		}
		*m = message{}
		return false
	}
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "event":
		m.event = value
	case "id":
		m.id = value
	case "data":
		m.data = append(m.data, value...)
	}
	return false
}
