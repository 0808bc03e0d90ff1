package tally_test

import (
	"maps"
	"sync"
	"testing"

	"interlock/internal/tally"
)

func TestEveryWordIsCountedWhoeverAddsIt(t *testing.T) {
	t.Parallel()
	var c tally.Tally
	if n := len(c.Counts()); n != 0 {
		t.Errorf("a new tally has %d words", n)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { c.Add("ok"); c.Add("refused"); c.Add("ok") })
	}
	wg.Wait()
	before := c.Counts()
	c.Add("ok")
	if want := map[string]int64{"ok": 100, "refused": 50}; !maps.Equal(before, want) {
		t.Errorf("got %v, want %v, and no change to what was read", before, want)
	}
}
