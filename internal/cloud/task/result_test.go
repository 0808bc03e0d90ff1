package task

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// R-RUN-1, R-RUN-5: one line for each way that an attempt can end, before and
// after it acted, repeatable or not.
func TestWhatBecomesOfAnAttempt(t *testing.T) {
	t.Parallel()
	results := []Result{{State: "succeeded"}, {State: "infeasible"}, {State: "failed"}, {State: "failed", Reason: "policy_denied"},
		{State: "stuck"}, {State: "budget_exhausted", Reason: "steps"}, {State: "unverified"}, {State: "indeterminate"},
		{State: "device_lost"}, {State: "device_lost", Reason: "adb_gone"}, {State: "cancelled"}, {State: "cancelled", Reason: "drained"}}
	for _, reason := range llm.Reasons {
		results = append(results, Result{State: "failed", Reason: reason.TaskReason()})
	}
	var out strings.Builder
	for _, r := range results {
		name := r.State
		if r.Reason != "" {
			name += "(" + r.Reason + ")"
		}
		fmt.Fprintf(&out, "%-40s", name)
		for _, c := range []struct {
			label             string
			acted, repeatable bool
		}{{"idle", false, false}, {"acted", true, false}, {"acted, repeatable", true, true}} {
			state, reason, err := settle(r, c.acted, c.repeatable)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			fmt.Fprintf(&out, " | %s: %s", c.label, strings.TrimSpace(string(state)+" "+reason))
		}
		out.WriteString("\n")
	}
	golden := filepath.Join("testdata", "ends.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("ends changed; got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestAnEndThatIsNeverReportedIsRefused(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"lease_lost", "", "SUCCEEDED", "running", "queued"} {
		if _, _, err := settle(Result{State: state}, false, false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: got %v, want Invalid", state, err)
		}
	}
	for name, r := range map[string]Result{
		"a reason that is a sentence": {State: "failed", Reason: "It broke!"},
		"a summary beyond its limit":  {State: "failed", Summary: strings.Repeat("é", maxSummary+1)},
		"a summary that is not UTF-8": {State: "failed", Summary: "\xff"},
		"negative steps":              {State: "failed", Steps: -1},
		"a wait into the past":        {State: "failed", RetryAfter: -time.Second},
	} {
		if err := r.check(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: got %v, want Invalid", name, err)
		}
	}
	if err := (Result{State: "failed", Reason: "policy_denied", Summary: strings.Repeat("é", maxSummary)}).check(); err != nil {
		t.Errorf("a result at its limits: %v", err)
	}
}

func TestBackoffGrowsAndStaysWithinItsJitter(t *testing.T) {
	t.Parallel()
	for tries, middle := range map[int]time.Duration{0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 5: 80 * time.Second, 10: 2560 * time.Second, 11: time.Hour, 1000: time.Hour} {
		for range 50 {
			if d := Backoff(tries); d < middle*3/4 || d > middle*5/4 {
				t.Fatalf("Backoff(%d) = %v, want %v more or less by a quarter", tries, d, middle)
			}
		}
	}
}
