//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is the width of the terminal that f is; 0: it is none.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
