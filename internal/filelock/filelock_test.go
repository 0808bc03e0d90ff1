package filelock_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"interlock/internal/filelock"
)

func TestALockHasOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Take(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("the second holder: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	next, err := filelock.Take(path)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	defer next.Release()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v; want none but the owner's", info.Mode(), err)
	}
}

func TestALockThatCannotBeMadeIsNotHeld(t *testing.T) {
	t.Parallel()
	_, err := filelock.Take(filepath.Join(t.TempDir(), "none", "lock"))
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("got %v, want that the folder is not there", err)
	}
}
