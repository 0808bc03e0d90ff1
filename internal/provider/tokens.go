package provider

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
)

// maxTokens is far beyond any model; a larger count is a defect of the
// provider's, and sums of counts within it can't overflow.
const maxTokens = 1_000_000_000_000

// Tokens reads one count of a usage object. Absent, null, negative, absurd or
// not a whole number: unknown, because a wrong count must not fail a decision
// that was paid for.
func Tokens(v jsontext.Value) llm.Count {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n > maxTokens {
		return llm.Count{}
	}
	return llm.Known(n)
}

// Sum adds more to total where both are known; an unknown part leaves total as
// it is, and an unknown total stays unknown.
func Sum(total llm.Count, more ...llm.Count) llm.Count {
	n, known := total.Get()
	if !known {
		return total
	}
	for _, c := range more {
		m, _ := c.Get()
		n += m
	}
	return llm.Known(n)
}
