package runner

import (
	"time"

	"interlock/internal/llm"
)

// withDefaults fills in what a task leaves open.
func (b Budgets) withDefaults() Budgets {
	if b.Steps <= 0 {
		b.Steps = DefaultSteps
	}
	if b.WallTime <= 0 {
		b.WallTime = DefaultWallTime
	}
	return b
}

// spending is what an attempt has used. Its zero value is nothing.
type spending struct {
	usage     llm.Usage // sums of what was reported
	charged   int64     // tokens, with UnknownTokens where a count was missing
	unmetered int
}

// add counts the usage of one decision.
func (s *spending) add(u llm.Usage) {
	s.usage = llm.Usage{
		Input:       sum(s.usage.Input, u.Input),
		CachedInput: sum(s.usage.CachedInput, u.CachedInput),
		CacheWrite:  sum(s.usage.CacheWrite, u.CacheWrite),
		Output:      sum(s.usage.Output, u.Output),
		Reasoning:   sum(s.usage.Reasoning, u.Reasoning),
	}
	in, inKnown := u.Input.Get()
	out, outKnown := u.Output.Get()
	s.charged += in + out
	if !inKnown || !outKnown {
		s.charged += UnknownTokens
		s.unmetered++
	}
}

// sum adds two counts; one that is unknown adds nothing, and two of them stay
// unknown.
func sum(a, b llm.Count) llm.Count {
	x, aKnown := a.Get()
	y, bKnown := b.Get()
	if !aKnown && !bKnown {
		return llm.Count{}
	}
	return llm.Known(x + y)
}

// exhausted returns the end that b brings before another decision, if it does.
// step is how many steps are behind.
func (b Budgets) exhausted(step int, elapsed time.Duration, s spending) *end {
	switch {
	case step >= b.Steps:
		return over(BudgetExhausted, "steps", "the task used up its steps before it was done")
	case elapsed >= b.WallTime:
		return overTime()
	case b.Tokens > 0 && s.charged >= b.Tokens:
		return over(BudgetExhausted, "tokens", "the task used up its token budget before it was done")
	}
	return nil
}
