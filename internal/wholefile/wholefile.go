// Package wholefile replaces small files so that after a crash at any moment
// each is the old one or the new one, whole, and never seen by another user of
// the machine.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts content in the place of the file at path, which need not be
// there, or be a link to it. It is on the disk when Replace returns. The file
// is 0600 from its first byte.
func Replace(path string, content []byte) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes the names in a folder durable. Windows has no such call.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
