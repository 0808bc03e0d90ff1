package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"interlock/internal/app"
	"interlock/internal/fault"
	"interlock/internal/serve/operators"
)

// finding is what one check of the doctor found.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, note (something is absent that not everybody needs) or problem
	Detail string `json:"detail"`
	Do     string `json:"do,omitzero"` // how to get it
}

// The statuses.
const (
	fine      = "ok"
	worthNote = "note"
	trouble   = "problem"
)

func (p *program) doctorCommand() *cobra.Command {
	var online bool
	c := &cobra.Command{Use: "doctor", Short: "say what is missing on this machine and how to get it; exit code 1 if there is a problem", Args: arguments()}
	p.settingFlags(c, everywhere)
	c.Flags().BoolVar(&online, "online", false, "also connect to the provider's address; no key or prompt is sent")
	c.RunE = func(c *cobra.Command, _ []string) error {
		wrong := p.load(c, everywhere)
		found := []finding{checkSettings(wrong)}
		if wrong == nil {
			found = append(found, p.examine(online)...)
		}
		if err := p.printFindings(found); err != nil {
			return err
		}
		for _, f := range found {
			if f.Status == trouble {
				return errReported
			}
		}
		return nil
	}
	return c
}

func checkSettings(wrong error) finding {
	if wrong != nil {
		return finding{"settings", trouble, fault.Of(wrong).Detail, "correct them where they are set; interlock config shows where"}
	}
	return finding{"settings", fine, "all values can be used", ""}
}

// examine makes every check that needs the settings.
func (p *program) examine(online bool) []finding {
	s := p.settings
	found := []finding{
		checkFolder("state folder", s.stateDir),
		checkFolder("database folder", filepath.Dir(s.server.Database)),
		checkPort(s.server.Listen, s.server.TLSCert != ""),
		checkProvider(s.planner),
	}
	if online {
		found = append(found, checkReach(p.ctx, s.planner))
	}
	found = append(found, p.checkServer(), checkDevices(s.host.Devices), checkPhones(p.ctx, s.host.ADBServer))
	for _, name := range s.unknown {
		found = append(found, finding{"environment", worthNote, name + " is set and is not a setting of this version", "check its spelling against: interlock config"})
	}
	return found
}

// checkFolder proves that files can be made in dir, or in what will hold it.
func checkFolder(what, dir string) finding {
	there := dir
	for {
		if _, err := os.Stat(there); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parent := filepath.Dir(there)
		if parent == there {
			break
		}
		there = parent
	}
	probe, err := os.CreateTemp(there, ".interlock-doctor-*")
	if err != nil {
		return finding{what, trouble, dir + " can't be written by this user", "choose another one with INTERLOCK_STATE_DIR or INTERLOCK_DATABASE, or make it writable"}
	}
	probe.Close()
	os.Remove(probe.Name())
	if there != dir {
		return finding{what, fine, dir + " will be made", ""}
	}
	return finding{what, fine, dir, ""}
}

func checkPort(address string, secure bool) finding {
	l, err := net.Listen("tcp", address)
	if err == nil {
		l.Close()
		return finding{"port", fine, address + " is free", ""}
	}
	if secure {
		return finding{"port", worthNote, "something uses " + address + "; with a certificate it can't be told whether that is this server", ""}
	}
	client := http.Client{Timeout: 2 * time.Second}
	if reply, err := client.Get("http://" + address + "/healthz"); err == nil {
		defer reply.Body.Close()
		io.Copy(io.Discard, io.LimitReader(reply.Body, 1<<10))
		if reply.StatusCode == http.StatusOK {
			return finding{"port", fine, "a server runs on " + address, ""}
		}
	}
	return finding{"port", trouble, "another program has " + address + ", or this user may not use it", "choose another one with INTERLOCK_LISTEN"}
}

func checkProvider(planner app.Planner) finding {
	name, err := planner.Named()
	if err == nil {
		_, err = planner.Caller()
	}
	switch {
	case err != nil:
		return finding{"provider", trouble, fault.Of(err).Detail, ""}
	case !planner.Enabled:
		return finding{"provider", worthNote, "the AI planner is off (AI_PLANNER_ENABLED)", "set AI_PLANNER_ENABLED=1 to plan with a model"}
	case name == "":
		return finding{"provider", worthNote, "no model's provider is set up; interlock demo rehearses without one", "set ANTHROPIC_API_KEY or OPENAI_API_KEY (or its _FILE), and AI_PLANNER_MODEL"}
	case name == app.Scripted:
		return finding{"provider", fine, "scripted: a rehearsal without a model", ""}
	}
	return finding{"provider", fine, name + ", model " + planner.Model, ""}
}

// checkReach connects to the provider's address and says nothing there.
func checkReach(ctx context.Context, planner app.Planner) finding {
	address, secure := planner.Address()
	if address == "" {
		return finding{"provider's address", worthNote, "there is none to reach", ""}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var d interface {
		DialContext(context.Context, string, string) (net.Conn, error)
	} = &net.Dialer{}
	if secure {
		d = &tls.Dialer{}
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return finding{"provider's address", trouble, address + " can't be reached", "check the network, the proxy and AI_PLANNER_BASE_URL"}
	}
	conn.Close()
	return finding{"provider's address", fine, address + " answers", ""}
}

// checkServer asks the server that the operator's commands would ask.
func (p *program) checkServer() finding {
	const what = "server"
	cl, err := p.client()
	if err != nil {
		return finding{what, worthNote, "the operator's commands can't be used: " + fault.Of(err).Detail, ""}
	}
	var status operators.Status
	switch err := cl.get(p.ctx, operators.PathStatus, url.Values{}, &status); {
	case fault.KindOf(err) == fault.Unavailable:
		return finding{what, worthNote, "there is none at " + cl.base, "start it with: interlock server"}
	case err != nil:
		return finding{what, trouble, fault.Of(err).Detail, ""}
	}
	return finding{what, fine, fmt.Sprintf("%s runs version %s", cl.base, status.Version), ""}
}

func checkDevices(devices []app.DeviceConfig) finding {
	const what = "devices"
	var names []string
	for _, d := range devices {
		if err := app.CheckDevice(d.Kind); err != nil {
			return finding{what, trouble, d.ID + " can't be driven: " + fault.Of(err).Detail, ""}
		}
		words := d.ID
		if d.ID == "" {
			words = "every phone that adb lists"
		}
		if d.Kind == app.Sim {
			words += " (simulated)"
		}
		names = append(names, words)
	}
	return finding{what, fine, strings.Join(names, ", ") + "; nothing else is needed", ""}
}

// checkPhones says which Android phones could be driven, and what those want
// that can't be.
func checkPhones(ctx context.Context, server string) finding {
	const what = "Android phones"
	phones, err := app.AndroidPhones(ctx, server)
	switch f := fault.Of(err); {
	case err != nil && f.Code == "device_missing":
		return finding{what, worthNote, "none can be driven: " + f.Detail, ""}
	case err != nil:
		return finding{what, worthNote, "no adb server runs at " + server, "connect a phone and see: adb devices"}
	case len(phones) == 0:
		return finding{what, worthNote, "none is connected", "allow USB debugging on one, connect it and see: adb devices"}
	}
	status, do := fine, ""
	var names []string
	for _, l := range phones {
		name := printable(l.Serial) + " is ready"
		if !l.Ready() {
			name = printable(l.Serial) + " is " + printable(l.State)
			status, do = worthNote, "allow this computer on the phone's screen, or connect it anew"
		}
		names = append(names, name)
	}
	return finding{what, status, strings.Join(names, ", "), do}
}

func (p *program) printFindings(found []finding) error {
	if p.json {
		return p.printJSON(found)
	}
	for _, f := range found {
		sign := p.paint(good, "✓")
		switch f.Status {
		case worthNote:
			sign = p.paint(warn, "·")
		case trouble:
			sign = p.paint(bad, "✗")
		}
		p.printf("%s %-18s %s\n", sign, f.Check, f.Detail)
		if f.Do != "" {
			p.printf("  %-18s %s\n", "", p.paint(faint, "→ "+f.Do))
		}
	}
	return nil
}
