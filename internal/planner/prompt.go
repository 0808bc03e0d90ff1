package planner

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"interlock/internal/device"
)

// SystemPrompt is the same for every decision, so that stores and providers
// can keep it once.
//
//go:embed system.txt
var SystemPrompt string

// DefaultWindow is how many past steps a prompt tells in full. Older ones take
// a few words each.
const DefaultWindow = 5

// Bounds of the history.
const (
	maxOlder = 40 // steps told in a few words; what is before is counted
	maxFresh = 12 // refs of what the last step brought up
)

// UserPrompt builds the prompt of one decision. mark makes the fences of this
// prompt unlike any other's; if it occurs in what came from the phone, it is
// lengthened until it does not. The same arguments give the same prompt.
func UserPrompt(in Input, mark string, sceneBudget, window int) string {
	history := historyText(in.History, window)
	scene := SceneText(&in.Scene, sceneBudget)
	mark = unused(mark, history, scene)

	var b strings.Builder
	fmt.Fprintf(&b, "Goal: %s\n\n", strings.TrimSpace(in.Goal))
	fmt.Fprintf(&b, "Step %d of at most %d.\n", in.Step, in.Steps)
	b.WriteString(appsLine(in.Apps))
	b.WriteString(deviceLine(in))
	if history != "" {
		b.WriteString("\nWhat you have done so far:\n")
		fence(&b, "history", mark, history)
	}
	b.WriteString("\nThe screen now:\n")
	fence(&b, "screen", mark, scene)
	for _, note := range []string{in.Refusal, in.Warning} {
		if note != "" {
			fmt.Fprintf(&b, "\n%s\n", note)
		}
	}
	return b.String()
}

func appsLine(apps []string) string {
	switch {
	case apps == nil:
		return ""
	case len(apps) == 0:
		return "You may act in no app.\n"
	}
	return "You may act only in these apps: " + strings.Join(apps, ", ") + ".\n"
}

// deviceLine says in which pixels x and y count. The model is told nothing
// more of the phone than its kind.
func deviceLine(in Input) string {
	if shot := in.Scene.Screenshot; shot != nil {
		size := shot.Transform.Image
		return fmt.Sprintf("Phone: %s. The attached screenshot is %d x %d pixels; x and y count its pixels.\n", in.Device.Platform, size.W, size.H)
	}
	size := in.Scene.Size
	return fmt.Sprintf("Phone: %s. There is no screenshot; x and y count the screen's %d x %d pixels.\n", in.Device.Platform, size.W, size.H)
}

// historyText tells the steps so far, a line each: the last ones in full, the
// last of all with the refs of what it brought up, since only those are of the
// screen now. Results quote the screen and hold no line break.
func historyText(past []Past, window int) string {
	var b strings.Builder
	if left := len(past) - window - maxOlder; left > 0 {
		fmt.Fprintf(&b, "(%d earlier steps not shown)\n", left)
		past = past[left:]
	}
	for i, p := range past {
		switch left := len(past) - i; {
		case left > window:
			fmt.Fprintf(&b, "step %d: %s -> %s\n", p.Step, brief(p), changed(p.Changed))
		case left > 1:
			fmt.Fprintf(&b, "step %d: %s -> %s\n", p.Step, Describe(p.Call), p.Result)
		default:
			fmt.Fprintf(&b, "step %d: %s -> %s%s\n", p.Step, Describe(p.Call), p.Result, freshText(p.Fresh))
		}
	}
	return b.String()
}

// maxBriefRunes bounds what is told of an older step's call.
const maxBriefRunes = 40

func brief(p Past) string { return device.Cut(Describe(p.Call), maxBriefRunes) }

func changed(yes bool) string {
	if yes {
		return "screen changed"
	}
	return "screen unchanged"
}

func freshText(refs []string) string {
	if len(refs) == 0 {
		return ""
	}
	text := "; see " + strings.Join(refs[:min(len(refs), maxFresh)], " ")
	if more := len(refs) - maxFresh; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// fence encloses text, which ends with a line break.
func fence(b *strings.Builder, name, mark, text string) {
	fmt.Fprintf(b, "<<<%s %s\n%s>>>%s %s\n", name, mark, text, name, mark)
}

// newMark draws 64 bits.
func newMark(r io.Reader) (string, error) {
	var bits [8]byte
	if _, err := io.ReadFull(r, bits[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(bits[:]), nil
}

// unused lengthens mark until no text contains it.
func unused(mark string, texts ...string) string {
	for {
		found := false
		for _, t := range texts {
			found = found || strings.Contains(t, mark)
		}
		if !found {
			return mark
		}
		mark += "x"
	}
}
