package decision_test

import (
	"fmt"
	"testing"
)

// BenchmarkDecide is one decision after the other with a provider that answers
// at once: what is left is ours and one durable commit.
func BenchmarkDecide(b *testing.B) {
	w := newWorld(b, func(s *settings) { s.Caps.DecisionsPerAttempt = 10_000_000 })
	f := w.attempt()
	for i := 0; b.Loop(); i++ {
		w.mustDecide(f, fmt.Sprint("k", i))
	}
}
