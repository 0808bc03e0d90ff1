package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-json-experiment/json"

	"interlock/internal/fault"
	"interlock/internal/wholefile"
)

// maxStateFile bounds what is read back of our own files.
const maxStateFile = 1 << 20

// errStorage is a state folder that can't be written or read.
var errStorage = fault.New(fault.Unavailable, "host_storage", "the host's state folder can't be used; check its disk space and permissions")

// makePrivate makes dir for this user alone, or checks that it is a folder.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errStorage.Because(err)
	}
	return nil
}

// writeState replaces the file at path with v in JSON. The file is 0600 from
// its first byte, and after a crash at any moment it is the old one or the new
// one, whole.
func writeState(path string, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return errStorage.Because(err)
	}
	if err := wholefile.Replace(path, b); err != nil {
		return errStorage.Because(err)
	}
	return nil
}

// removeState removes the file at path for good; that there is none is fine.
func removeState(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errStorage.Because(err)
	}
	return wholefile.SyncFolder(filepath.Dir(path))
}

// readPrivate reads the JSON file at path into v. It refuses a file that
// others may read or that is not a plain file. fs.ErrNotExist is in the chain
// where there is none.
func readPrivate(path string, v any) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return errStorage.Because(err)
	case !info.Mode().IsRegular() || info.Size() > maxStateFile:
		return fault.New(fault.Invalid, "state_file", "%s is not a file that this host wrote; move it away", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return fault.New(fault.Forbidden, "state_file_mode", "%s can be read by other users of this machine; run: chmod 600 %s", path, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return errStorage.Because(err)
	}
	if err := json.Unmarshal(b, v, json.RejectUnknownMembers(true)); err != nil {
		return fault.New(fault.Invalid, "state_file", "%s is damaged; move it away and enroll this host again", path)
	}
	return nil
}
