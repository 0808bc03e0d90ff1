package task

import (
	"context"
	"fmt"
	"sync"

	"interlock/internal/tenant"
)

// watchHub tells watchers that a task changed. It holds no state of tasks: a
// watcher reads the store, so a slow one skips to the latest.
type watchHub struct {
	mu       sync.Mutex
	watchers map[ID]map[chan struct{}]bool // guarded by mu
}

func (h *watchHub) add(id ID) (chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[ID]map[chan struct{}]bool{}
	}
	if h.watchers[id] == nil {
		h.watchers[id] = map[chan struct{}]bool{}
	}
	ch := make(chan struct{}, 1)
	h.watchers[id][ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.watchers[id], ch); len(h.watchers[id]) == 0 {
			delete(h.watchers, id)
		}
	}
}

// ping never blocks: a watcher that has not read the last one needs no second.
func (h *watchHub) ping(id ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.watchers[id] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// Watch sends the task as it is now, and again after each change of it and
// each event added to it. A reader that is slower than the changes gets the
// latest state and holds nobody up. The channel closes after a terminal
// state, when ctx ends, or when the store fails. ErrNotFound.
func (s *Service) Watch(ctx context.Context, t tenant.ID, id ID) (<-chan Task, error) {
	pings, stop := s.watchers.add(id) // before the first read, so that no change falls between
	now, err := s.store.Task(ctx, t, id)
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch task %s: %w", id, err)
	}
	out := make(chan Task)
	go func() {
		defer close(out)
		defer stop()
		s.follow(ctx, now, pings, out)
	}()
	return out, nil
}

func (s *Service) follow(ctx context.Context, now Task, pings <-chan struct{}, out chan<- Task) {
	send := out // nil while the reader has the latest
	for {
		select {
		case <-ctx.Done():
			return
		case send <- now:
			if now.State.Terminal() {
				return
			}
			send = nil
		case <-pings:
			latest, err := s.store.Task(ctx, now.Tenant, now.ID)
			if err != nil {
				if ctx.Err() == nil {
					s.cfg.Logger.WarnContext(ctx, "watch of a task ended, since the task could not be read", "task", now.ID, "error", err)
				}
				return
			}
			now, send = latest, out
		}
	}
}
