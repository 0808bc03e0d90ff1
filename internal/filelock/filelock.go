// Package filelock is the operating system's lock on a file, by which one
// process of a machine keeps the others out. It goes with its process, however
// that ends, so nothing stale is ever left to be cleared away. Network file
// systems may not keep its promise.
package filelock

import (
	"errors"
	"os"
)

// ErrHeld says that another has the lock.
var ErrHeld = errors.New("the lock is held")

// Lock is a lock that was taken. It stands on a file of its own: what it guards
// may be replaced by another file of its name, and closing any handle of a
// database would drop SQLite's own locks on it.
type Lock struct{ f *os.File }

// Take makes the file, mode 0600, if need be. It returns ErrHeld at once if
// another process has the lock, or whoever else in this one; else the error of
// a file that can't be made.
func Take(path string) (Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Lock{}, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return Lock{}, err
	}
	return Lock{f}, nil
}

// Release lets another in. The file stays: removing it would let two processes
// lock two files of one name.
func (l Lock) Release() error { return l.f.Close() }
