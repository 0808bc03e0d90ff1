package scripted

import (
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/fault"
)

// Limits of a script.
const (
	maxScriptBytes = 1 << 20
	maxRules       = 1000
)

type document struct {
	About string `json:"about"`
	Rules []rule `json:"rules"`
}

type rule struct {
	Name string     `json:"name"`
	If   conditions `json:"if"`
	Call struct {
		Tool      string                    `json:"tool"`
		Arguments map[string]jsontext.Value `json:"arguments"`
	} `json:"call"`

	finds map[string]find // by argument; set by check
}

type conditions struct {
	Screen        []string `json:"screen"`
	ScreenLacks   []string `json:"screen_lacks"`
	Prompt        []string `json:"prompt"`
	PromptLacks   []string `json:"prompt_lacks"`
	PromptMatches string   `json:"prompt_matches"`

	pattern *regexp.Regexp // nil: none; set by check
}

// find names an element by what it shows.
type find struct {
	Find string `json:"find"`
	Role string `json:"role"`
}

// Open reads the script at path.
func Open(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_script", "the script %q can't be opened; check the path", path).Because(err)
	}
	defer f.Close()
	return Load(f)
}

// Load reads a script. The error is a fault.Invalid that lists every problem
// of the rules at once.
func Load(r io.Reader) (*Script, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxScriptBytes+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_script", "the script can't be read").Because(err)
	}
	if len(b) > maxScriptBytes {
		return nil, fault.New(fault.Invalid, "invalid_script", "the script is larger than %d bytes; shorten it", maxScriptBytes)
	}
	var d document
	if err := json.Unmarshal(b, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fault.New(fault.Invalid, "invalid_script", "the script is not a JSON document with known members: %s", err)
	}
	if len(d.Rules) == 0 || len(d.Rules) > maxRules {
		return nil, fault.New(fault.Invalid, "invalid_script", "write 1 to %d rules; the script has %d", maxRules, len(d.Rules))
	}
	var wrong fault.Problems
	for i := range d.Rules {
		if err := d.Rules[i].check(); err != nil {
			wrong.Add("rule %d (%.80q): %s", i+1, d.Rules[i].Name, err)
		}
	}
	if err := wrong.Refuse("invalid_script", "the script"); err != nil {
		return nil, err
	}
	return &Script{rules: d.Rules}, nil
}

// check completes the rule, or says what is wrong with it.
func (r *rule) check() error {
	if r.Call.Tool == "" {
		return fmt.Errorf("name the call's tool")
	}
	if p := r.If.PromptMatches; p != "" {
		pattern, err := regexp.Compile(p)
		if err != nil {
			return fmt.Errorf("prompt_matches is not a regular expression: %w", err)
		}
		r.If.pattern = pattern
	}
	r.finds = map[string]find{}
	for name, value := range r.Call.Arguments {
		if value.Kind() != '{' {
			continue
		}
		var f find
		if err := json.Unmarshal(value, &f, json.RejectUnknownMembers(true)); err != nil || f.Find == "" {
			return fmt.Errorf(`argument %.80q: write {"find": text}, with a role if need be`, name)
		}
		r.finds[name] = f
	}
	return nil
}
