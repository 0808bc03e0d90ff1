package policy

import (
	"fmt"
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
	var wrong []string
	if len(doc.Revision) > MaxNameBytes || strings.ContainsFunc(doc.Revision, unprintable) {
		wrong = append(wrong, fmt.Sprintf("revision is longer than %d bytes or not printable", MaxNameBytes))
	}
	if doc.MaxRisk != "" && doc.MaxRisk.rank() < 0 {
		wrong = append(wrong, "max_risk is not one of low, medium and high")
	}
	wrong = append(wrong, checkList("allowed_tools", doc.AllowedTools)...)
	wrong = append(wrong, checkList("allowed_packages", doc.AllowedPackages)...)
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_policy", "correct the policy: %s", strings.Join(wrong, "; "))
}

// unprintable reports what would not survive the record of a step, which
// names the revision.
func unprintable(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }

func checkList(name string, list []string) []string {
	var wrong []string
	if len(list) > MaxListed {
		wrong = append(wrong, fmt.Sprintf("%s has more than %d entries", name, MaxListed))
	}
	for i, s := range list[:min(len(list), MaxListed)] {
		if s == "" || len(s) > MaxNameBytes {
			wrong = append(wrong, fmt.Sprintf("%s[%d] is empty or longer than %d bytes", name, i, MaxNameBytes))
		}
	}
	return wrong
}
