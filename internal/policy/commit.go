package policy

import "slices"

// Commits reports whether a call counts as one that can't be taken back. It
// does if what it touches is named by one of the document's confirm words.
// Else it does not if the document lists its tool as reversible, or the
// caller's facts say that this call is. What nobody has classified counts.
func Commits(doc Document, f Facts) bool {
	if _, named := doc.confirmWord(f.Names); named {
		return true
	}
	return !f.Reversible && !slices.Contains(doc.Reversible, f.Tool)
}
