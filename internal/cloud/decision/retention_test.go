package decision_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/tenant"
)

func (w *world) fact() audit.Fact {
	return audit.Fact{Tenant: tenant.Default, At: w.clock.Now(), Actor: operator, Action: "test", Subject: "test"}
}

// R-CLOUD-6
func TestExactlyTheDecisionsOfTasksLongTerminalGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *settings) { s.Retention = time.Second })
	old, young, live := w.attempt(), w.attempt(), w.attempt()
	for _, f := range []task.Fence{old, young, live} {
		w.mustDecide(f, "a")
		w.mustDecide(f, "b")
	}
	w.finish(old)
	if n, err := w.Prune(t.Context()); n != 0 || err != nil {
		t.Errorf("pruned %d at once, %v", n, err)
	}
	w.clock.Advance(time.Second)
	w.finish(young)
	if n, err := w.Prune(t.Context()); n != 0 || err != nil {
		t.Errorf("pruned %d at the window's end, %v; want it longer than the window", n, err)
	}
	w.clock.Advance(time.Millisecond)
	st, err := w.Stats(t.Context())
	if err != nil || st.PruneLag != time.Millisecond || st.Log.Rows != 6 {
		t.Errorf("stats %+v, %v; want 6 rows and 1 ms of lag", st, err)
	}
	if n, err := w.Prune(t.Context()); n != 2 || err != nil {
		t.Errorf("pruned %d, %v; want the 2 of the old task", n, err)
	}
	w.wantGapless(old.Task, 0)
	w.wantGapless(young.Task, 2)
	w.wantGapless(live.Task, 2)
	if got, err := w.tasks.Task(t.Context(), tenant.Default, old.Task); err != nil || got.PrunedAt.IsZero() {
		t.Errorf("the task does not say that it was pruned: %+v, %v", got, err)
	}
	st, err = w.Stats(t.Context())
	if err != nil || st.Log.Rows != 4 || st.Pruned != 2 || st.PruneLag != 0 || !st.NextPrune.Equal(w.clock.Now().Add(time.Second-time.Millisecond)) {
		t.Errorf("stats %+v, %v", st, err)
	}
	w.clock.Advance(time.Hour)
	if n, err := w.Prune(t.Context()); n != 2 || err != nil {
		t.Errorf("pruned %d, %v; want the 2 of the young task", n, err)
	}
	w.wantGapless(live.Task, 2)
}

// flaky fails to prune and to reclaim for a while, and counts.
type flaky struct {
	decision.Store
	prunes, reclaims atomic.Int32
	reclaimed        chan struct{}
}

func (s *flaky) Prune(ctx context.Context, before time.Time, limit int) (decision.Pruned, error) {
	if s.prunes.Add(1) <= 3 {
		return decision.Pruned{}, errors.New("database is locked")
	}
	return s.Store.Prune(ctx, before, limit)
}

func (s *flaky) Reclaim(ctx context.Context) error {
	if s.reclaims.Add(1) <= 2 {
		return errors.New("disk full")
	}
	err := s.Store.Reclaim(ctx)
	s.reclaimed <- struct{}{}
	return err
}

// R-CLOUD-6: an error never ends retention, and space is owed until given back.
func TestNoFailureStopsRetention(t *testing.T) {
	t.Parallel()
	store := &flaky{reclaimed: make(chan struct{}, 1)}
	w := newWorld(t, func(s *settings) {
		s.Retention, s.PruneEvery = time.Second, time.Millisecond
		s.wrap = func(inner decision.Store) decision.Store { store.Store = inner; return store }
	})
	f := w.attempt()
	w.mustDecide(f, "a")
	w.finish(f)
	w.clock.Advance(time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	<-store.reclaimed
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.wantGapless(f.Task, 0)
	st, err := w.Stats(t.Context())
	if err != nil || st.PruneFailed < 5 || st.Pruned != 1 {
		t.Errorf("stats %+v, %v; want 5 failed rounds and 1 pruned", st, err)
	}
	_, err = w.decide(w.attempt(), "late")
	wantReason(t, "a decide after the stop", err, llm.Overloaded)
}

// What a provider was asked before the stop is still recorded.
func TestAStopWaitsForTheDecidesUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	entered, goOn := w.gated()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	gone, hangUp := context.WithCancel(t.Context())
	left := w.start(gone, w.host, request(f, "k"))
	<-entered
	hangUp()
	<-left
	stop()
	select {
	case <-ended:
		t.Error("stopped with a decide under way")
	default:
	}
	goOn()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.wantGapless(f.Task, 1)
}

// R-CLOUD-6
func TestPurgeRemovesWhatATaskLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	w.mustDecide(f, "a")
	if _, err := w.Purge(t.Context(), tenant.Default, operator, f.Task); !errors.Is(err, task.ErrNotTerminal) {
		t.Errorf("purging a live task: %v", err)
	}
	w.finish(f)
	if _, err := w.Purge(t.Context(), "other", operator, f.Task); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("purging another tenant's task: %v", err)
	}
	p, err := w.Purge(t.Context(), tenant.Default, operator, f.Task)
	if err != nil || p.Decisions != 1 {
		t.Errorf("purged %+v, %v", p, err)
	}
	w.wantGapless(f.Task, 0)
	if _, err := w.Show(t.Context(), tenant.Default, f.Task, 1, 0); !errors.Is(err, decision.ErrNotFound) {
		t.Errorf("showing what was purged: %v", err)
	}
	entries, err := w.store.Facts(t.Context(), tenant.Default, 0, 100)
	if err != nil || entries[len(entries)-1].Fact.Action != "decisions.purge" {
		t.Errorf("facts %+v, %v", entries, err)
	}
}

// R-CLOUD-6
func TestTheByteBudgetWarnsBeforeItRefuses(t *testing.T) {
	t.Parallel()
	probe := newWorld(t)
	f := probe.attempt()
	probe.mustDecide(f, "a")
	st, err := probe.Stats(t.Context())
	if err != nil || st.Log.Bytes == 0 {
		t.Fatalf("stats %+v, %v", st, err)
	}
	// One row is 90 % of the budget: the second decide warns, the third is refused.
	w := newWorld(t, func(s *settings) { s.MaxBytes = st.Log.Bytes * 10 / 9 })
	f = w.attempt()
	w.mustDecide(f, "a")
	if strings.Contains(w.log.String(), "byte budget") {
		t.Error("warned of an empty log")
	}
	w.mustDecide(f, "b")
	if strings.Count(w.log.String(), "byte budget") != 1 {
		t.Errorf("no warning beyond 80 %%:\n%s", w.log.String())
	}
	_, err = w.decide(f, "c")
	wantReason(t, "beyond the budget", err, llm.StorageFull)
	if d := w.mustDecide(f, "a"); d.StepIndex != 0 {
		t.Errorf("a repeat of what is in the log: index %d", d.StepIndex)
	}
	w.wantGapless(f.Task, 2)
}

func TestSettingsReportEveryProblem(t *testing.T) {
	t.Parallel()
	if err := (decision.Config{}).Validate(); err != nil {
		t.Errorf("zero settings: %v", err)
	}
	bad := decision.Config{Timeout: -1, Retention: -1, PruneEvery: 2 * time.Hour, MaxBytes: -1}
	bad.Caps.Concurrent = -1
	err := bad.Validate()
	if err == nil || strings.Count(err.Error(), "; ") != 4 {
		t.Errorf("got %v, want five problems", err)
	}
	if _, err := decision.New(nil, nil, bad); fault.KindOf(err) != fault.Invalid {
		t.Errorf("New: %v", err)
	}
}
