package decision

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"testing"

	"interlock/internal/cloud/fleet"
	"interlock/internal/llm"
	"interlock/internal/tool"
)

// at enters the gate in the background and reports on through once let in.
func at(t *testing.T, g *gate, host fleet.HostID, through chan<- fleet.HostID) {
	t.Helper()
	g.mu.Lock()
	before := len(g.queue) + g.running
	g.mu.Unlock()
	go func() {
		if _, err := g.enter(t.Context(), host, 2); err == nil {
			through <- host
		}
	}()
	for arrived := false; !arrived; runtime.Gosched() { // it is queued or through
		g.mu.Lock()
		arrived = len(g.queue)+g.running > before
		g.mu.Unlock()
	}
}

// R-CLOUD-9: a host at its own limit holds up nobody else.
func TestTheGateKeepsBothLimitsInOrderOfArrival(t *testing.T) {
	t.Parallel()
	g := newGate(3)
	through := make(chan fleet.HostID, 10)
	for _, host := range []fleet.HostID{"a", "a", "a", "b", "c"} {
		at(t, g, host, through)
	}
	got := []fleet.HostID{<-through, <-through, <-through}
	slices.Sort(got)
	if !slices.Equal(got, []fleet.HostID{"a", "a", "b"}) {
		t.Fatalf("let through %v, want two of a and b", got)
	}
	g.leave("b")
	if next := <-through; next != "c" {
		t.Errorf("then %s, want c: a is at its limit", next)
	}
	g.leave("a")
	if next := <-through; next != "a" {
		t.Errorf("then %s, want a", next)
	}
	select {
	case extra := <-through:
		t.Errorf("%s came through a full gate", extra)
	default:
	}
}

func TestLeavingTheGatesQueueCostsNoPlace(t *testing.T) {
	t.Parallel()
	g := newGate(1)
	leave, err := g.enter(t.Context(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("gone")
	cancel(why)
	if _, err := g.enter(ctx, "b", 1); !errors.Is(err, why) {
		t.Errorf("got %v, want the context's cause", err)
	}
	leave()
	if leave, err = g.enter(t.Context(), "c", 1); err != nil {
		t.Fatal(err)
	}
	leave()
	if g.running != 0 || len(g.queue) != 0 || len(g.byHost) != 0 {
		t.Errorf("left behind: %d running, %d queued, %v", g.running, len(g.queue), g.byHost)
	}
}

func TestABodyHashTellsQuestionsApart(t *testing.T) {
	t.Parallel()
	set := func(description string) *tool.Set {
		s, err := tool.NewSet([]tool.Spec{{Name: "tap", Description: description, Parameters: json.RawMessage(`{"type":"object"}`)}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := llm.Request{System: "ab", User: "c", Tools: set("d")}
	seen := map[[32]byte]string{}
	for name, c := range map[string]struct {
		r       llm.Request
		picture *llm.Evidence
	}{
		"the question":                      {base, nil},
		"a letter moved between prompts":    {llm.Request{System: "a", User: "bc", Tools: set("d")}, nil},
		"another description of a tool":     {llm.Request{System: "ab", User: "c", Tools: set("e")}, nil},
		"with a picture":                    {base, &llm.Evidence{SHA256: [32]byte{1}}},
		"with another picture":              {base, &llm.Evidence{SHA256: [32]byte{2}}},
		"a prompt that looks like a length": {llm.Request{System: "ab\x00\x00\x00\x00\x00\x00\x00\x01c", Tools: set("d")}, nil},
	} {
		h := bodyHash(c.r, c.picture)
		if other, twice := seen[h]; twice {
			t.Errorf("%q and %q have one hash", name, other)
		}
		seen[h] = name
	}
	later := base
	later.Timeout, later.Key = 1, "k"
	if bodyHash(base, nil) != bodyHash(later, nil) {
		t.Error("the time that is left changes the hash")
	}
}
