package main

import (
	"errors"

	"github.com/spf13/cobra"

	"interlock/internal/app"
	"interlock/internal/fault"
)

func (p *program) hostCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "host", SuggestionsMinimumDistance: 2,
		Short: "run tasks on this machine's devices; the commands below it run the fleet",
		Long: `Enrolls this machine at the server, once, with a one-use token, and runs tasks
on its devices until it is stopped. The first Ctrl-C finishes what runs, the
second gives it back. The commands below are for operators.`,
	}
	p.settingFlags(c, hostUses|forProvider)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := p.load(c, hostUses); err != nil {
			return err
		}
		return p.runHost()
	}
	c.AddCommand(p.fleetCommands()...)
	return c
}

// hostUses leaves out the provider: load adds it if this host decides directly.
const hostUses = forHost | forPlanning | forTransport | forPhones

func (p *program) runHost() error {
	config := p.settings.host
	config.Version, config.Planner, config.Logger = version, p.settings.planner, p.logger()
	p.warnUnknown(config.Logger)
	h, err := app.NewHost(p.ctx, config, p.settings.enrolToken)
	switch {
	case errors.Is(err, errNotEnrolled):
		return fault.New(fault.Unauthenticated, "host_not_enrolled", "this machine is not enrolled; make a token with: interlock host token create, then run: interlock host --enroll-token-file FILE")
	case err != nil:
		return err
	}
	p.onFirstSignal(func() {
		config.Logger.Info("host is stopping: it takes no more work and finishes what runs; a second signal gives that back now", "host", h.ID())
		h.Drain()
	})
	config.Logger.Info("host is running", "host", h.ID(), "server", config.Server, "devices", len(config.Devices), "transport", config.Planner.Transport)
	if err := h.Run(p.ctx); err != nil {
		return err
	}
	config.Logger.Info("host has stopped", "host", h.ID())
	return nil
}

var errNotEnrolled = fault.New(fault.Unauthenticated, "host_not_enrolled", "")
