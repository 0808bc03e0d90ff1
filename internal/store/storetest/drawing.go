package storetest

import (
	"errors"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// episode is the part of a test that one sequence is: what it cleans up goes
// when the sequence ends, not with the thousands of others.
type episode struct {
	testing.TB
	cleanups []func()
}

func (e *episode) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

func (e *episode) TempDir() string {
	folder, err := os.MkdirTemp("", "storetest")
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

func (e *episode) end() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}

// drawing is a world whose calls rapid draws.
type drawing struct {
	*world
	*rapid.T
}

// Both embedded types can fail a test; rapid's knows how to shrink.
func (d *drawing) Helper()                   { d.T.Helper() }
func (d *drawing) Fatalf(f string, a ...any) { d.T.Fatalf(f, a...) }
func (d *drawing) with(f func()) func(*rapid.T) {
	return func(r *rapid.T) { d.T = r; d.world.TB = failing{d.world.TB, r}; f() }
}

// failing sends the failures of a world's helpers to rapid.
type failing struct {
	testing.TB
	r *rapid.T
}

func (f failing) Helper()                   { f.r.Helper() }
func (f failing) Fatalf(s string, a ...any) { f.r.Fatalf(s, a...) }
func (f failing) Fatal(a ...any)            { f.r.Fatal(a...) }

// sameError wants both to have failed alike, and reports whether they failed.
func (d *drawing) sameError(got, want error) bool {
	d.Helper()
	if (got == nil) != (want == nil) || want != nil && !errors.Is(got, want) {
		d.Fatalf("got error %v, the model says %v", got, want)
	}
	return want != nil
}
