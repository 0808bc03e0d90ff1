package sqlite

import (
	"errors"
	"io/fs"

	"interlock/internal/store"
)

// takeLock makes this process the only server on a database. It returns
// store.ErrInUse if another server has the lock.
func takeLock(path string) (store.Lock, error) {
	lock, err := store.TakeLock(path)
	var unopened *fs.PathError
	switch {
	case errors.Is(err, store.ErrHeld):
		return store.Lock{}, store.ErrInUse
	case errors.As(err, &unopened):
		return store.Lock{}, placed(err)
	case err != nil:
		return store.Lock{}, store.ErrPlace.Because(err)
	}
	return lock, nil
}
