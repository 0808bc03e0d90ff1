package task_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

// R-CLOUD-10
func TestAWatcherSeesEachStateAndThenTheEnd(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		submitted := w.submit()
		updates, err := w.Watch(t.Context(), tenant.Default, submitted.ID)
		if err != nil {
			t.Fatal(err)
		}
		var seen []task.State
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for u := range updates {
				seen = append(seen, u.State)
			}
		}()
		synctest.Wait()
		f := w.run(h)
		time.Sleep(time.Second)
		w.act(f)
		time.Sleep(time.Second)
		w.finish(f, task.Result{State: "succeeded"})
		<-ended
		seen = slices.Compact(seen)
		// Between two reads of the watcher a state may be passed over, but not the ends.
		if seen[0] != task.Queued || seen[len(seen)-1] != task.Succeeded || !slices.Contains(seen, task.Running) {
			t.Errorf("saw %v", seen)
		}
	})
}

func TestASlowWatcherGetsTheLatestAndHoldsNobodyUp(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		h := w.host("h", "phone")
		submitted := w.submit()
		ctx, leave := context.WithCancel(t.Context())
		updates, err := w.Watch(ctx, tenant.Default, submitted.ID)
		if err != nil {
			t.Fatal(err)
		}
		f := w.run(h)
		for seq := range 200 {
			if _, _, err := w.AppendEvents(t.Context(), f, []task.Event{{Seq: seq, Kind: task.EventStep, StepIndex: -1}}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if u := <-updates; u.State != task.Running {
			t.Errorf("a slow reader first gets %s, want the latest", u.State)
		}
		leave()
		if _, more := <-updates; more {
			t.Error("the channel stays open when its reader has left")
		}
		if _, err := w.Watch(t.Context(), tenant.Default, "no-such-task"); err == nil {
			t.Error("watched a task that is not there")
		}
	})
}

func TestObserversHearOfEveryChange(t *testing.T) {
	var mu sync.Mutex
	var heard []task.State
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.Observe(func(c task.Change) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, c.State)
		})
		h := w.host("h", "phone")
		w.submit()
		f := w.run(h)
		if _, err := w.Cancel(t.Context(), tenant.Default, operator, f.Task, ""); err != nil {
			t.Fatal(err)
		}
		w.finish(f, task.Result{State: "cancelled"})
		mu.Lock()
		defer mu.Unlock()
		if want := []task.State{task.Queued, task.Leased, task.Running, task.Cancelling, task.Cancelled}; !slices.Equal(heard, want) {
			t.Errorf("heard %v, want %v", heard, want)
		}
	})
}
