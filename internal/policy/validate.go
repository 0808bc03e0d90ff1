package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"interlock/internal/fault"
)

// Limits of a Document.
const (
	MaxListed    = 256 // entries in each list
	MaxNameBytes = 256 // of each entry and of the revision
)

// Validate reports every problem of doc in one fault of kind Invalid, or nil.
func (doc Document) Validate() error {
	var wrong fault.Problems
	wrong.Require(len(doc.Revision) <= MaxNameBytes && !strings.ContainsFunc(doc.Revision, unprintable), "revision is longer than %d bytes or not printable", MaxNameBytes)
	wrong.Require(doc.MaxRisk == "" || doc.MaxRisk.rank() >= 0, "max_risk is not one of low, medium and high")
	requireNames(&wrong, "allowed_tools", doc.AllowedTools)
	requireNames(&wrong, "allowed_packages", doc.AllowedPackages)
	requireNames(&wrong, "confirm_words", doc.ConfirmWords)
	requireNames(&wrong, "reversible", doc.Reversible)
	requireNames(&wrong, "irreversible", doc.Irreversible)
	return wrong.Refuse("invalid_policy", "the policy")
}

// unprintable reports what would not survive the record of a step, which
// names the revision.
func unprintable(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }

func requireNames(wrong *fault.Problems, name string, list []string) {
	wrong.Require(len(list) <= MaxListed, "%s has more than %d entries", name, MaxListed)
	for i, s := range list[:min(len(list), MaxListed)] {
		wrong.Require(s != "" && len(s) <= MaxNameBytes, "%s[%d] is empty or longer than %d bytes", name, i, MaxNameBytes)
	}
}
