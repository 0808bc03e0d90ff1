package sqlite

import (
	"errors"
	"io/fs"

	"interlock/internal/filelock"
	"interlock/internal/store"
)

// takeLock makes this process the only server on a database. It returns
// store.ErrInUse if another server has the lock.
func takeLock(path string) (filelock.Lock, error) {
	lock, err := filelock.Take(path)
	var unopened *fs.PathError
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return filelock.Lock{}, store.ErrInUse
	case errors.As(err, &unopened):
		return filelock.Lock{}, placed(err)
	case err != nil:
		return filelock.Lock{}, store.ErrPlace.Because(err)
	}
	return lock, nil
}
