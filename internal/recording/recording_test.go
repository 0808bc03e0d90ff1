package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"interlock/internal/device"
	"interlock/internal/device/sim"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/recording"
	"interlock/internal/runner"
	"interlock/internal/tool"
)

// script is a planner that makes the calls in order; a ref is written as the
// text or label of its element.
type script [][2]string

func (s script) Plan(_ context.Context, in planner.Input) (planner.Proposal, error) {
	if in.Ordinal >= len(s) {
		return planner.Proposal{}, &llm.Unavailable{Reason: llm.NoCall}
	}
	args := s[in.Ordinal][1]
	for _, e := range in.Scene.Elements {
		for _, name := range []string{e.Text, e.Label} {
			if name != "" {
				args = strings.ReplaceAll(args, `"ref":"`+name+`"`, `"ref":"`+e.Ref+`"`)
			}
		}
	}
	return planner.Proposal{Call: tool.Call{Tool: s[in.Ordinal][0], Arguments: json.RawMessage(args)}, Provider: "script", Model: "script", StepIndex: -1}, nil
}

// free is a host that permits everything and tells a recorder.
type free struct{ step func(runner.StepEvent) }

func (free) Permit(context.Context, runner.Permission) error { return nil }

func (f free) Record(_ context.Context, e runner.StepEvent) error {
	f.step(e)
	return nil
}

// addAda adds a contact.
var addAda = script{
	{"open_app", `{"package":"sim.contacts"}`},
	{"tap", `{"ref":"New contact"}`},
	{"hide_keyboard", `{}`}, // turned down: none is shown
	{"type_text", `{"ref":"Name","text":"Ada Lovelace"}`},
	{"type_text", `{"ref":"Phone","text":"555 0199"}`},
	{"tap", `{"ref":"Save"}`},
	{"tap", `{"ref":"OK"}`},
	{"tap", `{"ref":"Ada Lovelace"}`},
	{"finish", `{"status":"success","summary":"Ada Lovelace is there, call 555 0199 or ada@example.org","evidence":"Ada Lovelace"}`},
}

const goal = "Add Ada Lovelace, ada@example.org"

// record runs s on a new phone and returns the file, and how the run ended.
func record(t *testing.T, s script, o recording.Options) (path string, got runner.Result) {
	t.Helper()
	task := runner.Task{ID: "t", Attempt: 1, Goal: goal, AppLock: sim.DemoApps()}
	r := recording.New(task, o)
	phone := sim.New(sim.Options{Screenshots: o.Images})
	got = runner.New(runner.Options{Driver: phone, Planner: r.Planner(s), Host: free{r.Step}}).Run(t.Context(), task)
	path = filepath.Join(t.TempDir(), "run.jsonl")
	if err := r.Save(path, got); err != nil {
		t.Fatal(err)
	}
	return path, got
}

// play plays the file on phone.
func play(t *testing.T, path string, phone *sim.Phone, texts ...string) runner.Result {
	t.Helper()
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := recording.NewPlayer(rec, texts)
	if err != nil {
		t.Fatal(err)
	}
	return runner.New(runner.Options{Driver: phone, Planner: p, Host: free{func(runner.StepEvent) {}}}).
		Run(t.Context(), runner.Task{ID: "t", Attempt: 1, Goal: rec.Task.Goal, AppLock: rec.Task.AppLock, Policy: rec.Task.Policy})
}

// R-RUN-1: a run is saved and played again without a model, masked or not.
func TestARunIsRecordedAndPlayedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  recording.Options
		texts []string
		name  string // of the contact that playing adds
	}{
		"masked, with the same texts": {recording.Options{}, []string{"Ada Lovelace", "555 0199"}, "Ada Lovelace"},
		"masked, with others":         {recording.Options{}, []string{"Ada Byron", "555 0000"}, "Ada Byron"},
		"unmasked":                    {recording.Options{Unmasked: true}, nil, "Ada Lovelace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, recorded := record(t, addAda, c.opts)
			if recorded.State != runner.Succeeded || recorded.Steps != 8 {
				t.Fatalf("the run ended as %+v", recorded)
			}
			phone := sim.New(sim.Options{})
			got := play(t, path, phone, c.texts...)
			if got.State != runner.Succeeded || got.Steps != 8 || !slices.Contains(phone.Names(), c.name) || len(phone.Names()) != 21 {
				t.Errorf("played as %+v, contacts %v", got, phone.Names())
			}
		})
	}
}

// R-RUN-6: what was typed, what fields hold, addresses and numbers are in no
// masked recording; everything is in one that is not.
func TestAMaskedRecordingTellsNothingPersonal(t *testing.T) {
	t.Parallel()
	read := func(o recording.Options) string {
		path, _ := record(t, addAda, o)
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	masked, plain := read(recording.Options{}), read(recording.Options{Unmasked: true})
	for _, personal := range []string{"Ada Lovelace", "555 0199", "555 0100", "ada@example.org"} {
		if strings.Contains(masked, personal) {
			t.Errorf("%q is in the masked recording", personal)
		}
		if personal != "555 0100" && !strings.Contains(plain, personal) {
			t.Errorf("%q is not in the plain one", personal)
		}
	}
	for _, mark := range []string{"‹text 1›", "‹text 2›", "‹email›"} {
		if !strings.Contains(masked, mark) || strings.Contains(plain, mark) {
			t.Errorf("%s: in the masked recording %v, in the plain one %v", mark, strings.Contains(masked, mark), strings.Contains(plain, mark))
		}
	}
	if n := strings.Count(masked, "\n"); n != 11 {
		t.Errorf("%d lines, want the task, nine turns and the end", n)
	}
	if strings.Contains(masked, "image") {
		t.Error("a picture is named")
	}
}

// R-RUN-6: a password that a model proposes is kept nowhere, and pictures only
// where they were asked for.
func TestAPasswordIsInNoRecording(t *testing.T) {
	t.Parallel()
	path, got := record(t, script{
		{"open_app", `{"package":"sim.settings"}`}, {"swipe", `{"direction":"up"}`}, {"tap", `{"ref":"Screen lock"}`},
		{"type_text", `{"ref":"PIN","text":"canary-pin"}`}, {"fail", `{"reason":"no"}`},
	}, recording.Options{Unmasked: true, Images: true})
	content, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(content), "canary") || !strings.Contains(string(content), "‹not kept›") {
		t.Errorf("after %+v: %v, %s", got, err, content)
	}
	pictures, err := os.ReadDir(path + ".images")
	if err != nil || len(pictures) == 0 {
		t.Errorf("pictures %v, %v", pictures, err)
	}
}

// R-RUN-4: a player gives up where the screen is not as it was recorded.
func TestAPlayerGivesUpOnAnotherScreen(t *testing.T) {
	t.Parallel()
	point := script{{"tap", `{"x":540,"y":290}`}, {"finish", `{"status":"infeasible","summary":"s"}`}}
	short := script{{"open_app", `{"package":"sim.contacts"}`}}
	for name, c := range map[string]struct {
		script  script
		trouble sim.Trouble // from the first look on
		state   runner.State
		summary string // a part of it
	}{
		"the same":                       {addAda, "", runner.Succeeded, ""},
		"moved down":                     {addAda, sim.Banner, runner.Succeeded, ""},
		"twins":                          {script{{"tap", `{"ref":"Contacts"}`}}, sim.Twin, runner.Failed, "step 1: no button of the screen is the one that was recorded"},
		"look-alikes":                    {script{{"tap", `{"ref":"Contacts"}`}}, sim.LookAlike, runner.Failed, "step 1: no button"},
		"a dialog":                       {script{{"tap", `{"ref":"Contacts"}`}}, sim.Call, runner.Failed, "step 1: no button"},
		"a bare point on the same":       {point, "", runner.Infeasible, "s"},
		"a bare point on another":        {point, sim.Banner, runner.Failed, "touches a bare point"},
		"a recording that was not ended": {short, "", runner.Failed, "the recording ends here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, _ := record(t, c.script, recording.Options{Unmasked: true})
			phone := sim.New(sim.Options{})
			if c.trouble != "" {
				phone.Inject(sim.Fault{At: sim.AtObserve, Do: c.trouble})
			}
			got := play(t, path, phone)
			if got.State != c.state || !strings.Contains(got.Summary, c.summary) || phone.Tricked() != 0 {
				t.Errorf("played as %+v, tricked %d times", got, phone.Tricked())
			}
		})
	}
}

// What is read is bounded and strict.
func TestAFileThatIsNoRecording(t *testing.T) {
	t.Parallel()
	path, _ := record(t, addAda, recording.Options{})
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n")
	for name, content := range map[string]string{
		"empty":                    "",
		"one line":                 lines[0],
		"not JSON":                 "x\ny\n",
		"cut in a turn":            string(good[:len(good)/2]),
		"without its end":          strings.Join(lines[:len(lines)-2], ""),
		"another version":          strings.Replace(string(good), "recording/1", "recording/2", 1),
		"a member that nobody has": strings.Replace(string(good), `{"step"`, `{"x":1,"step"`, 1),
		"a member twice":           strings.Replace(string(good), `{"step":1`, `{"step":1,"step":1`, 1),
		"a policy that is none":    strings.Replace(string(good), `"policy":{"revision":""`, `"policy":{"revision":"","max_risk":"huge"`, 1),
		"more elements than any":   strings.Replace(string(good), `"elements":[`, `"elements":[`+strings.Repeat(`{"role":"x","bounds":[0,0,1,1]},`, device.MaxElements), 1),
	} {
		bad := filepath.Join(t.TempDir(), "bad.jsonl")
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := recording.Open(bad); !errors.Is(err, recording.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := recording.Open(filepath.Join(t.TempDir(), "none")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no file: got %v", err)
	}
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recording.NewPlayer(rec, []string{"one"}); fault.Of(err).Code != "recording_texts" {
		t.Errorf("one text for two: got %v", err)
	}
}
