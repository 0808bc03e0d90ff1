package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/dotenv"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// found is a value that somebody set, or the fallback.
type found struct {
	value  string
	source string // "flag", "environment", "file" or "default"
	asFile bool   // value is the path of the file that holds the secret
}

// layer is one place where settings come from.
type layer struct {
	source string
	values map[string]string
}

// fileSuffix marks the variable that names the file of a secret.
const fileSuffix = "_FILE"

// settingFlags gives c the flags of the settings that it uses.
func (p *program) settingFlags(c *cobra.Command, uses use) {
	for _, row := range p.settings.table() {
		if row.flag == "" || row.uses&uses == 0 {
			continue
		}
		name, doc := row.name, row.doc
		if row.secret {
			name, doc = row.name+fileSuffix, "a `FILE` of mode 0600 with "+row.doc
		}
		if row.fallback != "" {
			doc += ` (default "` + row.fallback + `")`
		}
		c.Flags().String(row.flag, "", doc+" ["+name+"]")
		c.Flags().Lookup(row.flag).Annotations = map[string][]string{settingOf: {name}}
	}
}

// settingOf annotates a flag with the variable that it stands for.
const settingOf = "setting"

// load reads every setting that the uses name, from the strongest place that
// has it: flag, environment, file. Its error lists every problem.
func (p *program) load(c *cobra.Command, uses use) error {
	layers, problems := p.layers(c.Flags())
	s := p.settings
	s.found = map[string]found{}
	take := func(uses use) {
		for _, row := range s.table() {
			if _, done := s.found[row.name]; row.uses&uses == 0 || done {
				continue
			}
			if err := s.take(row, layers); err != nil {
				problems = append(problems, err.Error())
			}
		}
	}
	take(uses)
	if uses&forHost != 0 && s.plansHere() {
		take(forProvider)
	}
	s.derive()
	if len(problems) > 0 {
		return usageError("%s", listed("these settings are wrong:", problems))
	}
	return nil
}

// listed puts several problems one a line, and a single one on the first.
func listed(head string, problems []string) string {
	if len(problems) == 1 {
		return problems[0]
	}
	return head + "\n  " + strings.Join(problems, "\n  ")
}

// layers reads the places, strongest first.
func (p *program) layers(flags *pflag.FlagSet) ([]layer, []string) {
	var problems []string
	byFlag := koanf.New(".")
	byEnv := koanf.New(".")
	changed := func(f *pflag.Flag) (string, any) {
		if name := f.Annotations[settingOf]; len(name) == 1 && f.Changed {
			return name[0], f.Value.String()
		}
		return "", nil
	}
	variables := env.Opt{EnvironFunc: func() []string { return p.environ }}
	if err := errors.Join(
		byFlag.Load(posflag.ProviderWithFlag(flags, ".", byFlag, changed), nil),
		byEnv.Load(env.Provider(".", variables), nil),
	); err != nil {
		problems = append(problems, "the environment can't be read: "+err.Error())
	}
	layers := []layer{{"flag", texts(byFlag)}, {"environment", texts(byEnv)}}
	p.settings.unknown = p.settings.strangers(layers[1].values)

	name := p.file
	if name == "" {
		name = layers[1].values["INTERLOCK_CONFIG"]
	}
	if name == "" {
		return layers, problems
	}
	values, err := readFile(name)
	if err != nil {
		return layers, append(problems, err.Error())
	}
	if err := p.settings.checkMode(name, values); err != nil {
		problems = append(problems, err.Error())
	}
	for _, stranger := range p.settings.strangers(values) {
		problems = append(problems, fmt.Sprintf("%s in the file is not a setting; see: interlock config", stranger))
	}
	return append(layers, layer{"file", values}), problems
}

// readFile reads NAME=value lines.
func readFile(name string) (map[string]string, error) {
	byFile := koanf.New(".")
	switch err := byFile.Load(file.Provider(name), dotenv.Parser()); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the settings file %s does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the settings file %s may not be read by this user", name)
	case err != nil:
		return nil, fmt.Errorf("the settings file %s must hold NAME=value lines (values with spaces or $ in single quotes)", name)
	}
	return texts(byFile), nil
}

// checkMode refuses a settings file that holds a secret and shows it to others.
func (s *settings) checkMode(name string, values map[string]string) error {
	info, err := os.Stat(name)
	if err != nil || runtime.GOOS == "windows" || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	for _, row := range s.table() {
		if row.secret && values[row.name] != "" {
			return fmt.Errorf("the settings file %s holds %s and may be read by others (mode %04o); run: chmod 600 %s", name, row.name, info.Mode().Perm(), name)
		}
	}
	return nil
}

// texts flattens a layer; an empty value counts as not set.
func texts(k *koanf.Koanf) map[string]string {
	out := map[string]string{}
	for name, v := range k.All() {
		if text, ok := v.(string); ok && text != "" {
			out[name] = text
		}
	}
	return out
}

// strangers are names that look like ours and are not.
func (s *settings) strangers(values map[string]string) []string {
	known := map[string]bool{"INTERLOCK_CONFIG": true}
	for _, row := range s.table() {
		known[row.name] = true
		known[row.name+fileSuffix] = known[row.name+fileSuffix] || row.secret
	}
	var out []string
	for name := range values {
		ours := strings.HasPrefix(name, "INTERLOCK_") || strings.HasPrefix(name, "AI_PLANNER_") || strings.HasPrefix(name, "AGENT_LLM_")
		if ours && !known[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// warnUnknown says at a service's start which variables may be misspelt.
func (p *program) warnUnknown(log *slog.Logger) {
	for _, name := range p.settings.unknown {
		log.Warn("a variable looks like a setting and is not one of this version; check its spelling against: interlock config", "variable", name)
	}
}

// take finds the row's value and keeps it. Its error is a whole sentence.
func (s *settings) take(row setting, layers []layer) error {
	f, err := row.find(layers)
	if err != nil {
		return err
	}
	s.found[row.name] = f
	value := f.value
	if f.asFile {
		if value, err = readSecret(f.value); err != nil {
			return fmt.Errorf("%s%s: %w", row.name, fileSuffix, err)
		}
	}
	if value == "" && row.fallback == "" {
		return nil
	}
	if err := row.into(value); err != nil {
		return fmt.Errorf("%s %w (set by %s)", row.name, err, f.source)
	}
	return nil
}

func (row setting) find(layers []layer) (found, error) {
	for _, l := range layers {
		value, plain := l.values[row.name]
		name, asFile := "", false
		if row.secret {
			name, asFile = l.values[row.name+fileSuffix]
		}
		switch {
		case plain && asFile:
			return found{}, fmt.Errorf("%s and %s%s are both set by %s; keep one", row.name, row.name, fileSuffix, l.source)
		case asFile:
			return found{value: name, source: l.source, asFile: true}, nil
		case plain:
			return found{value: value, source: l.source}, nil
		}
	}
	return found{value: row.fallback, source: "default"}, nil
}

// maxSecret bounds the file of a secret, in bytes.
const maxSecret = 64 << 10

// readSecret reads the one secret in a file that only its owner may read.
func readSecret(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the file %s does not exist", name)
	case err != nil || !info.Mode().IsRegular() || info.Size() > maxSecret:
		return "", fmt.Errorf("%s must be a readable file that holds the secret and nothing else", name)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("the file %s may be read by others (mode %04o); run: chmod 600 %s", name, info.Mode().Perm(), name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("the file %s may not be read by this user", name)
	}
	value := strings.TrimSpace(string(b))
	if value == "" {
		return "", fmt.Errorf("the file %s is empty", name)
	}
	return value, nil
}

// derive fills in what follows from other settings.
func (s *settings) derive() {
	for name, path := range map[string]*string{"INTERLOCK_DATABASE": &s.server.Database, "INTERLOCK_ABN_INDEX": &s.server.Bridge.ABN.Index} {
		if rest, ok := strings.CutPrefix(*path, stateDirWord); ok {
			*path = filepath.Join(s.stateDir, rest)
			s.found[name] = found{value: *path, source: "default"}
		}
	}
	s.host.Server, s.host.CAFile = s.serverURL, s.caFile
	s.host.StateDir = filepath.Join(s.stateDir, "host")
	if s.host.Name == "" {
		s.host.Name, _ = os.Hostname()
	}
}

// stateDirWord stands for INTERLOCK_STATE_DIR at the front of a fallback.
const stateDirWord = "STATE_DIR"

// defaultStateDir is the machine's for root, else the user's.
func defaultStateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "interlock")
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		return "/var/lib/interlock"
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "interlock")
	}
	return "interlock-state"
}

// plansHere reports whether decisions are made by a provider client in this
// process and not through the server.
func (s *settings) plansHere() bool { return s.planner.Enabled && !s.planner.Cloud() }
