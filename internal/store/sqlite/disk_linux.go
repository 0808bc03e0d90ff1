package sqlite

import (
	"slices"

	"golang.org/x/sys/unix"
)

// overNetwork reports whether the folder lies on a file system that is known
// to be remote.
func overNetwork(folder string) bool {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return false
	}
	remote := []uint32{unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC}
	return slices.Contains(remote, uint32(s.Type))
}
