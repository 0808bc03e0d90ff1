package host

import (
	"errors"
	"path/filepath"

	"interlock/internal/fault"
	"interlock/internal/filelock"
)

// lockDir keeps every other process out of a state folder: two that rotated
// one credential would look like a copied one, and be revoked. The lock ends
// with unlock or with the process.
func lockDir(dir string) (unlock func(), err error) {
	lock, err := filelock.Take(filepath.Join(dir, "lock"))
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, fault.New(fault.Conflict, "host_running", "another process uses the state folder %s; stop it, or give this host a folder of its own", dir).Because(err)
	case err != nil:
		return nil, errStorage.Because(err)
	}
	return func() { lock.Release() }, nil
}
