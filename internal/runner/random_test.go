package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/runner"
	"interlock/internal/tool"
)

// R-RUN-1, R-RUN-4, R-RUN-5: whatever a model proposes and whatever befalls
// the phone and the host, a task ends in one of the states, each touch had its
// permission, no budget is overdrawn, and nothing is touched after an end.
func TestAnyModelAnyTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { rapid.Check(bubble{t}, anyModelAnyTrouble) })
}

// bubble is a test without its deadline, which is not of a bubble's time.
type bubble struct{ rapid.TB }

func anyModelAnyTrouble(t *rapid.T) {
	phone, host := sim.New(sim.Options{}), &ledger{}
	swallowed := 0
	for range rapid.IntRange(0, 3).Draw(t, "troubles") {
		f := sim.Fault{
			At: rapid.SampledFrom([]sim.Moment{sim.AtDo, sim.AtObserve}).Draw(t, "at"), Skip: rapid.IntRange(0, 12).Draw(t, "skip"),
			Do: rapid.SampledFrom([]sim.Trouble{sim.Lose, sim.LoseDuring, sim.Call, sim.Banner, sim.Unauthorized, sim.Swallow, sim.LoseOnTheWay,
				sim.Slide, sim.Reorder, sim.Twin, sim.LookAlike}).Draw(t, "trouble"),
		}
		if f.Do == sim.Swallow {
			swallowed++
		}
		phone.Inject(f)
	}
	fence := rapid.IntRange(1, 40).Draw(t, "fence")
	host.permit = func(p runner.Permission) error {
		if p.Step >= fence {
			return runner.ErrLeaseLost
		}
		return nil
	}
	task := runner.Task{ID: "t", Attempt: 1, Goal: "g", Budgets: runner.Budgets{Steps: rapid.IntRange(1, 15).Draw(t, "steps"), Tokens: 110 * rapid.Int64Range(0, 20).Draw(t, "tokens")}}
	if rapid.Bool().Draw(t, "locked") {
		task.AppLock = sim.DemoApps()
	}
	asked := 0
	got := runner.New(runner.Options{Driver: phone, Host: host, Planner: proposer(func(_ context.Context, in planner.Input) (planner.Proposal, error) {
		if in.Ordinal != asked || in.Step > task.Budgets.Steps {
			t.Fatalf("decision %d, step %d asked for as ordinal %d", asked, in.Step, in.Ordinal)
		}
		asked++
		return planner.Proposal{Call: anyCall(t, in), StepIndex: -1, Usage: llm.Usage{Input: llm.Known(100), Output: llm.Known(10)}}, nil
	})}).Run(context.Background(), task)

	if !slices.Contains(states, got.State) {
		t.Fatalf("ended as %+v", got)
	}
	if got.Steps > task.Budgets.Steps || (task.Budgets.Tokens > 0 && int64(110*(asked-1)) >= task.Budgets.Tokens && asked > 0) {
		t.Fatalf("%d steps and %d decisions under %+v", got.Steps, asked, task.Budgets)
	}
	checkRecord(t, phone, host, got, asked, swallowed)
}

var states = []runner.State{runner.Succeeded, runner.Infeasible, runner.Failed, runner.Stuck, runner.BudgetExhausted,
	runner.Unverified, runner.Cancelled, runner.LeaseLost, runner.DeviceLost, runner.Indeterminate}

// checkRecord compares what the host heard with what the phone did, which took
// so many actions at most without carrying them out.
func checkRecord(t *rapid.T, phone *sim.Phone, host *ledger, got runner.Result, asked, swallowed int) {
	if len(host.events) != asked {
		t.Fatalf("%d decisions and %d events", asked, len(host.events))
	}
	acted, unclear := 0, 0
	for i, e := range host.events {
		switch {
		case e.Decision != i:
			t.Fatalf("event %d is of decision %d", i, e.Decision)
		case e.Outcome == runner.Done && e.Tool != planner.Wait:
			acted++
			if !e.Verdict.Allows() {
				t.Fatalf("done in spite of %+v", e.Verdict)
			}
		case e.Outcome == runner.Unclear:
			unclear++
		}
		if ending := e.Outcome != runner.Done && e.Outcome != runner.TurnedDown; ending && i != asked-1 {
			t.Fatalf("event %d says %s and is not the last", i, e.Outcome)
		}
	}
	mutating := 0
	for _, p := range host.permits {
		if p.Mutating {
			mutating++
		}
	}
	done := len(phone.Done())
	if done > mutating || done > acted+unclear || done+swallowed < acted || (unclear > 0) != (got.State == runner.Indeterminate) || got.Acted != (acted+unclear > 0) {
		t.Fatalf("%d done, %d acted, %d unclear, %d permitted: %+v", done, acted, unclear, mutating, got)
	}
}

// anyCall is a call that a model might make: mostly sensible, never sure.
func anyCall(t *rapid.T, in planner.Input) tool.Call {
	ref := fmt.Sprintf("e%d", rapid.IntRange(1, len(in.Scene.Elements)+1).Draw(t, "ref"))
	x, y := rapid.IntRange(-5, 1085).Draw(t, "x"), rapid.IntRange(-5, 2345).Draw(t, "y")
	choices := []tool.Call{
		{Tool: "tap", Arguments: mustJSON(map[string]any{"ref": ref})},
		{Tool: "tap", Arguments: mustJSON(map[string]any{"x": x, "y": y})},
		{Tool: "type_text", Arguments: mustJSON(map[string]any{"ref": ref, "text": "é🚀", "submit": x%2 == 0})},
		{Tool: "swipe", Arguments: mustJSON(map[string]any{"direction": "up"})},
		{Tool: "long_press", Arguments: mustJSON(map[string]any{"ref": ref})},
		{Tool: "key", Arguments: mustJSON(map[string]any{"key": rapid.SampledFrom([]string{"back", "home", "enter", "delete"}).Draw(t, "key")})},
		{Tool: "open_app", Arguments: mustJSON(map[string]any{"package": rapid.SampledFrom([]string{sim.Contacts, sim.Settings, "x.y"}).Draw(t, "package")})},
		{Tool: "open_url", Arguments: mustJSON(map[string]any{"url": "https://example.com/"})},
		{Tool: "hide_keyboard", Arguments: mustJSON(map[string]any{})},
		{Tool: "finish", Arguments: mustJSON(map[string]any{"status": "success", "summary": "s", "evidence": rapid.SampledFrom([]string{ref, "Save", ""}).Draw(t, "evidence")})},
		{Tool: "fail", Arguments: mustJSON(map[string]any{"reason": "r"})},
	}
	weights := []int{0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 6, 6, 6, 7, 8, 9, 10}
	return choices[rapid.SampledFrom(weights).Draw(t, "call")]
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// still is a phone that takes every action and never changes: what a step
// costs without a model and a device.
type still struct{ scene device.Scene }

func (s still) Info(context.Context) (device.Info, error)     { return device.Info{Platform: "still"}, nil }
func (s still) Observe(context.Context) (device.Scene, error) { return device.Seal(s.scene), nil }
func (s still) Do(context.Context, device.Action) error       { return nil }
func (s still) Close() error                                  { return nil }

// BenchmarkStep is one step with its prompt on a screen of 200 elements.
func BenchmarkStep(b *testing.B) {
	scene := device.Scene{App: "com.example.mail", Size: device.Size{W: 1080, H: 2400}}
	for i := range 200 {
		scene.Elements = append(scene.Elements, device.Element{ID: fmt.Sprintf("com.example:id/row_%d", i), Role: "button", Text: fmt.Sprintf("Message %d of this week", i),
			Bounds: device.Rect{X1: 1080, Y0: 12 * i, Y1: 12*i + 12}, Flags: device.Clickable})
	}
	n := 0
	model := caller(func(q llm.Request) (llm.Decision, error) {
		n++
		return llm.Accept(q.Tools, llm.Reply{Calls: []llm.RawCall{{Name: "tap", Arguments: fmt.Appendf(nil, `{"ref":"e%d"}`, n%200+1)}}})
	})
	ai := planner.NewAI(model, planner.Options{})
	const steps = 7 // the eighth that changes nothing ends the task
	for b.Loop() {
		r := runner.New(runner.Options{Driver: still{scene}, Planner: ai, Host: &ledger{}})
		if got := r.Run(b.Context(), runner.Task{ID: "t", Attempt: 1, Goal: "g", Budgets: runner.Budgets{Steps: steps},
			Policy: policy.Document{Reversible: []string{"tap"}}}); got.Steps != steps {
			b.Fatalf("got %+v", got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
}

// caller is a model.
type caller func(llm.Request) (llm.Decision, error)

func (c caller) Decide(_ context.Context, q llm.Request) (llm.Decision, error) { return c(q) }
