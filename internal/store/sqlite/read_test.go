package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Readers that each hold a snapshot and then prepare a new query must not wait
// for one another's connections.
func TestReadersThatAllPrepareGoOn(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "interlock.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var all, inside sync.WaitGroup
	inside.Add(cap(s.readers.free))
	for i := range cap(s.readers.free) {
		all.Go(func() {
			err := s.snapshot(t.Context(), func(v view) error {
				var n int
				if err := v.scan("SELECT 1", nil, &n); err != nil { // takes the snapshot's connection for good
					inside.Done()
					return err
				}
				inside.Done()
				inside.Wait()
				return v.scan(fmt.Sprintf("SELECT %d", i+2), nil, &n)
			})
			if err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	all.Wait()
}
