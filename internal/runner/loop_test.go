package runner

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/tool"
)

// R-RUN-5: against a model that counts in the plainest way.
func TestRepetitionAgreesWithAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r repetition
		var past []string
		var unchanged int
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			before, after := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "before"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "after")
			c := tool.Call{Tool: "tap", Arguments: json.RawMessage(fmt.Sprintf(`{"x":%d}`, rapid.IntRange(0, 3).Draw(t, "x")))}
			past = append(past, before+string(c.Arguments))
			same := 0
			for _, p := range past {
				if p == past[len(past)-1] {
					same++
				}
			}
			if got := r.propose(before, c); got != (same >= stuckRepeats) {
				t.Fatalf("stuck %v after %d times", got, same)
			}
			unchanged++
			if before != after {
				unchanged = 0
			}
			if got := r.observe(before != after); got != (unchanged >= stuckAfter) {
				t.Fatalf("stuck %v after %d unchanged", got, unchanged)
			}
			if got := r.warning != ""; got != (same >= warnRepeats || unchanged >= warnUnchanged) {
				t.Fatalf("warned %v after %d times and %d unchanged", got, same, unchanged)
			}
		}
	})
}
