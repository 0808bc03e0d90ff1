package problem_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/problem"
)

// R-PLAN-5: each reason crosses the wire unchanged, with all that is known of the failure.
func TestEveryReasonCrossesTheWireUnchanged(t *testing.T) {
	status := map[llm.Reason]int{
		llm.BudgetExhausted: 429, llm.BadRequest: 400, llm.Cancelled: 409, llm.LeaseLost: 409, llm.DecideInFlight: 409,
		llm.HostUnauthorized: 401, llm.PlannerForbidden: 403, llm.StorageFull: 507,
	}
	for _, reason := range llm.Reasons {
		sent := &llm.Unavailable{Reason: reason, RetryAfter: 1500 * time.Millisecond, Detail: "why", Provider: "openai", Model: "m", ProviderRequestID: "r",
			Usage: llm.Usage{Input: llm.Known(0), Output: llm.Known(3)}}
		p := problem.From(sent)
		want := status[reason]
		if want == 0 {
			want = 503
		}
		if p.Status != want || p.Code != string(reason) || p.Type != "urn:interlock:problem:"+string(reason) || p.Retryable != (reason == llm.DecideInFlight) {
			t.Errorf("%s: got %+v, want status %d", reason, p, want)
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back problem.Problem
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		var got *llm.Unavailable
		if !errors.As(back.Err(), &got) {
			t.Fatalf("%s: came back as %v", reason, back.Err())
		}
		if diff := cmp.Diff(sent, got, cmp.Comparer(func(a, b llm.Count) bool { return a == b })); diff != "" {
			t.Errorf("%s changed on the wire:\n%s", reason, diff)
		}
	}
}

func TestFaultsCrossTheWire(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		kind   fault.Kind
	}{
		{fault.New(fault.Invalid, "bad_goal", "x"), 400, fault.Invalid},
		{fault.New(fault.Unauthenticated, "invalid_token", "x"), 401, fault.Unauthenticated},
		{fault.New(fault.Forbidden, "host_revoked", "x"), 403, fault.Forbidden},
		{fault.New(fault.NotFound, "task_not_found", "x"), 404, fault.NotFound},
		{fault.New(fault.Conflict, "stale_attempt", "x"), 409, fault.Conflict},
		{fault.New(fault.Exhausted, "busy", "x").Retry(2 * time.Second), 429, fault.Exhausted},
		{fault.New(fault.Unavailable, "store_busy", "x").Retry(0), 503, fault.Unavailable},
		{fault.New(fault.Conflict, "idempotency_conflict", "x"), 422, fault.Invalid},
		{fault.New(fault.Invalid, "body_too_large", "x"), 413, fault.Invalid},
	} {
		p := problem.From(c.err)
		back := fault.Of(p.Err())
		sent := fault.Of(c.err)
		if p.Status != c.status || back.Kind != c.kind || back.Code != sent.Code || back.Detail != "x" || back.Retryable != sent.Retryable || back.RetryAfter != sent.RetryAfter {
			t.Errorf("%v: problem %+v, back %+v", c.err, p, back)
		}
	}
}

func TestAnAbsurdWaitIsAYear(t *testing.T) {
	for ms, want := range map[int64]time.Duration{-5: 0, 1500: 1500 * time.Millisecond, math.MaxInt64: 366 * 24 * time.Hour, math.MaxInt64/1_000_000 + 1: 366 * 24 * time.Hour} {
		p := problem.From(fault.New(fault.Exhausted, "busy", "x").Retry(0))
		p.RetryAfterMS = ms
		if got := fault.Of(p.Err()).RetryAfter; got != want {
			t.Errorf("%d ms came back as %v, want %v", ms, got, want)
		}
	}
}

func TestAnUnclassifiedErrorTellsNothing(t *testing.T) {
	p := problem.From(errors.New("open /var/lib/x: permission denied"))
	b, _ := json.Marshal(p)
	if p.Status != 500 || p.Code != "internal" || strings.Contains(string(b), "permission") {
		t.Errorf("got %s", b)
	}
}
