package host

import (
	"os"

	"golang.org/x/sys/windows"
)

// flock takes the lock on f or fails at once; it ends with the process.
func flock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}
