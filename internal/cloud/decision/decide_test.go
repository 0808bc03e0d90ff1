package decision_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// R-CLOUD-3, R-CLOUD-5, R-CLOUD-8
func TestADecisionIsInTheLogWhenItIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	shot, err := llm.NewImage(picture.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r := request(f, "k0")
	r.Image = shot
	d, err := w.Decide(t.Context(), w.host, r, "req-1")
	if err != nil || d.StepIndex != 0 || d.Call.Tool != "tap" || string(d.Call.Arguments) != `{"x":1}` || d.Usage != tapUsage || d.Provider != "mock" || d.Model != "mock-1" || d.ProviderRequestID != "p-1" {
		t.Fatalf("got %+v, %v", d, err)
	}
	if d := w.mustDecide(f, "k1"); d.StepIndex != 1 {
		t.Errorf("the second has index %d", d.StepIndex)
	}
	rows := w.rows(f.Task)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	row := rows[0]
	if row.SystemPrompt != r.System || row.UserPrompt != r.User || row.Tool != "tap" || string(row.Arguments) != `{"x":1}` || row.Attempt != 1 || row.RequestID != "req-1" || row.Host != w.host.ID || len(row.Tools) != 1 {
		t.Errorf("the row is %+v", row)
	}
	if row.Screenshot == nil || *row.Screenshot != shot.Evidence() || rows[1].Screenshot != nil {
		t.Errorf("evidence %+v and %+v", row.Screenshot, rows[1].Screenshot)
	}
	shown, err := w.Show(t.Context(), tenant.Default, f.Task, 1, 1)
	if err != nil || shown.UserPrompt != "the screen, at k1" {
		t.Errorf("shown %+v, %v", shown, err)
	}
	if u := w.used(f.Task); u.Calls != 2 || u.Input.Total != 200 || u.Output.Total != 14 || u.Reasoning.Unknown != 2 || u.Failed != 0 {
		t.Errorf("usage %+v", u)
	}
}

// R-CLOUD-3: the answer was lost, again and again.
func TestARetriedDecideCallsTheProviderOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	for range 10 {
		if d := w.mustDecide(f, "k"); d.StepIndex != 0 || d.Call.Tool != "tap" || d.Usage != tapUsage || d.ProviderRequestID != "p-1" {
			t.Errorf("got %+v", d)
		}
	}
	w.wantGapless(f.Task, 1)
	if n := w.model.calls.Load(); n != 1 {
		t.Errorf("%d provider calls", n)
	}
	if u := w.used(f.Task); u.Calls != 1 {
		t.Errorf("billed %d times", u.Calls)
	}
	other := request(f, "k")
	other.User = "another question"
	if _, err := w.Decide(t.Context(), w.host, other, "r"); !errors.Is(err, decision.ErrKeyReused) {
		t.Errorf("another question under the key: %v", err)
	}
	st, err := w.Stats(t.Context())
	if err != nil || st.Outcomes[decision.OutcomeDecided] != 1 || st.Outcomes[decision.OutcomeReplayed] != 9 || st.Outcomes["idempotency_conflict"] != 1 || st.Decides() != 11 {
		t.Errorf("stats %+v, %v", st, err)
	}
}

// gated makes the model wait until it is told to go on.
func (w *world) gated() (entered chan struct{}, goOn func()) {
	entered, on := make(chan struct{}, 100), make(chan struct{})
	w.model.answer = func(ctx context.Context, r llm.Request) (llm.Decision, error) {
		entered <- struct{}{}
		select {
		case <-on:
			return tap(r)
		case <-ctx.Done():
			return llm.Decision{}, llm.AsUnavailable(ctx.Err())
		}
	}
	return entered, sync.OnceFunc(func() { close(on) })
}

type outcome struct {
	d   llm.Decision
	err error
}

// held is a store that keeps the calls of one host waiting.
type held struct {
	decision.Store
	host    func() fleet.HostID
	waiting chan struct{} // one each time that such a call has come
	goOn    chan struct{} // closed to let them go on
}

func (s held) Standing(ctx context.Context, f task.Fence, key string, body [32]byte) (decision.Standing, error) {
	if f.Host == s.host() {
		s.waiting <- struct{}{}
		<-s.goOn
	}
	return s.Store.Standing(ctx, f, key, body)
}

// start decides in the background.
func (w *world) start(ctx context.Context, h fleet.Host, r llm.Request) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		d, err := w.Decide(ctx, h, r, "req-"+r.Key)
		out <- outcome{d, err}
	}()
	return out
}

// R-CLOUD-3
func TestOneDecideIsInFlightForAnAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, free := w.attempt(), w.attempt()
	entered, goOn := w.gated()
	first := w.start(t.Context(), w.host, request(f, "k"))
	<-entered
	sharing := w.start(t.Context(), w.host, request(f, "k"))

	_, err := w.decide(f, "other")
	if u := wantReason(t, "another key", err, llm.DecideInFlight); u.RetryAfter <= 0 {
		t.Error("decide_in_flight does not say when to come back")
	}
	changed := request(f, "k")
	changed.System = "another"
	if _, err := w.Decide(t.Context(), w.host, changed, "r"); !errors.Is(err, decision.ErrKeyReused) {
		t.Errorf("the same key with another question: %v", err)
	}
	stranger := w.enroll("stranger")
	_, err = w.Decide(t.Context(), stranger, request(f, "k"), "r")
	wantReason(t, "another host with the same key and question", err, llm.LeaseLost)
	parallel := w.start(t.Context(), w.host, request(free, "k"))
	<-entered

	goOn()
	for i, got := range []outcome{<-first, <-sharing, <-parallel} {
		if got.err != nil || got.d.StepIndex != 0 {
			t.Errorf("call %d: %+v, %v", i, got.d, got.err)
		}
	}
	if n := w.model.calls.Load(); n != 2 {
		t.Errorf("%d provider calls, want one for each attempt", n)
	}
	w.wantGapless(f.Task, 1)
}

// R-CLOUD-3
func TestCallersThatRetryLeaveNoGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var attempts []task.Fence
	for range 8 {
		attempts = append(attempts, w.attempt())
	}
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			f, key := attempts[i%8], fmt.Sprint("caller-", i)
			for {
				_, err := w.Decide(t.Context(), w.host, request(f, key), key)
				var u *llm.Unavailable
				switch {
				case err == nil:
					return
				case !errors.As(err, &u) || u.Reason != llm.DecideInFlight:
					t.Errorf("caller %d: %v", i, err)
					return
				}
			}
		})
	}
	callers.Wait()
	for _, f := range attempts {
		w.wantGapless(f.Task, 8)
	}
	if n := w.model.calls.Load(); n != 64 {
		t.Errorf("%d provider calls for 64 decisions", n)
	}
}

// The host's connection is cut; the call is paid for all the same.
func TestADecideWhoseCallerLeftIsRecordedAndGivenToItsRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	entered, goOn := w.gated()
	ctx, hangUp := context.WithCancel(t.Context())
	left := w.start(ctx, w.host, request(f, "k"))
	<-entered
	hangUp()
	wantReason(t, "the caller that left", (<-left).err, llm.Cancelled)
	again := w.start(t.Context(), w.host, request(f, "k"))
	goOn()
	if got := <-again; got.err != nil || got.d.StepIndex != 0 {
		t.Errorf("the repeat: %+v, %v", got.d, got.err)
	}
	if n := w.model.calls.Load(); n != 1 {
		t.Errorf("%d provider calls", n)
	}
	w.wantGapless(f.Task, 1)
}

// R-CLOUD-4, R-PLAN-5
func TestAFailedDecideStoresItsUsageOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	w.mustDecide(f, "k0")
	w.model.answer = func(context.Context, llm.Request) (llm.Decision, error) {
		return llm.Decision{}, &llm.Unavailable{Reason: llm.ManyCalls, Usage: llm.Usage{Input: llm.Known(50)}, Provider: "mock", Model: "mock-1", ProviderRequestID: "p-9", RetryAfter: time.Second}
	}
	_, err := w.decide(f, "k1")
	if u := wantReason(t, "a reply with two calls", err, llm.ManyCalls); u.Usage.Input != llm.Known(50) || u.ProviderRequestID != "p-9" || u.RetryAfter != time.Second {
		t.Errorf("got %+v, want it unchanged", u)
	}
	w.wantGapless(f.Task, 1)
	if u := w.used(f.Task); u.Calls != 2 || u.Failed != 1 || u.Input.Total != 150 || u.Output.Total != 7 || u.Output.Unknown != 1 {
		t.Errorf("usage %+v", u)
	}
	w.model.answer = nil
	if d := w.mustDecide(f, "k1"); d.StepIndex != 1 {
		t.Errorf("the same key after a failure: index %d, want 1", d.StepIndex)
	}
	w.wantGapless(f.Task, 2)
}

// R-CLOUD-1, R-HOST-5, R-CLOUD-9
func TestADecideThatMayNotBeMadeNeverReachesTheProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set     func(*settings)
		arrange func(w *world, f task.Fence, r *llm.Request)
		want    llm.Reason
		detail  string // a part of it
	}{
		"the host lost its permission": {nil, func(w *world, _ task.Fence, _ *llm.Request) { w.host.PlannerAllowed = false }, llm.PlannerForbidden, "this host"},
		"an operator stopped all decides": {nil, func(w *world, _ task.Fence, _ *llm.Request) {
			if err := w.store.SetStop(w.t.Context(), tenant.Default, usage.Stop{On: true, Reason: "costs run away", At: w.clock.Now()}, w.fact()); err != nil {
				w.t.Fatal(err)
			}
		}, llm.PlannerForbidden, "an operator stopped all decides: costs run away"},
		"there is no provider":         {func(s *settings) { s.noProvider = true }, nil, llm.PlannerNotConfigured, "no model provider"},
		"the task is another host's":   {nil, func(w *world, _ task.Fence, _ *llm.Request) { w.host = w.enroll("other") }, llm.LeaseLost, ""},
		"the attempt is not the held":  {nil, func(_ *world, _ task.Fence, r *llm.Request) { r.Attempt = 2 }, llm.LeaseLost, ""},
		"the task ended":               {nil, func(w *world, f task.Fence, _ *llm.Request) { w.finish(f) }, llm.LeaseLost, ""},
		"the task is being cancelled":  {nil, func(w *world, f task.Fence, _ *llm.Request) { w.cancel(f) }, llm.Cancelled, ""},
		"the attempt's decisions":      {func(s *settings) { s.Caps.DecisionsPerAttempt = 1 }, func(w *world, f task.Fence, _ *llm.Request) { w.mustDecide(f, "before") }, llm.BudgetExhausted, "its 1 decisions"},
		"the task's tokens":            {func(s *settings) { s.Caps.TokensPerTask = 107 }, func(w *world, f task.Fence, _ *llm.Request) { w.mustDecide(f, "before") }, llm.BudgetExhausted, "its 107 tokens"},
		"the log's byte budget":        {func(s *settings) { s.MaxBytes = 1 }, func(w *world, f task.Fence, _ *llm.Request) { w.mustDecide(f, "before") }, llm.StorageFull, "byte budget"},
		"no key":                       {nil, func(_ *world, _ task.Fence, r *llm.Request) { r.Key = "" }, llm.BadRequest, "idempotency key"},
		"no tools":                     {nil, func(_ *world, _ task.Fence, r *llm.Request) { r.Tools = nil }, llm.BadRequest, "tool"},
		"no task":                      {nil, func(_ *world, _ task.Fence, r *llm.Request) { r.TaskID = "" }, llm.BadRequest, "task"},
		"a prompt beyond its limit":    {nil, func(_ *world, _ task.Fence, r *llm.Request) { r.User = strings.Repeat("x", 2<<20+1) }, llm.BadRequest, "prompt"},
		"a timeout before the request": {nil, func(_ *world, _ task.Fence, r *llm.Request) { r.Timeout = -1 }, llm.BadRequest, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var change []func(*settings)
			if c.set != nil {
				change = append(change, c.set)
			}
			w := newWorld(t, change...)
			f := w.attempt()
			r := request(f, "k")
			if c.arrange != nil {
				c.arrange(w, f, &r)
			}
			before, rows := w.model.calls.Load(), len(w.rows(f.Task))
			_, err := w.Decide(t.Context(), w.host, r, "req")
			if u := wantReason(t, name, err, c.want); !strings.Contains(u.Detail, c.detail) || u.Detail == "" {
				t.Errorf("detail %q, want %q in it", u.Detail, c.detail)
			}
			if w.model.calls.Load() != before || len(w.rows(f.Task)) != rows {
				t.Error("it reached the provider or the log")
			}
		})
	}
}

func TestAnUnknownTaskIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.decide(task.Fence{Task: "01234567-89ab-7def-8123-456789abcdef", Attempt: 1}, "k"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func (w *world) finish(f task.Fence) {
	w.t.Helper()
	if _, _, err := w.tasks.Finish(w.t.Context(), f, task.Result{State: "succeeded"}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) cancel(f task.Fence) {
	w.t.Helper()
	if _, err := w.tasks.Cancel(w.t.Context(), tenant.Default, operator, f.Task, ""); err != nil {
		w.t.Fatal(err)
	}
}

// R-HOST-4: what an operator or the clock ends while the provider works.
func TestAnAttemptThatEndsMeanwhileCutsItsDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(w *world, f task.Fence)
		want llm.Reason
	}{
		"an operator cancels the task": {(*world).cancel, llm.Cancelled},
		"the host reports a result":    {(*world).finish, llm.LeaseLost},
		"the host is revoked": {func(w *world, _ task.Fence) {
			if err := w.fleet.Revoke(w.t.Context(), tenant.Default, operator, w.host.ID); err != nil {
				w.t.Fatal(err)
			}
		}, llm.LeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := w.attempt()
			entered, goOn := w.gated()
			defer goOn()
			flying := w.start(t.Context(), w.host, request(f, "k"))
			<-entered
			c.end(w, f)
			wantReason(t, name, (<-flying).err, c.want)
			w.wantGapless(f.Task, 0)
			if u := w.used(f.Task); u.Calls != 1 || u.Failed != 1 || u.Input.Unknown != 1 {
				t.Errorf("usage %+v, want one failed call of unknown size", u)
			}
		})
	}
}

// The provider answered, but the attempt was lost in the same moment: the call
// is metered, and there is no row.
func TestAnAnswerForALostAttemptIsMeteredAndNotRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	w.model.answer = func(_ context.Context, r llm.Request) (llm.Decision, error) {
		// Past the service, as another replica would.
		if _, err := w.store.Cancel(w.t.Context(), task.Timing{CancelWithin: time.Minute}, tenant.Default, f.Task, "", w.fact()); err != nil {
			t.Error(err)
		}
		return tap(r)
	}
	_, err := w.decide(f, "k")
	if u := wantReason(t, "an answer after the cancel", err, llm.Cancelled); u.Usage != tapUsage {
		t.Errorf("it does not say what it cost: %+v", u)
	}
	w.wantGapless(f.Task, 0)
	if u := w.used(f.Task); u.Calls != 1 || u.Input.Total != 100 {
		t.Errorf("usage %+v", u)
	}
}

// R-PLAN-2: the smaller of the request's timeout and the server's.
func TestTheShorterTimeoutHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ server, asked, want time.Duration }{
		"the server's, where none is asked for": {0, 0, time.Minute},
		"the request's, where it is shorter":    {0, 20 * time.Second, 20 * time.Second},
		"the server's, where it is shorter":     {30 * time.Second, time.Hour, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(s *settings) { s.Timeout = c.server })
			f := w.attempt()
			r := request(f, "k")
			r.Timeout = c.asked
			began := time.Now()
			w.model.answer = func(ctx context.Context, r llm.Request) (llm.Decision, error) {
				deadline, ok := ctx.Deadline()
				if !ok || r.Timeout > c.want || r.Timeout < c.want/2 || deadline.Before(began.Add(c.want)) || deadline.After(time.Now().Add(c.want)) {
					t.Errorf("timeout %v, deadline in %v (%v); want %v", r.Timeout, time.Until(deadline), ok, c.want)
				}
				return tap(r)
			}
			if _, err := w.Decide(t.Context(), w.host, r, "req"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestADecideThatTakesTooLongTimesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	_, goOn := w.gated()
	defer goOn()
	r := request(f, "k")
	r.Timeout = 30 * time.Millisecond
	_, err := w.Decide(t.Context(), w.host, r, "req")
	wantReason(t, "a model that hangs", err, llm.Timeout)
	w.wantGapless(f.Task, 0)
}

// R-CLOUD-9
func TestAHostAtItsOwnLimitWaitsAndThenIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.host.DecideLimit = 1
	f, next := w.attempt(), w.attempt()
	entered, goOn := w.gated()
	first := w.start(t.Context(), w.host, request(f, "k"))
	<-entered
	r := request(next, "k")
	r.Timeout = time.Second // long enough for the store, so that it ends at the gate
	_, err := w.Decide(t.Context(), w.host, r, "req")
	if u := wantReason(t, "beyond the host's limit", err, llm.Overloaded); u.RetryAfter <= 0 {
		t.Error("it does not say when to come back")
	}
	r.Timeout = 0
	waiting := w.start(t.Context(), w.host, r)
	goOn()
	for _, got := range []outcome{<-first, <-waiting} {
		if got.err != nil {
			t.Error(got.err)
		}
	}
}

// broken fails to record.
type broken struct {
	decision.Store
	err   error
	fails int // so often; -1: always
}

func (s *broken) Record(ctx context.Context, r decision.Row, e usage.Entry) (int, error) {
	if s.fails != 0 {
		s.fails--
		return 0, s.err
	}
	return s.Store.Record(ctx, r, e)
}

// R-CLOUD-3
func TestADecisionThatIsNotRecordedIsNotAnswered(t *testing.T) {
	t.Parallel()
	store := &broken{err: errors.New("disk I/O error"), fails: -1}
	w := newWorld(t, func(s *settings) {
		s.wrap = func(inner decision.Store) decision.Store { store.Store = inner; return store }
	})
	f := w.attempt()
	d, err := w.decide(f, "k")
	if u := wantReason(t, "a decision without a row", err, llm.StorageFull); strings.Contains(u.Detail, "I/O") || d.Call.Tool != "" {
		t.Errorf("got %+v, %q", d, u.Detail)
	}
	if !strings.Contains(w.log.String(), "disk I/O error") {
		t.Error("the cause is not in the log")
	}
	_, err = w.decide(f, "k")
	if u := wantReason(t, "a decide right after it", err, llm.StorageFull); u.RetryAfter <= 0 || w.model.calls.Load() != 1 {
		t.Errorf("got %+v after %d provider calls, want a wait and no call that would be lost as well", u, w.model.calls.Load())
	}
	w.clock.Advance(5 * time.Second)
	store.fails, store.err = 3, fault.New(fault.Exhausted, "store_busy", "busy").Retry(0)
	if d := w.mustDecide(f, "k2"); d.StepIndex != 0 {
		t.Errorf("after a busy store: index %d", d.StepIndex)
	}
	if n := w.model.calls.Load(); n != 2 {
		t.Errorf("%d provider calls: a busy store was paid for twice", n)
	}
}

// A full disk is not waited for: the host would take the wait for a timeout.
func TestADecisionThatFindsTheDiskFullIsGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	store := &broken{err: fault.New(fault.Unavailable, "storage_full", "full").Retry(0), fails: 1}
	w := newWorld(t, func(s *settings) {
		s.wrap = func(inner decision.Store) decision.Store { store.Store = inner; return store }
	})
	f := w.attempt()
	_, err := w.decide(f, "k")
	wantReason(t, "a decision on a full disk", err, llm.StorageFull)
	w.clock.Advance(5 * time.Second)
	if d := w.mustDecide(f, "k"); d.StepIndex != 0 {
		t.Errorf("once there is space: index %d", d.StepIndex)
	}
	w.wantGapless(f.Task, 1)
}

// R-CLOUD-5
func TestTheLogLineHoldsNothingOfTheDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	r := request(f, "k")
	r.System, r.User = "CANARY-SYSTEM", "CANARY-USER"
	w.model.answer = func(_ context.Context, r llm.Request) (llm.Decision, error) {
		return llm.Accept(r.Tools, llm.Reply{Calls: []llm.RawCall{{Name: "tap", Arguments: []byte(`{"x":424242}`)}}, Usage: llm.Usage{Input: llm.Known(737373)}, Provider: "mock", Model: "mock-1"})
	}
	if _, err := w.Decide(t.Context(), w.host, r, "req-77"); err != nil {
		t.Fatal(err)
	}
	w.model.answer = func(context.Context, llm.Request) (llm.Decision, error) {
		return llm.Decision{}, &llm.Unavailable{Reason: llm.ProviderError, Detail: "CANARY-DETAIL", Err: errors.New("CANARY-CAUSE"), Provider: "mock"}
	}
	if _, err := w.decide(f, "k2"); err == nil {
		t.Fatal("no error")
	}
	out := w.log.String()
	for _, canary := range []string{"CANARY", "424242", "737373", base64.StdEncoding.EncodeToString([]byte("CANARY"))} {
		if strings.Contains(out, canary) {
			t.Errorf("%s is in the log:\n%s", canary, out)
		}
	}
	for _, want := range []string{"request=req-77", "task=" + string(f.Task), "attempt=1", "host=" + string(w.host.ID), "tool=tap", "latency=", "error=provider_error"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in the log:\n%s", want, out)
		}
	}
}

// R-CLOUD-1
func TestAHostThatAsksForAnothersAttemptIsNotInItsWay(t *testing.T) {
	t.Parallel()
	var stranger fleet.Host
	slow := held{host: func() fleet.HostID { return stranger.ID }, waiting: make(chan struct{}, 1), goOn: make(chan struct{})}
	w := newWorld(t, func(s *settings) {
		s.wrap = func(inner decision.Store) decision.Store { slow.Store = inner; return slow }
	})
	stranger = w.enroll("stranger")
	f := w.attempt()
	intruding := w.start(t.Context(), stranger, request(f, "k"))
	<-slow.waiting
	if d := w.mustDecide(f, "k"); d.StepIndex != 0 {
		t.Errorf("the holder's decision has index %d", d.StepIndex)
	}
	close(slow.goOn)
	got := <-intruding
	wantReason(t, "the stranger", got.err, llm.LeaseLost)
	if n := w.model.calls.Load(); n != 1 {
		t.Errorf("%d provider calls, want the holder's one", n)
	}
	w.wantGapless(f.Task, 1)
}
