package main

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// What strangers and models wrote can't steer the terminal.
func TestNoControlCharacterReachesTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		}), rapid.StringOf(rapid.RuneFrom(nil, unicode.Bidi_Control))).Draw(t, "text")
		var out strings.Builder
		rows := table{head: []string{"A", "B"}}
		rows.add(text, "end")
		rows.print(&out, "none", 0)
		for _, r := range strings.TrimSuffix(out.String(), "\n") {
			if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%q prints as %q", text, out.String())
			}
		}
		if got := strings.Count(out.String(), "\n"); got != 2 {
			t.Fatalf("%q prints as %d lines, want the head and one row", text, got)
		}
	})
}

func TestColumnsWithoutContentAreDropped(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	rows := table{head: []string{"A", "B", "C"}}
	rows.add("1", "-", "x")
	rows.add("22", "-", "-")
	rows.drop("-")
	rows.print(&out, "none", 0)
	if want := "A   C\n1   x\n22  -\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestAWideCharacterTakesTwoColumnsAndAMarkNone(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	rows := table{head: []string{"A", "B"}}
	rows.add("a🚀漢", "x")
	rows.add("e\u0301", "y")
	rows.print(&out, "none", 0)
	if want := "A      B\na🚀漢  x\ne\u0301      y\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestATableWiderThanTheTerminalIsWrittenACellALine(t *testing.T) {
	t.Parallel()
	rows := table{head: []string{"TASK", "GOAL"}}
	rows.add("1", "turn on dark theme")
	rows.add("2", "")
	for _, c := range []struct {
		terminal int
		want     string
	}{
		{0, "TASK  GOAL\n1     turn on dark theme\n2\n"},
		{24, "TASK  GOAL\n1     turn on dark theme\n2\n"},
		{23, "TASK  1\nGOAL  turn on dark theme\n\nTASK  2\nGOAL\n"},
	} {
		var out strings.Builder
		rows.print(&out, "none", c.terminal)
		if out.String() != c.want {
			t.Errorf("in %d columns: got %q, want %q", c.terminal, out.String(), c.want)
		}
	}
}
