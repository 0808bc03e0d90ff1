package planner_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"interlock/internal/device"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/policy"
	"interlock/internal/tool"
)

// model answers every request in one way and keeps the last.
type model struct {
	decision llm.Decision
	err      error
	asked    llm.Request
}

func (m *model) Decide(_ context.Context, r llm.Request) (llm.Decision, error) {
	m.asked = r
	return m.decision, m.err
}

// R-PLAN-1, R-PLAN-8
func TestPlanAsksOnceAndReturnsTheCall(t *testing.T) {
	t.Parallel()
	m := &model{decision: llm.Decision{Call: call("tap", `{ "ref" : "e2" }`), Usage: llm.Usage{Input: llm.Known(9)}, Provider: "p", Model: "m", ProviderRequestID: "r", StepIndex: 4}}
	p, err := planner.NewAI(m, planner.Options{}).Plan(t.Context(), input())
	if err != nil || p.Call.Tool != "tap" || string(p.Call.Arguments) != `{"ref":"e2"}` || p.Usage != m.decision.Usage ||
		p.Provider != "p" || p.Model != "m" || p.ProviderRequestID != "r" || p.StepIndex != 4 {
		t.Fatalf("got %+v, %v", p, err)
	}
	r := m.asked
	if r.Key != "t1.2.3" || r.TaskID != "t1" || r.Attempt != 2 || r.Timeout != llm.DefaultTimeout || r.Tools != planner.Tools() || r.Image != nil || r.System != planner.SystemPrompt {
		t.Errorf("asked %+v", r)
	}
}

func TestEachPromptHasItsOwnMark(t *testing.T) {
	t.Parallel()
	m := &model{decision: llm.Decision{Call: call("hide_keyboard", `{}`)}}
	ai := planner.NewAI(m, planner.Options{})
	var prompts []string
	for range 2 {
		if _, err := ai.Plan(t.Context(), input()); err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, m.asked.User)
	}
	if prompts[0] == prompts[1] {
		t.Error("the same mark twice")
	}
	m.decision.Call.Tool = ""
	if _, err := planner.NewAI(m, planner.Options{Rand: bytes.NewReader(nil)}).Plan(t.Context(), input()); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("without randomness: %v", err)
	}
}

// R-PLAN-2
func TestTheTimeoutIsTheShorterOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ option, left, want time.Duration }{
		{0, 0, llm.DefaultTimeout}, {20 * time.Second, 0, 20 * time.Second},
		{20 * time.Second, time.Second, time.Second}, {20 * time.Second, time.Hour, 20 * time.Second},
	} {
		m := &model{decision: llm.Decision{Call: call("hide_keyboard", `{}`)}}
		in := input()
		in.Timeout = c.left
		if _, err := planner.NewAI(m, planner.Options{Timeout: c.option}).Plan(t.Context(), in); err != nil || m.asked.Timeout != c.want {
			t.Errorf("%v and %v: got %v, %v", c.option, c.left, m.asked.Timeout, err)
		}
	}
}

func TestAScreenshotIsAttachedWithItsOwnPixels(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 540, 1170))); err != nil {
		t.Fatal(err)
	}
	shot, err := device.NewScreenshot(buf.Bytes(), device.Size{W: 1080, H: 2340}, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{decision: llm.Decision{Call: call("hide_keyboard", `{}`)}}
	in := input()
	in.Scene.Screenshot = shot
	if _, err := planner.NewAI(m, planner.Options{}).Plan(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if m.asked.Image == nil || m.asked.Image.Width != 540 || !strings.Contains(m.asked.User, "screenshot is 540 x 1170 pixels") {
		t.Errorf("asked with %v: %s", m.asked.Image, m.asked.User)
	}
}

// R-PLAN-3, R-PLAN-5
func TestWhatIsNoDecisionIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    model
		want llm.Reason
	}{
		"a typed failure stays as it is":       {model{err: &llm.Unavailable{Reason: llm.RateLimited, RetryAfter: time.Second}}, llm.RateLimited},
		"any other error is a transport fault": {model{err: errors.New("reset")}, llm.Transport},
		"a deadline is a timeout":              {model{err: context.DeadlineExceeded}, llm.Timeout},
		"a tool that was not offered":          {model{decision: llm.Decision{Call: call("shell", `{}`)}}, llm.UnknownTool},
		"arguments that break the schema":      {model{decision: llm.Decision{Call: call("tap", `{"ref":5}`)}}, llm.InvalidArguments},
		"no arguments at all":                  {model{decision: llm.Decision{Call: call("wait", ``)}}, llm.InvalidArguments},
		"the zero decision":                    {model{}, llm.UnknownTool},
	} {
		p, err := planner.NewAI(&c.m, planner.Options{}).Plan(t.Context(), input())
		var u *llm.Unavailable
		if !errors.As(err, &u) || !errors.Is(err, llm.ErrUnavailable) || u.Reason != c.want || p.Call.Tool != "" {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
}

// R-PLAN-6
func TestTheStubOnlyGivesUp(t *testing.T) {
	t.Parallel()
	p, err := planner.NewStub().Plan(t.Context(), input())
	if err != nil || p.Call.Tool != planner.Fail || string(p.Call.Arguments) != `{"reason":"AI planner is off"}` || p.Provider != "stub" || p.Model != "stub" || p.StepIndex != -1 {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := planner.Tools().Check(p.Call.Tool, p.Call.Arguments); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := planner.NewStub().Plan(ended, input()); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// R-RUN-3: the eleven tools of the closed set, each with a risk, and no shell.
func TestTools(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"tap": `{"x":1,"y":2}`, "long_press": `{"ref":"e1","ms":500}`, "swipe": `{"direction":"up"}`,
		"type_text": `{"text":"é🚀","ref":"e1","clear":true,"submit":false}`, "key": `{"key":"back"}`, "hide_keyboard": `{}`,
		"open_app": `{"package":"a.b"}`, "open_url": `{"url":"https://example.com"}`, "wait": `{"ms":200}`,
		"finish": `{"status":"success","summary":"done","evidence":"e4"}`, "fail": `{"reason":"no"}`,
	}
	var names []string
	for _, s := range planner.Tools().Specs() {
		names = append(names, s.Name)
		c, err := planner.Tools().Check(s.Name, []byte(good[s.Name]))
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if _, err := planner.ReadArguments(c); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if planner.RiskOf(s.Name) == "" || s.Description == "" {
			t.Errorf("%s has risk %q", s.Name, planner.RiskOf(s.Name))
		}
	}
	if len(names) != 11 || len(good) != 11 || slices.Contains(names, "shell") || planner.RiskOf("shell") != policy.Risk("") {
		t.Errorf("the tools are %v", names)
	}
	for name, bad := range map[string]string{
		"tap": `{"ref":"e1","why":"x"}`, "swipe": `{"direction":"north"}`, "key": `{"key":"power"}`, "wait": `{"ms":"200"}`,
		"type_text": `{}`, "finish": `{"status":"done","summary":""}`, "hide_keyboard": `{"now":true}`,
	} {
		if _, err := planner.Tools().Check(name, []byte(bad)); err == nil {
			t.Errorf("%s took %s", name, bad)
		}
	}
	if _, err := planner.ReadArguments(call("tap", `{"ref":"e1","why":"x"}`)); err == nil {
		t.Error("an unknown argument was read")
	}
}

// R-PLAN-12: the device tools are published with the program, so they are
// checked with it.
func TestEveryProviderTakesTheTools(t *testing.T) {
	t.Parallel()
	for _, p := range tool.Lint(planner.Tools().Specs()) {
		if p.Severity == tool.Refused {
			t.Error(p)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		`tap e5`:                         {"tap", `{"ref":"e5"}`},
		`tap 10,0`:                       {"tap", `{"x":10,"y":0}`},
		`swipe up e2`:                    {"swipe", `{"ref":"e2","direction":"up"}`},
		`type_text e7 "Ada \"x\" 🚀"`:     {"type_text", `{"text":"Ada \"x\"\n🚀","ref":"e7"}`},
		`wait 500 ms`:                    {"wait", `{"ms":500}`},
		`finish success "Dark theme"`:    {"finish", `{"status":"success","summary":"all done","evidence":"Dark theme"}`},
		`open_app sim.contacts`:          {"open_app", `{"package":"sim.contacts"}`},
		`tap`:                            {"tap", `[`},
		`key back`:                       {"key", `{"key":"back"}`},
		`open_url "https://example.com"`: {"open_url", `{"url":"https://example.com"}`},
	} {
		if got := planner.Describe(call(c[0], c[1])); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
