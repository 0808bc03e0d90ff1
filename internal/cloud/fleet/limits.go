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
// name whose they are.
func LabelProblems(whose string, labels map[string]string) (wrong fault.Problems) {
	if len(labels) > MaxLabels {
		wrong.Add("%s has more than %d labels", whose, MaxLabels)
		return wrong
	}
	for name, value := range labels {
		if !named(name, maxLabelName, "/") {
			wrong.Add("%s has a label whose name is not 1 to %d of %s and '/'", whose, maxLabelName, nameChars)
			continue
		}
		wrong.Require(legible(value, maxLabelValue), "label %s of %s is longer than %d bytes or not printable", name, whose, maxLabelValue)
	}
	return wrong
}

func deviceProblems(devices []Device) (wrong fault.Problems) {
	if len(devices) > MaxDevices {
		wrong.Add("there are more than %d devices", MaxDevices)
		return wrong
	}
	ids := make(map[string]bool, len(devices))
	for i, d := range devices {
		whose := fmt.Sprintf("device %d", i)
		wrong.Require(named(d.ID, maxDeviceID, ":/@"), "%s needs an id of 1 to %d of %s, ':', '/' and '@'", whose, maxDeviceID, nameChars)
		wrong.Require(!ids[d.ID], "%s has the id of another one", whose)
		ids[d.ID] = true
		wrong.Require(named(d.Kind, maxKind, ""), "%s needs a kind of 1 to %d of %s", whose, maxKind, nameChars)
		wrong.Require(legible(d.Name, maxDisplayName), "the name of %s is longer than %d bytes or not printable", whose, maxDisplayName)
		wrong = append(wrong, LabelProblems(whose, d.Labels)...)
	}
	return wrong
}

func checkNews(n Seen) error {
	wrong := deviceProblems(n.Devices)
	wrong.Require(n.SlotsFree >= 0 && n.SlotsFree <= maxSlots, "slots_free is not between 0 and %d", maxSlots)
	requireVersion(&wrong, n.Version)
	return wrong.Refuse("invalid_heartbeat", "the heartbeat")
}

func requireVersion(wrong *fault.Problems, version string) {
	wrong.Require(legible(version, maxVersion), "version is longer than %d bytes or not printable", maxVersion)
}
