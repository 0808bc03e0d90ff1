package host

import (
	"os"
	"path/filepath"

	"interlock/internal/fault"
)

// lockDir keeps every other process out of a state folder: two that rotated
// one credential would look like a copied one, and be revoked. The lock ends
// with unlock or with the process.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errStorage.Because(err)
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, fault.New(fault.Conflict, "host_running", "another process uses the state folder %s; stop it, or give this host a folder of its own", dir).Because(err)
	}
	return func() { f.Close() }, nil
}
