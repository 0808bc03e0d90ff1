package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/fault"
	"interlock/internal/policy"
)

// R-GOV-2, R-RUN-3
func TestEvaluate(t *testing.T) {
	t.Parallel()
	tap := policy.Facts{Tool: "tap", Risk: policy.Medium, Reach: policy.ReachApp, App: "a.b"}
	with := func(f func(*policy.Facts)) policy.Facts { g := tap; f(&g); return g }
	for name, c := range map[string]struct {
		doc    policy.Document
		facts  policy.Facts
		effect policy.Effect
		rule   string
	}{
		"the zero policy allows a tap":             {policy.Document{}, tap, policy.Allow, "default"},
		"a listed tool":                            {policy.Document{AllowedTools: []string{"tap"}}, tap, policy.Allow, "default"},
		"a tool that is not listed":                {policy.Document{AllowedTools: []string{"swipe"}}, tap, policy.Deny, "tool_allow_list"},
		"names are compared as they are":           {policy.Document{AllowedTools: []string{"Tap", "tap "}}, tap, policy.Deny, "tool_allow_list"},
		"ending the task is always possible":       {policy.Document{AllowedTools: []string{"tap"}, AllowedPackages: []string{"x.y"}}, policy.Facts{Tool: "fail", Risk: policy.Low, Ends: true, Reach: policy.ReachNothing, AppLock: []string{"x.y"}}, policy.Allow, "default"},
		"at the risk ceiling":                      {policy.Document{MaxRisk: policy.Medium}, tap, policy.Allow, "default"},
		"above the risk ceiling":                   {policy.Document{MaxRisk: policy.Low}, tap, policy.Deny, "risk_ceiling"},
		"an unknown risk":                          {policy.Document{}, with(func(f *policy.Facts) { f.Risk = "extreme" }), policy.Deny, "risk_ceiling"},
		"no risk":                                  {policy.Document{}, with(func(f *policy.Facts) { f.Risk = "" }), policy.Deny, "risk_ceiling"},
		"an unknown ceiling":                       {policy.Document{MaxRisk: "LOW"}, tap, policy.Deny, "risk_ceiling"},
		"an allowed package":                       {policy.Document{AllowedPackages: []string{"x.y", "a.b"}}, tap, policy.Allow, "default"},
		"another package":                          {policy.Document{AllowedPackages: []string{"a.bc", "a"}}, tap, policy.Deny, "allowed_packages"},
		"a package that can't be told":             {policy.Document{AllowedPackages: []string{"a.b"}}, with(func(f *policy.Facts) { f.Reach, f.App = policy.ReachAnywhere, "a.b" }), policy.Deny, "allowed_packages"},
		"no reach is not a known one":              {policy.Document{AllowedPackages: []string{"a.b"}}, with(func(f *policy.Facts) { f.Reach = "" }), policy.Deny, "allowed_packages"},
		"an unnamed app":                           {policy.Document{AllowedPackages: []string{"a.b"}}, with(func(f *policy.Facts) { f.App = "" }), policy.Deny, "allowed_packages"},
		"waiting reaches nothing":                  {policy.Document{AllowedPackages: []string{"x.y"}}, with(func(f *policy.Facts) { f.Reach = policy.ReachNothing }), policy.Allow, "default"},
		"outside the app lock":                     {policy.Document{}, with(func(f *policy.Facts) { f.AppLock = []string{"x.y"} }), policy.Deny, "app_lock"},
		"a lock does not widen the policy":         {policy.Document{AllowedPackages: []string{"x.y"}}, with(func(f *policy.Facts) { f.AppLock = []string{"a.b"} }), policy.Deny, "allowed_packages"},
		"a password field wants a person":          {policy.Document{}, with(func(f *policy.Facts) { f.PasswordField = true }), policy.Confirm, "password_field"},
		"a tool that wants a person's answer":      {policy.Document{}, with(func(f *policy.Facts) { f.Confirm = true }), policy.Confirm, "confirmation"},
		"what pays wants a person":                 {policy.Document{}, with(func(f *policy.Facts) { f.Names = []string{"", "Pay now"} }), policy.Confirm, "confirm_words"},
		"a list of one's own replaces ours":        {policy.Document{ConfirmWords: []string{"launch"}}, with(func(f *policy.Facts) { f.Names = []string{"Pay now"} }), policy.Allow, "default"},
		"and is kept":                              {policy.Document{ConfirmWords: []string{"launch"}}, with(func(f *policy.Facts) { f.Names = []string{"Launch it"} }), policy.Confirm, "confirm_words"},
		"an empty list asks for nobody":            {policy.Document{ConfirmWords: []string{}}, with(func(f *policy.Facts) { f.Names = []string{"Pay now"} }), policy.Allow, "default"},
		"deny beats confirm":                       {policy.Document{MaxRisk: policy.Low}, with(func(f *policy.Facts) { f.PasswordField = true }), policy.Deny, "risk_ceiling"},
		"of several denials the first rule counts": {policy.Document{MaxRisk: policy.Low, AllowedTools: []string{"x"}, AllowedPackages: []string{"x.y"}}, tap, policy.Deny, "tool_allow_list"},
	} {
		c.doc.Revision = "r7"
		v := policy.Evaluate(c.doc, c.facts)
		if v.Effect != c.effect || v.Rule != c.rule || v.Revision != "r7" || v.Reason == "" || v.Allows() != (c.effect == policy.Allow) {
			t.Errorf("%s: got %+v, want %s by %s", name, v, c.effect, c.rule)
		}
	}
}

func facts(t *rapid.T) policy.Facts {
	name := rapid.SampledFrom([]string{"tap", "swipe", "fail", "", "x"})
	app := rapid.SampledFrom([]string{"a.b", "c.d", ""})
	return policy.Facts{
		Tool: name.Draw(t, "tool"), Risk: rapid.SampledFrom([]policy.Risk{policy.Low, policy.Medium, policy.High, "", "x"}).Draw(t, "risk"),
		Ends: rapid.Bool().Draw(t, "ends"), App: app.Draw(t, "app"),
		Reach:   rapid.SampledFrom([]policy.Reach{policy.ReachNothing, policy.ReachApp, policy.ReachAnywhere, ""}).Draw(t, "reach"),
		AppLock: rapid.SliceOfN(app, 0, 2).Draw(t, "lock"), PasswordField: rapid.Bool().Draw(t, "password"), Confirm: rapid.Bool().Draw(t, "confirm"),
	}
}

func document(t *rapid.T) policy.Document {
	return policy.Document{
		Revision:        rapid.StringN(0, 3, -1).Draw(t, "revision"),
		AllowedTools:    rapid.SliceOfN(rapid.SampledFrom([]string{"tap", "swipe"}), 0, 2).Draw(t, "tools"),
		MaxRisk:         rapid.SampledFrom([]policy.Risk{"", policy.Low, policy.Medium, policy.High}).Draw(t, "max"),
		AllowedPackages: rapid.SliceOfN(rapid.SampledFrom([]string{"a.b", "c.d"}), 0, 2).Draw(t, "packages"),
	}
}

// The naive model: say what must hold for a call to be allowed.
func TestEvaluateAgreesWithAModel(t *testing.T) {
	t.Parallel()
	rank := map[policy.Risk]int{policy.Low: 1, policy.Medium: 2, policy.High: 3}
	rapid.Check(t, func(t *rapid.T) {
		doc, f := document(t), facts(t)
		ceiling := 3
		if doc.MaxRisk != "" {
			ceiling = rank[doc.MaxRisk]
		}
		inside := func(list []string) bool {
			return len(list) == 0 || f.Reach == policy.ReachNothing || (f.Reach == policy.ReachApp && slices.Contains(list, f.App))
		}
		permitted := rank[f.Risk] > 0 && rank[f.Risk] <= ceiling &&
			(f.Ends || len(doc.AllowedTools) == 0 || slices.Contains(doc.AllowedTools, f.Tool)) &&
			inside(doc.AllowedPackages) && inside(f.AppLock)
		want := policy.Deny
		switch {
		case permitted && (f.PasswordField || f.Confirm):
			want = policy.Confirm
		case permitted:
			want = policy.Allow
		}
		got := policy.Evaluate(doc, f)
		if got.Effect != want || got != policy.Evaluate(doc, f) {
			t.Fatalf("%+v %+v: got %+v, want %s", doc, f, got, want)
		}
	})
}

func TestALowerCeilingNeverAllowsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, f := document(t), facts(t)
		doc.MaxRisk = policy.Low
		low := policy.Evaluate(doc, f)
		doc.MaxRisk = policy.High
		if high := policy.Evaluate(doc, f); low.Allows() && !high.Allows() {
			t.Fatalf("low allows and high says %+v", high)
		}
	})
}

func TestARevisionIsFitForARecord(t *testing.T) {
	t.Parallel()
	for revision, fit := range map[string]bool{"": true, "r7": true, "2026-11-30 é": true, "a\nb": false, "a\x00": false, "\xff": false, "\u200b": false} {
		if err := (policy.Document{Revision: revision}).Validate(); (err == nil) != fit {
			t.Errorf("%q: %v, want fit=%v", revision, err, fit)
		}
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	t.Parallel()
	if err := (policy.Document{Revision: "1", AllowedTools: []string{"tap"}, MaxRisk: policy.High}).Validate(); err != nil {
		t.Errorf("a good policy: %v", err)
	}
	err := policy.Document{
		Revision: strings.Repeat("r", 300), MaxRisk: "enormous",
		AllowedTools: []string{"tap", ""}, AllowedPackages: make([]string, policy.MaxListed+1),
	}.Validate()
	if fault.KindOf(err) != fault.Invalid {
		t.Fatalf("got %v", err)
	}
	var f *fault.Error
	errors.As(err, &f)
	for _, want := range []string{"revision is longer", "max_risk", "allowed_tools[1]", "allowed_packages has more than 256"} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("%q lacks %q", f.Detail, want)
		}
	}
}
