package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

// R-HOST-2: whatever the pace of both sides, every event is sent once, in
// order, in batches that are bounded.
func TestEventsAreSentInOrderAndOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		bursts := rapid.SliceOfN(rapid.IntRange(0, 2*maxBatch), 1, 6).Draw(r, "events a second")
		took := time.Duration(rapid.IntRange(0, 3000).Draw(r, "milliseconds a call")) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			var sent []int
			e := newEvents(time.Now, func(_ context.Context, batch []hostapi.Event) error {
				time.Sleep(took)
				if len(batch) == 0 || len(batch) > maxBatch {
					t.Errorf("a batch of %d", len(batch))
				}
				for _, ev := range batch {
					sent = append(sent, ev.Seq)
				}
				return nil
			})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { e.run(ctx); close(done) }()
			total := 0
			for _, n := range bursts {
				for range n {
					if seq, err := e.add(t.Context(), hostapi.Event{Kind: hostapi.EventStep}, time.Now()); err != nil || seq != total {
						t.Fatalf("add: %d, %v; want %d", seq, err, total)
					}
					total++
				}
				time.Sleep(time.Second)
			}
			if err := e.flushed(t.Context()); err != nil {
				t.Errorf("flush: %v", err)
			}
			stop()
			<-done
			if len(sent) != total {
				t.Errorf("%d of %d events were sent", len(sent), total)
			}
			for i, seq := range sent {
				if seq != i {
					t.Fatalf("event %d came in place %d", seq, i)
				}
			}
		})
	})
}

// A queue that is full holds up whoever adds, until the lease is lost.
func TestAFullQueueWaitsUntilTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEvents(time.Now, func(ctx context.Context, _ []hostapi.Event) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.run(ctx); close(done) }()
		for range maxQueued {
			if _, err := e.add(t.Context(), hostapi.Event{}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		time.AfterFunc(40*time.Second, func() { e.stop(runner.ErrLeaseLost) })
		_, err := e.add(context.Background(), hostapi.Event{}, time.Now())
		if !errors.Is(err, runner.ErrLeaseLost) || time.Since(began) != 40*time.Second {
			t.Errorf("add returned %v after %v, want lease_lost after 40s", err, time.Since(began))
		}
		stop()
		<-done
	})
}
