// Package tally counts by word: what a room did, by how it ended. The words are
// a closed list of the room's own, never what a stranger wrote, since each is
// kept for the life of the process and shown in /metrics.
package tally

import (
	"maps"
	"sync"
)

// Tally is a set of counters. The zero value counts nothing yet. It is safe
// for concurrent use.
type Tally struct {
	mu     sync.Mutex
	counts map[string]int64 // guarded by mu
}

// Add counts one of the word.
func (t *Tally) Add(word string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int64{}
	}
	t.counts[word]++
}

// Counts returns how many there were of each word so far.
func (t *Tally) Counts() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}
