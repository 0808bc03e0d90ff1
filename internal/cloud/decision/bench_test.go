package decision_test

import (
	"fmt"
	"testing"

	"interlock/internal/cloud/task"
)

// BenchmarkDecide is one decision after the other with a provider that answers
// at once: what is left is ours and one durable commit.
func BenchmarkDecide(b *testing.B) {
	w := newWorld(b)
	var f task.Fence
	for i := 0; b.Loop(); i++ {
		if i%200 == 0 { // the cap of an attempt
			f = w.attempt()
		}
		w.mustDecide(f, fmt.Sprint("k", i))
	}
}
