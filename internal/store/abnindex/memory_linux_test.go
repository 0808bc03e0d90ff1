package abnindex

import (
	"os"
	"syscall"
)

// peakMemory is the most that a process had resident, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	return p.SysUsage().(*syscall.Rusage).Maxrss << 10
}
