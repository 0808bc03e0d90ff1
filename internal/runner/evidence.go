package runner

import (
	"strings"
	"unicode/utf8"

	"interlock/internal/device"
)

// minEvidenceRunes keeps a lone letter, which is on every screen, from
// proving anything.
const minEvidenceRunes = 2

// proven reports whether the evidence that a finish gives is on the screen
// now. It is the ref of an element of the scene that the decision was made on,
// which must still be there and say something, or a text that an element
// shows; case and the amount of space don't matter.
func proven(evidence string, was, now *device.Scene) bool {
	if e, ok := was.Element(strings.TrimSpace(evidence)); ok {
		found, still := now.Find(e)
		return still && (found.Text != "" || found.Label != "") && found.Text == e.Text &&
			found.Flags&(device.Checked|device.Selected) == e.Flags&(device.Checked|device.Selected)
	}
	want := strings.ToLower(device.Clean(evidence, device.MaxTextRunes))
	if utf8.RuneCountInString(want) < minEvidenceRunes {
		return false
	}
	for _, e := range now.Elements {
		if strings.Contains(strings.ToLower(e.Text), want) || strings.Contains(strings.ToLower(e.Label), want) {
			return true
		}
	}
	return false
}
