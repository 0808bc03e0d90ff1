package main

import (
	"fmt"
	"time"
)

// The colours of a terminal, by what they mean here.
const (
	plain  = ""
	good   = "\x1b[32m"
	bad    = "\x1b[31m"
	warn   = "\x1b[33m"
	faint  = "\x1b[2m"
	strong = "\x1b[1m"
)

// paint colours s where the output is a terminal that shows it.
func (p *program) paint(colour, s string) string {
	if !p.outTerminal || colour == plain {
		return s
	}
	return colour + s + "\x1b[0m"
}

// mark is the sign in front of a state.
func (p *program) mark(state string) string {
	switch state {
	case "succeeded":
		return p.paint(good, "✓")
	case "failed", "dead":
		return p.paint(bad, "✗")
	case "cancelled", "cancelling":
		return p.paint(warn, "■")
	default:
		return p.paint(faint, "·")
	}
}

// stepLine is one step on one line.
func (p *program) stepLine(step int, tool, effect, outcome string, took time.Duration) string {
	verdict := p.paint(good, fmt.Sprintf("%-7s", effect))
	if effect != "allow" {
		verdict = p.paint(bad, fmt.Sprintf("%-7s", effect))
	}
	colour := plain
	switch outcome {
	case "turned_down", "stopped":
		colour = warn
	case "device_failed", "unclear":
		colour = bad
	}
	return fmt.Sprintf("  step %-2d  %s  %s %s  %s", step, p.paint(strong, fmt.Sprintf("%-13s", printable(tool))), verdict,
		p.paint(colour, fmt.Sprintf("%-11s", printable(outcome))), p.paint(faint, took.Round(time.Millisecond).String()))
}
