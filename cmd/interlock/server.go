package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"interlock/internal/app"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

func (p *program) serverCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "server", Short: "run the control plane", Args: arguments(),
		Long: `Runs the control plane until it is stopped. The first Ctrl-C stops taking work
and finishes the requests in flight, the second ends at once; nothing that was
answered is lost either way. At its first start with a database it makes the
first API token and shows it once.`,
	}
	p.settingFlags(c, forServer|forProvider)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := p.load(c, forServer|forProvider); err != nil {
			return err
		}
		return p.runServer()
	}
	return c
}

func (p *program) runServer() error {
	s := p.settings
	keep, err := newTokenFile(s.firstTokenFile)
	if err != nil {
		return err
	}
	s.server.Version, s.server.Planner, s.server.Logger = version, s.planner, p.logger()
	config := s.server
	p.warnUnknown(config.Logger)
	server, err := app.NewServer(p.ctx, config)
	if err != nil {
		keep.discard()
		return err
	}
	if err := p.showFirstToken(server.FirstToken(), keep); err != nil {
		return errors.Join(err, server.Close())
	}
	provider, _ := s.planner.Named()
	if provider == "" || !s.planner.Enabled {
		config.Logger.Warn("no provider is set up, so every decide is answered planner_not_configured; set a provider's key and AI_PLANNER_MODEL if hosts are to decide through this server")
	}
	if inTheClear(config) {
		config.Logger.Warn("the server listens beyond this machine without TLS, and hosts and operators send no credential over plain http; set INTERLOCK_TLS_CERT and INTERLOCK_TLS_KEY, or put a proxy with a certificate in front")
	}
	config.Logger.Info("server is running", "operators", server.OperatorsURL(), "hosts", server.HostsURL(),
		"database", config.Database, "provider", provider, "version", version)
	return p.serve(server)
}

// inTheClear reports whether others can reach a door that speaks plain http.
func inTheClear(c app.ServerConfig) bool {
	if c.TLSCert != "" {
		return false
	}
	return slices.ContainsFunc([]string{c.Listen, c.ListenHosts, c.ListenSites, c.ListenOperators}, func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		return err == nil && !loopback(host)
	})
}

// serve runs the server until the first signal has drained it. The second
// signal doesn't wait for that: whatever was answered is on the disk.
func (p *program) serve(server *app.Server) error {
	draining, drain := context.WithCancel(p.ctx)
	defer drain()
	p.onFirstSignal(func() {
		p.settings.server.Logger.Info("server is stopping: it takes no more work and finishes the requests in flight")
		drain()
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(draining) }()
	select {
	case err := <-ended:
		if err == nil {
			p.settings.server.Logger.Info("server has stopped")
		}
		return err
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// showFirstToken is the only time that the first token is seen.
func (p *program) showFirstToken(token secret.String, keep *tokenFile) error {
	switch {
	case token.Empty():
		keep.discard()
		return nil
	case keep != nil:
		return keep.write(token)
	}
	p.notef("\nThe first API token, shown this once (INTERLOCK_TOKEN for the operator's commands):\n\n  %s\n\n", token.Reveal())
	return nil
}

// tokenFile is where the first token goes. It is made before the server is, so
// that no token is made that can't be kept.
type tokenFile struct {
	name string
	file *os.File // nil: it exists already and is left alone
}

// newTokenFile makes the file for its owner only; "" means none.
func newTokenFile(name string) (*tokenFile, error) {
	if name == "" {
		return nil, nil
	}
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		var f *os.File
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return &tokenFile{name, f}, nil
		}
	}
	return nil, fault.New(fault.Invalid, "token_file", "INTERLOCK_FIRST_TOKEN_FILE: the file %s can't be made; choose another place", name).Because(err)
}

func (t *tokenFile) write(token secret.String) error {
	if t.file == nil {
		return fault.New(fault.Conflict, "token_file", "a first API token was made for a new database, and %s is there from an older one; remove that file and the new database, and start again", t.name)
	}
	_, err := t.file.WriteString(token.Reveal() + "\n")
	if err = errors.Join(err, t.file.Sync(), t.file.Close()); err != nil {
		return fault.New(fault.Unavailable, "storage_full", "the first API token can't be written to %s; free some space, remove the new database and start again", t.name).Because(err)
	}
	return nil
}

// discard takes the file back where no token was made.
func (t *tokenFile) discard() {
	if t != nil && t.file != nil {
		t.file.Close()
		os.Remove(t.name)
	}
}
