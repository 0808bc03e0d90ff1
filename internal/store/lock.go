package store

import (
	"errors"
	"os"
)

// ErrHeld says that another process has the lock.
var ErrHeld = errors.New("the lock is held")

// Lock is the operating system's lock on a file, which goes with the process
// however that ends. It stands on a file of its own, because closing any
// handle of a database would drop SQLite's own locks on it.
type Lock struct{ f *os.File }

// TakeLock makes the file if need be. It returns ErrHeld at once if another
// process has the lock, or whoever else in this one.
func TakeLock(path string) (Lock, error) {
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

// Release lets another process in. The file stays: removing it would let two
// processes lock two files of one name.
func (l Lock) Release() error { return l.f.Close() }
