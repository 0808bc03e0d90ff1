package task

import (
	"strings"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/policy"
)

// R-CLOUD-10
func TestASpecIsRefusedWithEveryProblem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		spec Spec
		want []string // words of each problem; none: fine
	}{
		"a goal is enough":                   {Spec{Goal: "open settings"}, nil},
		"a goal at its limit":                {Spec{Goal: strings.Repeat("é", MaxGoal)}, nil},
		"a goal beyond its limit":            {Spec{Goal: strings.Repeat("é", MaxGoal+1)}, []string{"goal is longer"}},
		"a goal of spaces":                   {Spec{Goal: " \n"}, []string{"goal is empty"}},
		"a goal with NUL":                    {Spec{Goal: "a\x00b"}, []string{"not UTF-8 text"}},
		"a goal that is not UTF-8":           {Spec{Goal: "\xff"}, []string{"not UTF-8 text"}},
		"a start in a year's time or less":   {Spec{Goal: "g", NotBefore: now.Add(24 * time.Hour)}, nil},
		"a start beyond a year":              {Spec{Goal: "g", NotBefore: now.AddDate(2, 0, 0)}, []string{"not_before"}},
		"a start before there were any":      {Spec{Goal: "g", NotBefore: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"not_before"}},
		"an end that no calendar knows":      {Spec{Goal: "g", ExpiresAt: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"expires_at is before 1970"}},
		"an end that is past":                {Spec{Goal: "g", ExpiresAt: now.Add(-time.Second)}, []string{"expires_at"}},
		"an end before the start":            {Spec{Goal: "g", NotBefore: now.Add(2 * time.Hour), ExpiresAt: now.Add(time.Hour)}, []string{"expires_at"}},
		"a selector with a line break":       {Spec{Goal: "g", Selector: Selector{Device: "a\nb"}}, []string{"selector's device"}},
		"an app lock with an empty package":  {Spec{Goal: "g", AppLock: []string{""}}, []string{"app_lock[0]"}},
		"a policy that can't be":             {Spec{Goal: "g", Policy: policy.Document{MaxRisk: "extreme"}}, []string{"max_risk"}},
		"a label name with a space":          {Spec{Goal: "g", Labels: map[string]string{"a b": "c"}}, []string{"label"}},
		"everything wrong at once is listed": {Spec{Priority: 10, MaxAttempts: 21, Budgets: Budgets{Steps: -1, WallTime: -1, Tokens: -1}}, []string{"goal", "priority", "max_attempts", "steps", "wall_time", "tokens"}},
	} {
		err := Submission{Spec: c.spec}.check(now)
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Invalid {
			t.Errorf("%s: got %v, want Invalid", name, err)
			continue
		}
		for _, word := range c.want {
			if !strings.Contains(f.Detail, word) {
				t.Errorf("%s: %q is not in %q", name, word, f.Detail)
			}
		}
	}
}

func TestABodyHashTellsRequestsApart(t *testing.T) {
	t.Parallel()
	a := Spec{Goal: "g", Labels: map[string]string{"x": "1", "y": "2"}}
	same := Spec{Goal: "g", Labels: map[string]string{"y": "2", "x": "1"}}
	if bodyHash(a, "") != bodyHash(same, "") {
		t.Error("the order of labels changes the hash")
	}
	other := a
	other.Repeatable = true
	if bodyHash(a, "") == bodyHash(other, "") || bodyHash(a, "") == bodyHash(a, "t1") {
		t.Error("two requests have one hash")
	}
}
