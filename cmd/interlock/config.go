package main

import "github.com/spf13/cobra"

// configLine is one setting as "interlock config --json" prints it.
type configLine struct {
	Name   string `json:"name"`
	Value  string `json:"value"`  // "[redacted]" for a secret that is set
	Source string `json:"source"` // flag, environment, file or default
	Doc    string `json:"doc"`
}

func (p *program) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "show the settings in force, secrets hidden, and where each came from", Args: arguments()}
	p.settingFlags(c, everywhere)
	c.RunE = func(c *cobra.Command, _ []string) error {
		wrong := p.load(c, everywhere)
		if err := p.printConfig(); err != nil {
			return err
		}
		return wrong
	}
	return c
}

func (p *program) printConfig() error {
	lines := []configLine{}
	t := table{head: []string{"SETTING", "VALUE", "SET BY"}}
	for _, row := range p.settings.table() {
		f, ok := p.settings.found[row.name]
		if !ok {
			continue
		}
		line := configLine{Name: row.name, Value: f.value, Source: f.source, Doc: row.doc}
		switch {
		case f.asFile:
			line.Name += fileSuffix
		case row.secret && f.value != "":
			line.Value = "[redacted]"
		}
		lines = append(lines, line)
		t.add(line.Name, orDash(line.Value), line.Source)
	}
	if p.json {
		return p.printJSON(lines)
	}
	p.print(t, "")
	for _, name := range p.settings.unknown {
		p.notef("note: %s is set in the environment, but is not a setting of this version\n", name)
	}
	return nil
}
