package fleet

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"interlock/internal/fault"
)

// Limits of what a host says of itself.
const (
	MaxDevices     = 256 // of one host
	MaxLabels      = 32  // of one host or device
	maxHostName    = 64
	maxDeviceID    = 128
	maxKind        = 32
	maxDisplayName = 128
	maxLabelName   = 63
	maxLabelValue  = 128
	maxVersion     = 64
	maxSlots       = 1024
	maxKey         = 200
)

const nameChars = "a-z, A-Z, 0-9, '.', '_' and '-'"

// named reports whether s is 1 to limit of nameChars and of extra.
func named(s string, limit int, extra string) bool {
	ok := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-"+extra, c)
	}
	return len(s) >= 1 && len(s) <= limit && strings.IndexFunc(s, func(c rune) bool { return !ok(c) }) < 0
}

// legible reports whether s is at most limit bytes of UTF-8 that a terminal
// and a page can show as they are.
func legible(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}

// LabelProblems says what is wrong with a set of labels, each in words that
// start with whose they are.
func LabelProblems(whose string, labels map[string]string) []string {
	if len(labels) > MaxLabels {
		return []string{fmt.Sprintf("%s has more than %d labels", whose, MaxLabels)}
	}
	var wrong []string
	for name, value := range labels {
		switch {
		case !named(name, maxLabelName, "/"):
			wrong = append(wrong, fmt.Sprintf("%s has a label whose name is not 1 to %d of %s and '/'", whose, maxLabelName, nameChars))
		case !legible(value, maxLabelValue):
			wrong = append(wrong, fmt.Sprintf("label %s of %s is longer than %d bytes or not printable", name, whose, maxLabelValue))
		}
	}
	return wrong
}

func deviceProblems(devices []Device) []string {
	if len(devices) > MaxDevices {
		return []string{fmt.Sprintf("there are more than %d devices", MaxDevices)}
	}
	var wrong []string
	ids := make(map[string]bool, len(devices))
	for i, d := range devices {
		whose := fmt.Sprintf("device %d", i)
		switch {
		case !named(d.ID, maxDeviceID, ":/@"):
			wrong = append(wrong, fmt.Sprintf("%s needs an id of 1 to %d of %s, ':', '/' and '@'", whose, maxDeviceID, nameChars))
		case ids[d.ID]:
			wrong = append(wrong, whose+" has the id of another one")
		}
		ids[d.ID] = true
		if !named(d.Kind, maxKind, "") {
			wrong = append(wrong, fmt.Sprintf("%s needs a kind of 1 to %d of %s", whose, maxKind, nameChars))
		}
		if !legible(d.Name, maxDisplayName) {
			wrong = append(wrong, fmt.Sprintf("the name of %s is longer than %d bytes or not printable", whose, maxDisplayName))
		}
		wrong = append(wrong, LabelProblems(whose, d.Labels)...)
	}
	return wrong
}

func checkNews(n Seen) error {
	wrong := deviceProblems(n.Devices)
	if n.SlotsFree < 0 || n.SlotsFree > maxSlots {
		wrong = append(wrong, fmt.Sprintf("slots_free is not between 0 and %d", maxSlots))
	}
	if !legible(n.Version, maxVersion) {
		wrong = append(wrong, fmt.Sprintf("version is longer than %d bytes or not printable", maxVersion))
	}
	return refusal("invalid_heartbeat", "heartbeat", wrong)
}

// refusal is one Invalid fault that lists at most ten problems, or nil.
func refusal(code, what string, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	rest := ""
	if len(wrong) > 10 {
		wrong, rest = wrong[:10], " and more"
	}
	return fault.New(fault.Invalid, code, "correct the %s: %s%s", what, strings.Join(wrong, "; "), rest)
}
