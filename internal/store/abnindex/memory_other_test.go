//go:build !linux

package abnindex

import "os"

// peakMemory is 0 where no system call tells it in bytes.
func peakMemory(*os.ProcessState) int64 { return 0 }
