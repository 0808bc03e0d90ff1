package credential

import "io/fs"

// ours leaves the question to the access list of the file's folder: a mode says
// nothing here.
func ours(fs.FileInfo) bool { return true }
