//go:build unix

package credential

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether the file belongs to the user that this process acts as.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
