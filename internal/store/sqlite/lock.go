package sqlite

import (
	"errors"
	"os"

	"interlock/internal/store"
)

// errHeld says that somebody else holds the lock.
var errHeld = errors.New("the lock is held")

// fileLock is the operating system's lock that one server holds on a database.
// It goes with the process, however that ends. It stands on a file of its own,
// because closing any handle of the database would drop SQLite's own locks.
type fileLock struct{ f *os.File }

// takeLock returns store.ErrInUse if another server has it.
func takeLock(path string) (fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fileLock{}, placed(err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		if errors.Is(err, errHeld) {
			return fileLock{}, store.ErrInUse
		}
		return fileLock{}, store.ErrPlace.Because(err)
	}
	return fileLock{f}, nil
}

// release lets another server in. The file stays: removing it would let two
// servers lock two files of one name.
func (l fileLock) release() error { return l.f.Close() }
