package planner

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// SystemPrompt is the same for every decision, so that stores and providers
// can keep it once.
//
//go:embed system.txt
var SystemPrompt string

// DefaultWindow is how many past steps a prompt shows.
const DefaultWindow = 8

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

// historyText tells the last steps, a line each. Results quote the screen and
// hold no line break.
func historyText(past []Past, window int) string {
	var b strings.Builder
	if left := len(past) - window; left > 0 {
		fmt.Fprintf(&b, "(%d earlier steps not shown)\n", left)
		past = past[left:]
	}
	for _, p := range past {
		fmt.Fprintf(&b, "step %d: %s -> %s\n", p.Step, Describe(p.Call), p.Result)
	}
	return b.String()
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
