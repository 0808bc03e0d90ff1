package sqlite

import (
	"errors"
	"io/fs"

	"interlock/internal/store"
)

// fileLock makes this process the only server on a database.
type fileLock struct{ store.Lock }

// takeLock returns store.ErrInUse if another server has the lock.
func takeLock(path string) (fileLock, error) {
	lock, err := store.TakeLock(path)
	var unopened *fs.PathError
	switch {
	case errors.Is(err, store.ErrHeld):
		return fileLock{}, store.ErrInUse
	case errors.As(err, &unopened):
		return fileLock{}, placed(err)
	case err != nil:
		return fileLock{}, store.ErrPlace.Because(err)
	}
	return fileLock{lock}, nil
}

func (l fileLock) release() error { return l.Release() }
