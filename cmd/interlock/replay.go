package main

import (
	"github.com/spf13/cobra"

	"interlock/internal/recording"
	"interlock/internal/runner"
)

func (p *program) replayCommand() *cobra.Command {
	var t localTask
	var texts []string
	c := &cobra.Command{
		Use: "replay FILE", Short: "play a recorded run again, without a model",
		Args: arguments("the file of a recording, made with: interlock run --record FILE"),
		Long: `Does on a device what a recorded run did: the same calls in the same
order, each with its element found anew on the screen that is there now.
Policy and app lock are those of the recording, and everything that guards a
run guards this one. Where the screen is not as it was recorded, it gives up.`,
		Example: `  interlock run --record contact.jsonl "Add the contact Ada"
  interlock replay contact.jsonl --text Ada`,
	}
	p.settingFlags(c, forPlanning|forPhones)
	t.deviceFlags(c)
	c.Flags().StringArrayVar(&texts, "text", nil, "`TEXT` in the place of one that the recording masks, repeatable, in the order of typing")
	c.RunE = func(c *cobra.Command, args []string) error {
		if t.pace < 0 {
			return usageError("--pace can't be below 0; see: %s --help", c.CommandPath())
		}
		if err := p.load(c, forPlanning|forPhones); err != nil {
			return err
		}
		rec, err := recording.Open(args[0])
		if err != nil {
			return err
		}
		if t.script, err = recording.NewPlayer(rec, texts); err != nil {
			return err
		}
		t.task = runner.Task{AppLock: rec.Task.AppLock, Policy: rec.Task.Policy}
		return p.runHere(t, rec.Task.Goal)
	}
	return c
}
