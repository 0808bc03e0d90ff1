package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"interlock/internal/device/sim"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/runner"
)

// reader is a model that reads the prompt, as real ones do: each rule says
// what to call when a text is in the prompt.
type reader struct {
	rules   []readRule
	prompts []string
}

type readRule struct {
	when string // a regular expression on the prompt; %s in args is its group
	tool string
	args string
}

func (r *reader) Decide(_ context.Context, q llm.Request) (llm.Decision, error) {
	r.prompts = append(r.prompts, q.User)
	for _, rule := range r.rules {
		if m := regexp.MustCompile(rule.when).FindStringSubmatch(q.User); m != nil {
			args := rule.args
			if len(m) > 1 {
				args = fmt.Sprintf(args, m[1])
			}
			return llm.Accept(q.Tools, llm.Reply{Calls: []llm.RawCall{{Name: rule.tool, Arguments: []byte(args)}}, Provider: "reader",
				Usage: llm.Usage{Input: llm.Known(int64(len(q.User))), Output: llm.Known(5)}})
		}
	}
	return llm.Decision{}, &llm.Unavailable{Reason: llm.NoCall}
}

// R-RUN-1, R-PLAN-8: the demo task from the first prompt to the end.
func TestAWholeTaskThroughItsPrompts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := &reader{rules: []readRule{
		{`\[(e\d+)\] switch "Dark theme" clickable checkable checked`, "finish", `{"status":"success","summary":"added and dark","evidence":"%s"}`},
		{`\[(e\d+)\] switch "Dark theme" clickable checkable\n`, "tap", `{"ref":"%s"}`},
		{`app sim.settings, `, "swipe", `{"direction":"up"}`},
		{`\[(e\d+)\] button "OK"`, "tap", `{"ref":"%s"}`},
		{`gone .*"Contact saved"`, "open_app", `{"package":"sim.settings"}`},
		{`field "Ada Lovelace 🚀"[\s\S]*`, "tap", `{"ref":"e2"}`},
		{`\[(e\d+)\] field label "Name"`, "type_text", `{"ref":"%s","text":"Ada Lovelace 🚀"}`},
		{`\[(e\d+)\] button "New contact"`, "tap", `{"ref":"%s"}`},
		{`app sim.home, `, "open_app", `{"package":"sim.contacts"}`},
	}}
	var log bytes.Buffer
	w.opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.opts.Planner = planner.NewAI(model, planner.Options{})
	w.task.Goal, w.task.AppLock = sim.DemoGoal, sim.DemoApps()
	w.task.Policy = policy.Document{Revision: "r1", MaxRisk: policy.Medium}

	got := runner.New(w.opts).Run(t.Context(), w.task)
	w.ends(got, runner.Succeeded, "")
	if got.Steps != 9 || got.Summary != "added and dark" || !got.Acted || got.Unmetered != 0 || !w.phone.DarkTheme() || w.phone.Names()[0] != "Ada Lovelace 🚀" {
		t.Errorf("got %+v, dark %v, names %v", got, w.phone.DarkTheme(), w.phone.Names())
	}
	if len(w.host.events) != 9 || len(w.host.permits) != 8 || w.host.events[8].Outcome != runner.Ended || w.host.events[8].Step != 9 {
		t.Errorf("%d events, %d permits, last %+v", len(w.host.events), len(w.host.permits), w.host.events[len(w.host.events)-1])
	}
	if n, _ := got.Usage.Output.Get(); n != 45 {
		t.Errorf("output %d", n)
	}
	last := model.prompts[len(model.prompts)-1]
	if !strings.Contains(last, "step 8: tap e") || !strings.Contains(last, `-> ok, screen changed: "Dark theme" is now checked`) {
		t.Errorf("the last prompt is %s", last)
	}
	for _, private := range []string{"Ada", "Lovelace", "added and dark", "Dark theme", "sim.contacts"} {
		if strings.Contains(log.String(), private) {
			t.Errorf("the log holds %q: %s", private, log.String())
		}
	}
}

// R-PLAN-6
func TestTheStubEndsATaskAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Planner = planner.NewStub()
	got := runner.New(w.opts).Run(t.Context(), w.task)
	w.ends(got, runner.Failed, "gave_up")
	if got.Summary != "AI planner is off" || len(w.host.events) != 1 || w.host.events[0].Provider != "stub" {
		t.Errorf("got %+v, events %+v", got, w.host.events)
	}
}

// R-RUN-1: what ends a task that the model itself ends.
func TestTheModelEndsATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moves   []move
		state   runner.State
		reason  string
		summary string
	}{
		"success with the text on the screen":       {[]move{finish("contacts")}, runner.Succeeded, "", "done"},
		"success with a ref on the screen":          {[]move{finishOn("Contacts")}, runner.Succeeded, "", "done"},
		"infeasible needs no evidence":              {[]move{propose("finish", `{"status":"infeasible","summary":"no such app"}`)}, runner.Infeasible, "", "no such app"},
		"giving up":                                 {[]move{propose("fail", `{"reason":"I am lost"}`)}, runner.Failed, "gave_up", "I am lost"},
		"a claim corrected once told":               {[]move{finish("Ada"), finish("Contacts")}, runner.Succeeded, "", "done"},
		"a claim that nothing shows, twice":         {[]move{finish("Ada"), finish("Ada")}, runner.Unverified, "no_evidence", "done"},
		"no evidence at all, twice":                 {[]move{finish(""), finish("")}, runner.Unverified, "no_evidence", "done"},
		"a lone letter proves nothing":              {[]move{finish("C"), finish("o")}, runner.Unverified, "no_evidence", "done"},
		"an action between two claims is no excuse": {[]move{finish("Ada"), open(sim.Settings), finish("Ada")}, runner.Unverified, "no_evidence", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got := w.play(c.moves...)
			w.ends(got, c.state, c.reason)
			if got.Summary != c.summary {
				t.Errorf("summary %q", got.Summary)
			}
		})
	}
}

// R-PLAN-5: no decision ends the attempt at once, and for each reason alike.
func TestNoDecisionEndsTheAttempt(t *testing.T) {
	t.Parallel()
	for _, reason := range llm.Reasons {
		w := newWorld(t)
		u := &llm.Unavailable{Reason: reason, RetryAfter: 7, Usage: llm.Usage{Input: llm.Known(50)}}
		got := w.play(open(sim.Settings), noDecision(u), open(sim.Contacts))
		switch reason {
		case llm.Cancelled:
			w.ends(got, runner.Cancelled, "")
		case llm.LeaseLost:
			w.ends(got, runner.LeaseLost, "")
		default:
			w.ends(got, runner.Failed, reason.TaskReason())
			if got.RetryAfter != 7 {
				t.Errorf("%s: retry after %v", reason, got.RetryAfter)
			}
		}
		if n, _ := got.Usage.Input.Get(); len(w.seen) != 2 || len(w.phone.Done()) != 1 || n != 150 || got.Unmetered != 1 {
			t.Errorf("%s: asked %d times, acted %d, usage %v, unmetered %d", reason, len(w.seen), len(w.phone.Done()), got.Usage, got.Unmetered)
		}
	}
}

// R-RUN-3, R-GOV-2
func TestThePolicyIsAskedBeforeTheDeviceIsTouched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		doc  policy.Document
		lock []string
		bad  move
		rule string
	}{
		"a tool that is not allowed":            {policy.Document{AllowedTools: []string{"open_app"}}, nil, on("tap", "Contacts"), "tool_allow_list"},
		"a risk above the ceiling":              {policy.Document{MaxRisk: policy.Low}, nil, on("tap", "Contacts"), "risk_ceiling"},
		"an app that the policy does not name":  {policy.Document{AllowedPackages: []string{sim.Contacts}}, nil, open(sim.Settings), "allowed_packages"},
		"a tap in an app that it does not name": {policy.Document{AllowedPackages: []string{sim.Contacts}}, nil, on("tap", "Settings"), "allowed_packages"},
		"an app outside the lock":               {policy.Document{}, []string{sim.Home, sim.Contacts}, open(sim.Settings), "app_lock"},
		"an address that may open any app":      {policy.Document{}, []string{sim.Home, sim.Contacts}, propose("open_url", `{"url":"https://example.com"}`), "app_lock"},
		"a bad target does not hide a bad tool": {policy.Document{AllowedTools: []string{"open_app"}}, nil, propose("tap", `{"ref":"e99"}`), "tool_allow_list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task.Policy, w.task.AppLock = c.doc, c.lock
			w.task.Policy.Revision = "r5"
			got := w.play(c.bad, open(sim.Contacts))
			w.ends(got, runner.Failed, "gave_up")
			first := w.host.events[0]
			if first.Outcome != runner.TurnedDown || first.Detail != "policy_denied" || first.Verdict.Effect != policy.Deny || first.Verdict.Rule != c.rule || first.Verdict.Revision != "r5" {
				t.Errorf("event %+v", first)
			}
			if len(w.phone.Done()) != 1 || !strings.Contains(w.seen[1].Refusal, c.rule) || w.seen[2].Refusal != "" {
				t.Errorf("done %v, told %q then %q", w.phone.Done(), w.seen[1].Refusal, w.seen[2].Refusal)
			}
			got = w.fresh().play(c.bad, c.bad, c.bad)
			if got.State != runner.Failed || got.Reason != "policy_denied" || got.Acted {
				t.Errorf("denied three times: %+v", got)
			}
		})
	}
}

// An app lock refuses what acts in another app, and lets the task leave it.
func TestALockedTaskCanLeaveAForeignApp(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]move{
		"by the home key":           propose("key", `{"key":"home"}`),
		"by going back":             propose("key", `{"key":"back"}`),
		"by opening an app it may":  open(sim.Contacts),
		"by giving up":              propose("fail", `{"reason":"lost"}`),
		"by waiting for it to pass": propose("wait", `{"ms":100}`),
	} {
		w := newWorld(t)
		w.task.AppLock = []string{sim.Home, sim.Contacts}
		w.play(on("tap", "Settings"), on("tap", "Wi-Fi"), way)
		if e := w.host.events; e[0].Outcome != runner.Done || e[1].Verdict.Rule != "app_lock" || e[2].Outcome == runner.TurnedDown {
			t.Errorf("%s: events %+v", name, e)
		}
	}
}

// fresh is the same task in a new world.
func (w *world) fresh() *world {
	f := newWorld(w.T)
	f.task = w.task
	return f
}

// R-RUN-6: a model that knows a password from the goal may not type it, so it
// is in no event, prompt or history.
func TestAPasswordIsNotTypedWithoutAPerson(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]move{
		"by its ref":          on("type_text", "PIN", "text", "canary"),
		"into what has focus": propose("type_text", `{"text":"canary"}`),
	} {
		w := newWorld(t)
		got := w.play(open(sim.Settings), propose("swipe", `{"direction":"up"}`), on("tap", "Screen lock"), on("tap", "PIN"), typed, typed, typed)
		w.ends(got, runner.Failed, "policy_denied")
		e := w.host.events[4]
		if e.Verdict.Effect != policy.Confirm || e.Verdict.Rule != "password_field" || e.Outcome != runner.TurnedDown {
			t.Errorf("%s: event %+v", name, e)
		}
		for _, in := range w.seen {
			if prompt := planner.UserPrompt(in, "m", planner.DefaultSceneBudget, planner.DefaultWindow); strings.Contains(prompt, "canary") || in.Scene.Secure && in.Scene.Screenshot != nil {
				t.Errorf("%s: the prompt holds it: %s", name, prompt)
			}
		}
		if all := fmt.Sprintf("%+v %+v %+v", w.host.events, w.host.permits, got); strings.Contains(all, "canary") {
			t.Errorf("%s: recorded %s", name, all)
		}
	}
}

// R-RUN-1: proposals out of bounds are told to the model, twice a step.
func TestWhatCannotBeBoundIsTurnedDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad  move
		code string
	}{
		"a ref that is not there":           {propose("tap", `{"ref":"e77"}`), "unknown_ref"},
		"a ref and a point":                 {propose("tap", `{"ref":"e2","x":1,"y":1}`), "bad_target"},
		"half a point":                      {propose("tap", `{"x":1}`), "bad_target"},
		"a ref and half a point":            {propose("tap", `{"ref":"e2","y":1}`), "bad_target"},
		"nothing to tap":                    {propose("tap", `{}`), "bad_target"},
		"a point off the screen":            {propose("tap", `{"x":1080,"y":1}`), "out_of_bounds"},
		"a negative point":                  {propose("tap", `{"x":-1,"y":1}`), "out_of_bounds"},
		"a press that is too long":          {propose("long_press", `{"x":1,"y":1,"ms":60000}`), "out_of_range"},
		"a wait that is too long":           {propose("wait", `{"ms":9999999999}`), "out_of_range"},
		"a negative wait":                   {propose("wait", `{"ms":-1}`), "out_of_range"},
		"text into a button":                {on("type_text", "Contacts", "text", "x"), "no_field"},
		"text into nothing":                 {propose("type_text", `{"text":"x"}`), "no_field"},
		"no keyboard to hide":               {propose("hide_keyboard", `{}`), "no_keyboard"},
		"a package that is a command":       {propose("open_app", `{"package":"a.b; reboot"}`), "bad_package"},
		"an app that is not there":          {propose("open_app", `{"package":"com.example.none"}`), "device_refused"},
		"an address of a file":              {propose("open_url", `{"url":"file:///etc/passwd"}`), "bad_url"},
		"an address with a user name":       {propose("open_url", `{"url":"https://a:b@example.com"}`), "bad_url"},
		"an address of a script":            {propose("open_url", `{"url":"javascript:alert(1)"}`), "bad_url"},
		"arguments that are not the tool's": {propose("tap", `{"reff":"e1"}`), "invalid_arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got := w.play(c.bad, c.bad, open(sim.Settings), c.bad)
			w.ends(got, runner.Failed, "gave_up")
			if w.host.events[0].Detail != c.code || len(w.phone.Done()) != 1 || !got.Acted || got.Steps != 2 {
				t.Errorf("event %+v, done %v, %+v", w.host.events[0], w.phone.Done(), got)
			}
			w = newWorld(t)
			w.ends(w.play(c.bad, c.bad, c.bad, open(sim.Settings)), runner.Failed, c.code)
			if len(w.phone.Done()) != 0 {
				t.Errorf("done %v", w.phone.Done())
			}
		})
	}
}

func TestATaskHasFiveSecondChances(t *testing.T) {
	t.Parallel()
	bad := propose("tap", `{"ref":"e77"}`)
	w := newWorld(t)
	got := w.play(bad, bad, open(sim.Settings), bad, bad, open(sim.Contacts), bad, open(sim.Settings), bad, open(sim.Contacts))
	w.ends(got, runner.Failed, "unknown_ref")
	if got.Steps != 3 || len(w.host.events) != 9 {
		t.Errorf("%d steps, %d events", got.Steps, len(w.host.events))
	}
	steps := []int{}
	for _, e := range w.host.events {
		steps = append(steps, e.Step)
	}
	if want := []int{1, 1, 1, 2, 2, 2, 3, 3, 4}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
}

func TestATaskNeedsAGoal(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"", " \n", strings.Repeat("x", runner.MaxGoalRunes+1)} {
		w := newWorld(t)
		w.task.Goal = goal
		w.ends(w.play(), runner.Failed, "invalid_task")
	}
}

// What the model was shown and what is permitted are named by one hash.
func TestThePermissionNamesTheExactProposal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := propose("key", `{"key":"home"}`)
	w.play(on("tap", "Settings"), home, on("tap", "Settings"), home, on("tap", "Contacts"))
	hashes := map[string]int{}
	for _, p := range w.host.permits {
		hashes[p.ActionHash]++
	}
	if len(w.host.permits) != 5 || len(hashes) != 3 || len(w.host.permits[0].ActionHash) != 64 {
		t.Errorf("permits %+v", w.host.permits)
	}
}
