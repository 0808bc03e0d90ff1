package decision_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"interlock/internal/cloud/decision"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/usage"
)

// R-CLOUD-9: hanging up makes no room while the request is still held.
func TestADecideWhoseCallerLeftKeepsItsMemory(t *testing.T) {
	t.Parallel()
	const limit = 16 << 20
	w := newWorld(t, func(s *settings) { s.Caps = usage.Caps{RequestBytes: limit} })
	f := w.attempt()
	entered, goOn := w.gated()
	r := request(f, "k")
	r.User = strings.Repeat("x", 1<<20)
	ctx, hangUp := context.WithCancel(t.Context())
	release, err := w.Reserve(w.host.ID, limit)
	if err != nil {
		t.Fatal(err)
	}
	left := w.start(ctx, w.host, r)
	<-entered
	hangUp()
	wantReason(t, "the caller that left", (<-left).err, llm.Cancelled)
	release()
	if _, err := w.Reserve(w.host.ID, limit); !errors.Is(err, decision.ErrBusy) {
		t.Errorf("while the decide goes on: got %v, want ErrBusy", err)
	}
	again := w.start(t.Context(), w.host, r)
	goOn()
	if got := <-again; got.err != nil {
		t.Fatalf("the repeat: %v", got.err)
	}
	if _, err := w.Reserve(w.host.ID, limit); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
}

// A defect met by one decide ends that one alone.
func TestADecideThatPanicsFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.attempt()
	w.model.answer = func(context.Context, llm.Request) (llm.Decision, error) { panic("CANARY") }
	if _, err := w.decide(f, "k"); fault.KindOf(err) != fault.Internal {
		t.Errorf("got %v, want an internal fault", err)
	}
	if out := w.log.String(); !strings.Contains(out, "decide panicked") || !strings.Contains(out, "request=req-k") || strings.Contains(out, "CANARY") {
		t.Errorf("the log should name the panic beside its request, and not quote it:\n%s", out)
	}
	w.model.answer = nil
	if d := w.mustDecide(f, "k"); d.StepIndex != 0 {
		t.Errorf("the repeat has index %d", d.StepIndex)
	}
	w.wantGapless(f.Task, 1)
}
