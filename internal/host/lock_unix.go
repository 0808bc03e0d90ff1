//go:build unix

package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the lock on f or fails at once; it ends with the process.
func flock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
