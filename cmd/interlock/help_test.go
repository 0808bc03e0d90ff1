package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commands lists c and all below it.
func commands(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		out = append(out, commands(sub)...)
	}
	return out
}

func TestEveryCommandOfTheBridgeExplainsItself(t *testing.T) {
	t.Parallel()
	explained := 0
	for _, top := range newProgram().root().Commands() {
		if top.GroupID != "The bridge:" {
			continue
		}
		for _, c := range commands(top) {
			explained++
			if c.Short == "" || c.Long == "" || !strings.Contains(c.Example, c.CommandPath()) {
				t.Errorf("%s: want a short and a long help, and an example of it", c.CommandPath())
			}
			if i := slices.IndexFunc(strings.Split(c.Long, "\n"), func(line string) bool { return cells(line) > 80 }); i >= 0 {
				t.Errorf("%s: line %d of its help is wider than 80 columns", c.CommandPath(), i+1)
			}
		}
	}
	if explained < 30 {
		t.Errorf("only %d commands were looked at", explained)
	}
}

func TestEveryExampleIsACommandLineThatWouldBeTaken(t *testing.T) {
	t.Parallel()
	for _, c := range commands(newProgram().root()) {
		for _, example := range strings.Split(c.Example, "\n") {
			_, line, ours := strings.Cut(example, "interlock ")
			if !ours {
				continue
			}
			taken(t, c.CommandPath(), strings.Split(line, " "))
		}
	}
}

// taken reports whether the command that the words name has these flags and
// takes these arguments.
func taken(t *testing.T, of string, words []string) {
	t.Helper()
	for i := len(words) - 1; i > 0; i-- { // join what stands in quotes
		if strings.HasSuffix(words[i], `"`) && strings.Count(words[i], `"`) == 1 {
			words[i-1] += " " + words[i]
			words = slices.Delete(words, i, i+1)
		}
	}
	for i := range words {
		words[i] = strings.Trim(words[i], `"`)
	}
	c, rest, err := newProgram().root().Find(words)
	if err != nil || !c.Runnable() || c.HasSubCommands() {
		t.Errorf("%s: its example %q is no command", of, words)
		return
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s: its example %q: %v", of, words, err)
		return
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("%s: its example %q: %v", of, words, err)
	}
}
