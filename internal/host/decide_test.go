package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/runner"
	"interlock/internal/tool"
)

var offered = func() *tool.Set {
	s, err := tool.NewSet([]tool.Spec{{Name: "tap", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)}})
	if err != nil {
		panic(err)
	}
	return s
}()

// decidingHost runs f as the planner of an attempt that holds its lease, so
// that the control plane will decide for it.
func decidingHost(t *testing.T, o hostapitest.Options, f func(t *testing.T, w *world, caller llm.ToolCaller, r llm.Request)) {
	inWorld(t, o, func(t *testing.T, w *world) {
		called := make(chan struct{})
		once := func(caller llm.ToolCaller) planner.Planner {
			return planning(func(ctx context.Context, in planner.Input) (planner.Proposal, error) {
				f(t, w, caller, llm.Request{System: "s", User: "u", Tools: offered, Timeout: 10 * time.Second, Key: "k1", TaskID: in.TaskID, Attempt: in.Attempt})
				close(called)
				<-ctx.Done()
				return planner.Proposal{}, llm.AsUnavailable(ctx.Err())
			})
		}
		w.Submit(hostapi.Assignment{Goal: "decide", Budgets: hostapi.Budgets{WallTimeMS: 3_600_000}})
		h := w.run(t, once)
		<-called
		w.Break(nil)
		h.stop()
		<-h.ended
	})
}

type planning func(ctx context.Context, in planner.Input) (planner.Proposal, error)

func (p planning) Plan(ctx context.Context, in planner.Input) (planner.Proposal, error) {
	return p(ctx, in)
}

// R-PLAN-4: a decision arrives as it was made.
func TestADecisionArrivesWhole(t *testing.T) {
	made := llm.Decision{Call: tool.Call{Tool: "tap", Arguments: json.RawMessage(`{"x":12345678901234567890}`)}, Provider: "anthropic", Model: "m-1", ProviderRequestID: "req_1",
		Usage: llm.Usage{Input: llm.Known(100), CachedInput: llm.Known(0), Output: llm.Known(5)}}
	o := hostapitest.Options{Decide: func(_ context.Context, r hostapi.DecideRequest) (llm.Decision, error) {
		if r.SystemPrompt != "s" || r.UserPrompt != "u" || len(r.Tools) != 1 || r.TimeoutSeconds != 10 {
			return llm.Decision{}, errors.New("the request did not arrive whole")
		}
		return made, nil
	}}
	decidingHost(t, o, func(t *testing.T, _ *world, caller llm.ToolCaller, r llm.Request) {
		got, err := caller.Decide(t.Context(), r)
		want := made
		want.StepIndex = 0
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// R-PLAN-5: each reason arrives as it was given, with what the call cost.
func TestEveryReasonArrivesAsItWasGiven(t *testing.T) {
	for _, reason := range llm.Reasons {
		t.Run(string(reason), func(t *testing.T) {
			given := &llm.Unavailable{Reason: reason, RetryAfter: 20 * time.Second, Detail: "because", Provider: "openai", Model: "m", ProviderRequestID: "r", Usage: llm.Usage{Input: llm.Known(7)}}
			o := hostapitest.Options{Decide: func(context.Context, hostapi.DecideRequest) (llm.Decision, error) { return llm.Decision{}, given }}
			decidingHost(t, o, func(t *testing.T, w *world, caller llm.ToolCaller, r llm.Request) {
				_, err := caller.Decide(t.Context(), r)
				var got *llm.Unavailable
				if !errors.As(err, &got) || !reflect.DeepEqual(got, given) {
					t.Errorf("got %+v\nwant %+v", got, given)
				}
				if n := w.Calls("decide"); n != 1 {
					t.Errorf("%d calls, want 1", n) // also in flight: its wait is longer than the deadline
				}
			})
		})
	}
}

// R-PLAN-5: whatever else goes wrong has a reason, too.
func TestEveryFailureOfTheWayHasAReason(t *testing.T) {
	problem := func(kind fault.Kind, code string) hostapitest.Fault {
		return hostapitest.Refuse(fault.New(kind, code, "x"))
	}
	for name, c := range map[string]struct {
		fault   hostapitest.Fault
		want    llm.Reason
		repeats bool
	}{
		"connections break":           {hostapitest.DropCall, llm.Transport, true},
		"answers are cut":             {hostapitest.CutAnswer, llm.Transport, true},
		"nothing is answered":         {hostapitest.Swallow, llm.Timeout, false},
		"a proxy's page as a success": {hostapitest.Page(200), llm.ProviderError, true},
		"a proxy's 502":               {hostapitest.Page(502), llm.ProviderError, true},
		"a proxy's 401":               {hostapitest.Page(401), llm.ProviderError, true},
		"a redirect":                  {hostapitest.Page(307), llm.ProviderError, true},
		"half an answer":              {hostapitest.Answer(`{"tool_name":"tap"`), llm.ProviderError, true},
		"a name twice":                {hostapitest.Answer(`{"tool_name":"tap","tool_name":"tap"}`), llm.ProviderError, true},
		"another tool than offered":   {hostapitest.Answer(`{"tool_name":"shell","arguments":{},"step_index":0,"usage":{},"provider":"p","model":"m"}`), llm.UnknownTool, false},
		"arguments that do not fit":   {hostapitest.Answer(`{"tool_name":"tap","arguments":{"x":"1"},"step_index":0,"usage":{},"provider":"p","model":"m"}`), llm.InvalidArguments, false},
		"the host is unknown":         {problem(fault.Unauthenticated, "host_unauthorized"), llm.HostUnauthorized, false},
		"the host is revoked":         {problem(fault.Unauthenticated, "host_revoked"), llm.HostUnauthorized, false},
		"the lease is lost":           {problem(fault.Conflict, "lease_lost"), llm.LeaseLost, false},
		"the attempt is stale":        {problem(fault.Conflict, "stale_attempt"), llm.LeaseLost, false},
		"the task is gone":            {problem(fault.NotFound, "task_not_found"), llm.LeaseLost, false},
		"the task is cancelled":       {problem(fault.Conflict, "cancelled"), llm.Cancelled, false},
		"the key was used":            {problem(fault.Conflict, "idempotency_conflict"), llm.BadRequest, false},
		"the body is refused":         {problem(fault.Invalid, "invalid_body"), llm.BadRequest, false},
		"the planner is forbidden":    {problem(fault.Forbidden, "forbidden"), llm.PlannerForbidden, false},
		"a cap is reached":            {problem(fault.Exhausted, "cap"), llm.BudgetExhausted, false},
		"the server is full for now":  {hostapitest.Refuse(fault.New(fault.Exhausted, "busy", "x").Retry(time.Second)), llm.Overloaded, true},
		"the disk is full":            {problem(fault.Unavailable, "storage_full"), llm.StorageFull, false},
		"a defect of the server":      {hostapitest.Refuse(errors.New("secret cause")), llm.ProviderError, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := hostapitest.Options{Decide: func(context.Context, hostapi.DecideRequest) (llm.Decision, error) {
				return llm.Decision{Call: tool.Call{Tool: "tap", Arguments: json.RawMessage(`{"x":1}`)}}, nil
			}}
			decidingHost(t, o, func(t *testing.T, w *world, caller llm.ToolCaller, r llm.Request) {
				w.Inject("decide", 1000, c.fault)
				began := time.Now()
				_, err := caller.Decide(t.Context(), r)
				if u := llm.AsUnavailable(err); err == nil || !errors.Is(err, llm.ErrUnavailable) || u.Reason != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
				if took := time.Since(began); took > 12*time.Second {
					t.Errorf("took %v, want at most the timeout and 2s", took)
				}
				if n := w.Calls("decide"); (n > 1) != c.repeats {
					t.Errorf("%d calls; repeated: %v, want %v", n, n > 1, c.repeats)
				}
			})
		})
	}
}

// The same key is decided once, however often the answer is lost, and the
// repeat gets it.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	made := 0
	o := hostapitest.Options{Decide: func(context.Context, hostapi.DecideRequest) (llm.Decision, error) {
		made++
		return llm.Decision{Call: tool.Call{Tool: "tap", Arguments: json.RawMessage(`{"x":1}`)}}, nil
	}}
	decidingHost(t, o, func(t *testing.T, w *world, caller llm.ToolCaller, r llm.Request) {
		w.Inject("decide", 2, hostapitest.CutAnswer)
		w.Inject("decide", 1, hostapitest.Refuse(&llm.Unavailable{Reason: llm.DecideInFlight}))
		if d, err := caller.Decide(t.Context(), r); err != nil || d.StepIndex != 0 || made != 1 {
			t.Errorf("got %+v, %v after %d decisions; want index 0 of one", d, err, made)
		}
	})
}

func TestTheCauseOfACancelledDecisionIsKept(t *testing.T) {
	for cause, want := range map[error]llm.Reason{runner.ErrLeaseLost: llm.LeaseLost, runner.ErrCancelled: llm.Cancelled, context.Canceled: llm.Cancelled} {
		t.Run(string(want)+" "+cause.Error(), func(t *testing.T) {
			decidingHost(t, hostapitest.Options{}, func(t *testing.T, w *world, caller llm.ToolCaller, r llm.Request) {
				w.Inject("decide", 1, hostapitest.Swallow)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(cause) })
				if _, err := caller.Decide(ctx, r); llm.AsUnavailable(err).Reason != want {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		})
	}
}

// A host that the control plane doesn't know stops, wherever it hears of it.
func TestAHostThatIsUnknownStopsWhereverItHearsOfIt(t *testing.T) {
	for _, verb := range []string{"heartbeat", "poll", "renew", "events", "result", "decide", "ack"} {
		t.Run(verb, func(t *testing.T) {
			d := &deciding{n: 100, time: 5 * time.Second}
			if verb == "result" {
				d.n = 1
			}
			o := hostapitest.Options{Decide: d.decide, Timings: hostapitest.Timings}
			o.Timings.FreshMS = 1
			inWorld(t, o, func(t *testing.T, w *world) {
				w.Inject(verb, 1000, hostapitest.Refuse(fault.New(fault.Unauthenticated, "host_unauthorized", "the host credential is not valid")))
				id := w.Submit(hostapi.Assignment{Goal: "count", Budgets: hostapi.Budgets{Steps: 1000}})
				h := w.run(t, asking)
				if err := <-h.ended; fault.KindOf(err) != fault.Unauthenticated {
					t.Errorf("Run ended with %v, want unauthenticated", err)
				}
				if got := w.Task(id); got.Accepted != 0 {
					t.Error("a result was reported")
				}
				if verbs := w.Arrived(); !slices.Contains(verbs, verb) {
					t.Errorf("%s never happened: %v", verb, verbs)
				}
			})
		})
	}
}

var _ llm.ToolCaller = (*host.CloudCaller)(nil)
