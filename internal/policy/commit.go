package policy

import "slices"

// Class says whether what a call does can be taken back.
type Class string

// The classes.
const (
	Reversible   Class = "reversible"   // surely, or done again without harm
	Unclassified Class = "unclassified" // nobody has said; it counts as a commit
	Irreversible Class = "irreversible" // somebody has said that it can't
)

// Commits reports whether a call of the class counts as one that can't be
// taken back.
func (c Class) Commits() bool { return c != Reversible }

// Classify says what is known of a call. The operator's list of irreversible
// tools goes first, and what touches something that is named by a confirm word;
// then the operator's list of reversible ones, then what the tool's owner knows.
func Classify(doc Document, f Facts) Class {
	_, named := doc.confirmWord(f.Names)
	switch {
	case named || slices.Contains(doc.Irreversible, f.Tool):
		return Irreversible
	case f.Reversible || slices.Contains(doc.Reversible, f.Tool):
		return Reversible
	}
	return Unclassified
}
