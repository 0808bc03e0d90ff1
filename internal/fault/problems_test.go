package fault_test

import (
	"testing"

	"interlock/internal/fault"
)

func TestProblemsAreToldTogether(t *testing.T) {
	t.Parallel()
	var p fault.Problems
	p.Require(true, "never said")
	if err := p.Refuse("invalid_task", "the task"); err != nil {
		t.Errorf("no problem: got %v", err)
	}
	p.Require(false, "%s is empty", "goal")
	p.Add("priority is not between 0 and %d", 9)
	e := fault.Of(p.Refuse("invalid_task", "the task"))
	want := "correct the task: goal is empty; priority is not between 0 and 9"
	if e.Kind != fault.Invalid || e.Code != "invalid_task" || e.Detail != want || e.Retryable {
		t.Errorf("got %+v, want %q", e, want)
	}
}

func TestARefusalOfManyProblemsIsBounded(t *testing.T) {
	t.Parallel()
	var p fault.Problems
	for range 1000 {
		p.Add("x")
	}
	want := "correct the list: x; x; x; x; x; x; x; x; x; x; and more"
	if got := fault.Of(p.Refuse("invalid_list", "the list")).Detail; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
