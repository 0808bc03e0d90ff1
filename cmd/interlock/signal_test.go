package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A program that stops us, timeout(1) for one, may signal the process and its
// group: that must not be taken for somebody's second thought.
func TestASecondSignalCancelsUnlessItIsTheFirstOnesEcho(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		drains bool
		at     []time.Duration // of the signals
		want   []string
	}{
		"one signal drains":                           {true, []time.Duration{0}, []string{"drain"}},
		"a second one cancels":                        {true, []time.Duration{0, time.Second}, []string{"drain", "cancel"}},
		"a second one at once is the same":            {true, []time.Duration{0, 0}, []string{"drain"}},
		"all within a second are the same":            {true, []time.Duration{0, time.Millisecond, time.Second - 1}, []string{"drain"}},
		"the one after the echo cancels":              {true, []time.Duration{0, time.Millisecond, 3 * time.Second}, []string{"drain", "cancel"}},
		"without anything to drain the first cancels": {false, []time.Duration{0}, []string{"cancel"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram()
			var got []string
			if c.drains {
				p.onFirstSignal(func() { got = append(got, "drain") })
			}
			began := time.Now()
			for _, after := range c.at {
				p.signalled(began.Add(after))
				if p.ctx.Err() != nil && !slices.Contains(got, "cancel") {
					got = append(got, "cancel")
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("signals at %s: got %v, want %v", fmt.Sprint(c.at), got, c.want)
			}
		})
	}
}
