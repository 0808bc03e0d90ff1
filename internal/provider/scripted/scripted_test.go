package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/provider/scripted"
	"interlock/internal/tool"
)

const script = `{
  "about": "turn on the dark theme",
  "rules": [
    {"name": "done", "if": {"screen": ["\"Dark theme\" clickable checked"]},
     "call": {"tool": "finish", "arguments": {"status": "success"}}},
    {"name": "give up", "if": {"prompt_matches": "(?m)^step 9: "}, "call": {"tool": "finish", "arguments": {"status": "infeasible"}}},
    {"name": "switch it", "call": {"tool": "tap", "arguments": {"ref": {"find": "Dark theme", "role": "switch"}}}},
    {"name": "open", "if": {"prompt": ["app sim.home"], "prompt_lacks": ["Airplane"], "screen_lacks": ["Loading"]},
     "call": {"tool": "tap", "arguments": {"ref": {"find": "Settings"}}}},
    {"name": "rehearse a bad proposal", "if": {"screen": ["Broken"]}, "call": {"tool": "tap", "arguments": {"ref": 7}}},
    {"name": "rehearse an unknown tool", "if": {"screen": ["Odd"]}, "call": {"tool": "reboot"}}
  ]
}`

func offered(t *testing.T) *tool.Set {
	t.Helper()
	s, err := tool.NewSet([]tool.Spec{
		{Name: "tap", Parameters: json.RawMessage(`{"type":"object","properties":{"ref":{"type":"string"}},"required":["ref"]}`)},
		{Name: "finish", Parameters: json.RawMessage(`{"type":"object","properties":{"status":{"type":"string"}}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, s string) *scripted.Script {
	t.Helper()
	script, err := scripted.Load(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// R-PLAN-1
func TestTheFirstRuleThatFitsTheScreenMakesTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		want   string // tool and arguments, or the reason of the failure
	}{
		"an element is found by its exact text before one that contains it": {
			"app sim.home\n[e1] button \"Settings and more\" clickable\n[e2] button \"Settings\" clickable\n", `tap {"ref":"e2"}`},
		"else by a part of its text":                          {"app sim.home\n[e1] button \"System Settings\"\n", `tap {"ref":"e1"}`},
		"else by its label":                                   {"app sim.home\n[e4] image label \"Settings\" clickable\n", `tap {"ref":"e4"}`},
		"the role narrows the choice":                         {"[e1] text \"Dark theme\"\n[e2] switch \"Dark theme\" clickable\n", `tap {"ref":"e2"}`},
		"an earlier rule goes first":                          {"[e2] switch \"Dark theme\" clickable checked\n", `finish {"status":"success"}`},
		"a rule reads the history":                            {"step 9: tap e2 -> ok\n[e2] switch \"Dark theme\" clickable\n", `finish {"status":"infeasible"}`},
		"a text that must be away is there":                   {"app sim.home Airplane\n[e2] button \"Settings\"\n", "no_call"},
		"a loading screen":                                    {"app sim.home\n[e1] text \"Loading\"\n[e2] button \"Settings\"\n", "no_call"},
		"the element is not on the screen":                    {"app sim.home\n[e1] button \"Camera\"\n", "no_call"},
		"a text outside an element line is not on the screen": {"app sim.home\nSettings\n", "no_call"},
		"a quoted quote doesn't end a text":                   {"app sim.home\n[e1] button \"a \\\" Settings\"\n", `tap {"ref":"e1"}`},
		"a script's bad arguments are refused like a model's": {"[e1] text \"Broken\"\n", "invalid_arguments"},
		"a script's unknown tool is refused like a model's":   {"[e1] text \"Odd\"\n", "unknown_tool"},
	} {
		d, err := load(t, script).Decide(t.Context(), llm.Request{User: c.prompt, Tools: offered(t)})
		got := d.Call.Tool + " " + string(d.Call.Arguments)
		if err != nil {
			got = string(llm.AsUnavailable(err).Reason)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// R-PLAN-7: nobody can take a rehearsal for a model's decision.
func TestAScriptSaysThatItIsNoModel(t *testing.T) {
	t.Parallel()
	s := load(t, script)
	d, err := s.Decide(t.Context(), llm.Request{User: "[e2] switch \"Dark theme\" clickable\n", Tools: offered(t)})
	if err != nil || d.Provider != "scripted" || d.Model != "scripted (no model)" || d.Usage != (llm.Usage{}) {
		t.Errorf("got %+v, %v", d, err)
	}
	var u *llm.Unavailable
	if _, err := s.Decide(t.Context(), llm.Request{User: "", Tools: offered(t)}); !errors.As(err, &u) || u.Provider != "scripted" || u.Model != "scripted (no model)" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Decide(ctx, llm.Request{Tools: offered(t)}); !errors.As(err, &u) || u.Reason != llm.Cancelled || u.Provider != "scripted" {
		t.Errorf("got %v", err)
	}
}

func TestAWrongScriptIsRefusedWithEveryProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"not JSON":          {`rules:`, "not a JSON document"},
		"an unknown member": {`{"rules":[{"iff":{},"call":{"tool":"tap"}}]}`, "iff"},
		"a member twice":    {`{"rules":[],"rules":[]}`, "not a JSON document"},
		"no rules":          {`{"rules":[]}`, "write 1 to 1000 rules"},
		"no tool":           {`{"rules":[{"name":"first"}]}`, `rule 1 ("first"): name the call's tool`},
		"a bad pattern":     {`{"rules":[{"if":{"prompt_matches":"("},"call":{"tool":"tap"}}]}`, "not a regular expression"},
		"a bad find":        {`{"rules":[{"call":{"tool":"tap","arguments":{"ref":{"fnd":"x"}}}}]}`, `write {"find": text}`},
		"two problems":      {`{"rules":[{},{"name":"second"}]}`, `rule 2 ("second")`},
		"an enormous file":  {strings.Repeat(" ", 1<<20+1), "larger than"},
	} {
		_, err := scripted.Load(strings.NewReader(c.script))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := scripted.Open(t.TempDir() + "/none.json"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a missing file: got %v", err)
	}
}
