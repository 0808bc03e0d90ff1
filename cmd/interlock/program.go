package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"interlock/internal/fault"
)

// program is one run of the command line: its streams, its settings and what
// the signals mean to it.
type program struct {
	ctx    context.Context // of the whole run; cancelled with errInterrupted
	cancel context.CancelCauseFunc
	drain  *drain

	in          io.Reader
	out, err    io.Writer
	written     *output // what out writes to
	outTerminal bool    // out is a terminal that shows colours
	outWidth    int     // of the terminal that out is, in columns; 0: it is none
	errTerminal bool
	environ     []string

	json     bool   // --json
	file     string // --config
	settings *settings
}

func newProgram() *program {
	p := &program{in: os.Stdin, written: &output{Writer: os.Stdout}, err: os.Stderr, environ: os.Environ(), settings: &settings{}, drain: &drain{}}
	p.outTerminal, p.errTerminal = showsColour(os.Stdout), showsColour(os.Stderr)
	p.out, p.outWidth = p.written, columns(os.Stdout)
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

func showsColour(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// drain is what the first signal does to a command that can stop gently.
type drain struct {
	mu     sync.Mutex // guards what follows
	gently func()     // nil: nothing drains, so the next signal cancels
	began  time.Time  // when gently was called; zero: not yet
}

// sameSignal is how long after the first signal another one is taken for its
// echo: many a program that stops us signals both the process and its group.
const sameSignal = time.Second

// next returns what a signal that came at a moment asks for; nil: nothing new.
func (d *drain) next(at time.Time, cancel func()) func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch gently := d.gently; {
	case gently != nil:
		d.gently, d.began = nil, at
		return gently
	case !d.began.IsZero() && at.Sub(d.began) < sameSignal:
		return nil
	}
	return cancel
}

// onFirstSignal makes gently the answer to the first signal; the next one that
// is no echo of it then cancels. gently must not block.
func (p *program) onFirstSignal(gently func()) {
	p.drain.mu.Lock()
	defer p.drain.mu.Unlock()
	p.drain.gently = gently
}

// watchSignals is the one reader of signals; the function it returns ends it.
func (p *program) watchSignals() (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
				p.signalled(time.Now())
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		p.cancel(nil)
	}
}

func (p *program) signalled(at time.Time) {
	if act := p.drain.next(at, func() { p.cancel(errInterrupted) }); act != nil {
		act()
	}
}

// execute runs one command line and returns the exit code. A defect of ours
// ends it with one sentence too; the debug level shows where it was.
func (p *program) execute(args []string) (code int) {
	defer func() {
		if defect := recover(); defect != nil {
			code = exitFailed
			fmt.Fprintln(p.err, "interlock: "+ourFault)
			p.logger().Debug("panic", "value", defect, "stack", string(debug.Stack()))
		}
	}()
	root := p.root()
	if i := slices.IndexFunc(args, func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 {
		fmt.Fprintf(p.err, "interlock: argument %d is not text in UTF-8; check the terminal's character set\n", i+1)
		return exitUsage
	}
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(p.ctx)
	if err == nil && p.written.err != nil {
		err = fault.New(fault.Conflict, "output", "the output can't be written; check where it goes, and whether that disk is full").Because(p.written.err)
	}
	if err == nil && !interrupted(p.ctx) {
		return exitOK
	}
	code, sentence := verdict(p.ctx, err)
	if sentence == ourFault {
		p.logger().Debug("failed", "error", err)
	}
	if sentence != "" {
		fmt.Fprintln(p.err, "interlock: "+sentence)
	}
	return code
}

// root is the command without a name, with all others under it.
func (p *program) root() *cobra.Command {
	root := p.group("interlock", "a self-hosted control plane for tool-calling agents: the model proposes, Interlock decides")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return wrongFlag(c, err) })
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON for programs instead of text for people")
	root.PersistentFlags().StringVar(&p.file, "config", "", "read settings from this `FILE` of NAME=value lines (INTERLOCK_CONFIG)")
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Run it:", []*cobra.Command{p.demoCommand(), p.serverCommand(), p.hostCommand(), p.runCommand(), p.replayCommand()}},
		{"Operate it:", []*cobra.Command{p.taskCommand(), p.decisionCommand(), p.usageCommand(), p.auditCommand(), p.tokenCommand(), p.statusCommand()}},
		{"The bridge:", []*cobra.Command{p.tenantCommand(), p.subscriptionCommand(), p.appCommand(), p.quotaCommand(), p.siteCommand(),
			p.credentialCommand(), p.resolutionCommand(), p.callCommand(), p.abnCommand()}},
		{"This machine:", []*cobra.Command{p.doctorCommand(), p.configCommand(), p.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("This machine:")
	root.SetCompletionCommandGroupID("This machine:")
	refuseStrangers(root)
	tidyDefaults(root)
	return root
}

// refuseStrangers has the two commands that come with the library refuse what
// they don't know, as ours do.
func refuseStrangers(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "explain a command"
			c.Args = func(_ *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 && about.HasSubCommands() {
					return unknownCommand(about, args[len(args)-max(1, len(rest))])
				}
				return nil
			}
		case "completion":
			c.Short = "print the script that completes commands in bash, fish, powershell or zsh"
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknownCommand(c, args[0])
				}
				return usageError("%s needs a command: %s", c.CommandPath(), commandNames(c))
			}
		}
	}
}

// tidyDefaults keeps "[]" out of the help of flags that take a list of pairs.
func tidyDefaults(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "[]" && f.Value.Type() == "stringToString" {
			f.DefValue = ""
		}
	})
	for _, sub := range c.Commands() {
		tidyDefaults(sub)
	}
}

// group is a command that only holds others.
func (p *program) group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		if c.HasParent() {
			return usageError("%s needs a command: %s", c.CommandPath(), commandNames(c))
		}
		return c.Help()
	}
	c.AddCommand(commands...)
	return c
}

func commandNames(c *cobra.Command) string {
	names := ""
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += sub.Name()
	}
	return names
}

func unknownCommand(c *cobra.Command, name string) error {
	if near := c.SuggestionsFor(name); len(near) > 0 {
		return usageError("%s has no command %q; did you mean %s?", c.CommandPath(), name, near[0])
	}
	return usageError("%s has no command %q; it has: %s", c.CommandPath(), name, commandNames(c))
}

// arguments checks the number of a command's arguments, named as a person
// would see them in its usage line.
func arguments(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usageError("%s needs %s; see: %s --help", c.CommandPath(), names[len(args)], c.CommandPath())
		case len(args) > len(names):
			return usageError("%s takes %s, and %q is one too many", c.CommandPath(), count(len(names), "argument"), args[len(names)])
		}
		return nil
	}
}
