package task_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const operator = "token:0011223344556677"

// world is a running service on a real store, in a bubble of its own time.
type world struct {
	*task.Service
	t     *testing.T
	store *sqlite.Store
	fleet *fleet.Service
	stop  func()
	polls int // keys given out
}

// inBubble runs f in a world whose clock stands still while anything is busy.
// wrap, where not nil, stands between the service and its store.
func inBubble(t *testing.T, wrap func(task.Store) task.Store, f func(t *testing.T, w *world)) {
	t.Helper()
	inBubbleAt(t, task.Config{}, wrap, f)
}

// inBubbleAt is inBubble with other times than the product's.
func inBubbleAt(t *testing.T, cfg task.Config, wrap func(task.Store) task.Store, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "task.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		quiet := slog.New(slog.DiscardHandler)
		cfg.Logger = quiet
		var store task.Store = db
		if wrap != nil {
			store = wrap(db)
		}
		w := &world{t: t, store: db}
		if w.Service, err = task.New(store, cfg); err != nil {
			t.Fatal(err)
		}
		if w.fleet, err = fleet.New(db, w.Service, fleet.Config{Logger: quiet}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		w.stop = func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
			ended <- nil
		}
		defer w.stop()
		f(t, w)
	})
}

// host enrolls a host with the devices named.
func (w *world) host(name string, devices ...string) fleet.Host {
	w.t.Helper()
	_, token, err := w.fleet.CreateEnrolToken(w.t.Context(), fleet.NewEnrolToken{Tenant: tenant.Default, By: operator})
	if err != nil {
		w.t.Fatal(err)
	}
	r := fleet.EnrolRequest{Token: token, Key: "enroll-" + name, Name: name}
	for _, d := range devices {
		r.Devices = append(r.Devices, fleet.Device{ID: d, Kind: "sim"})
	}
	issued, err := w.fleet.Enroll(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return issued.Host
}

func (w *world) submit(change ...func(*task.Spec)) task.Task {
	w.t.Helper()
	spec := task.Spec{Goal: "open settings", Priority: task.DefaultPriority}
	for _, c := range change {
		c(&spec)
	}
	t, _, err := w.Submit(w.t.Context(), task.Submission{Tenant: tenant.Default, By: operator, Spec: spec})
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func idle(h fleet.Host) (ids []string) {
	for _, d := range h.Devices {
		ids = append(ids, d.ID)
	}
	return ids
}

// held is a poll under way.
type held struct {
	w     *world
	key   string
	since time.Time
	done  chan struct{}
	after time.Duration
	task.Answer
	err error
}

// poll begins a held poll and returns when it is held or answered.
func (w *world) poll(ctx context.Context, h fleet.Host, max int) *held {
	w.polls++
	return w.pollKey(ctx, h, max, fmt.Sprint("poll-", w.polls))
}

func (w *world) pollKey(ctx context.Context, h fleet.Host, max int, key string) *held {
	p := &held{w: w, key: key, since: time.Now(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.Answer, p.err = w.Poll(ctx, h, task.Poll{Key: key, Max: max, Idle: idle(h)})
		p.after = time.Since(p.since)
	}()
	synctest.Wait()
	return p
}

// answered reports whether the poll has ended already.
func (p *held) answered() bool {
	synctest.Wait()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait waits for the poll's end.
func (p *held) wait() *held {
	<-p.done
	return p
}

// soon waits for the end of a poll that must not take time: the clock moves only
// when nothing is busy, so a millisecond is after all work that was begun.
func (p *held) soon() *held {
	p.w.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Millisecond):
		p.w.t.Fatalf("poll %s is still held", p.key)
	}
	return p
}

// claim has h take the one task that waits for it.
func (w *world) claim(h fleet.Host) task.Task {
	w.t.Helper()
	p := w.poll(w.t.Context(), h, 1).wait()
	if p.err != nil || len(p.Assignments) != 1 {
		w.t.Fatalf("host %s got %+v, %v; want one task", h.Name, p.Answer, p.err)
	}
	return p.Assignments[0]
}

func fence(t task.Task) task.Fence {
	return task.Fence{Tenant: t.Tenant, Host: t.Host, Task: t.ID, Attempt: t.Attempt}
}

// run has h take the one task that waits for it, and acknowledge it.
func (w *world) run(h fleet.Host) task.Fence {
	w.t.Helper()
	f := fence(w.claim(h))
	if cancel, err := w.Ack(w.t.Context(), f); err != nil || cancel {
		w.t.Fatalf("ack: %v, %v", cancel, err)
	}
	return f
}

// act marks the attempt as acting.
func (w *world) act(f task.Fence) {
	w.t.Helper()
	if _, _, err := w.AppendEvents(w.t.Context(), f, []task.Event{{Seq: 0, Kind: task.EventActing, StepIndex: -1, At: time.Now()}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) finish(f task.Fence, r task.Result) task.Task {
	w.t.Helper()
	t, replayed, err := w.Finish(w.t.Context(), f, r)
	if err != nil || replayed {
		w.t.Fatalf("finish: replayed %v, %v", replayed, err)
	}
	return t
}

func (w *world) want(id task.ID, state task.State, reason string) task.Task {
	w.t.Helper()
	t, err := w.Task(w.t.Context(), tenant.Default, id)
	if err != nil || t.State != state || t.Reason != reason {
		w.t.Errorf("task is %s %q, %v; want %s %q", t.State, t.Reason, err, state, reason)
	}
	return t
}

func (w *world) wantError(what string, err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Errorf("%s: got %v, want %v", what, err, want)
	}
}
