package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"interlock/internal/app"
	"interlock/internal/runner"
)

// R-RUN-6: the setting reaches the prompt.
func TestTheScenesBudgetIsASetting(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(script, []byte(`{"rules": [
		{"name": "cut", "if": {"prompt": ["more not shown"]}, "call": {"tool": "finish", "arguments": {"status": "infeasible", "summary": "cut"}}},
		{"name": "whole", "if": {"screen": ["Alan Turing"]}, "call": {"tool": "finish", "arguments": {"status": "infeasible", "summary": "whole"}}},
		{"name": "open", "if": {"screen": ["Contacts"]}, "call": {"tool": "open_app", "arguments": {"package": "sim.contacts"}}}
	]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for chars, want := range map[int]string{0: "whole", 200: "cut"} {
		got, err := app.RunTask(t.Context(), app.RunConfig{Task: runner.Task{ID: "t", Attempt: 1, Goal: "look"}, Device: app.DeviceConfig{Kind: app.Sim},
			Planner: app.Planner{Enabled: true, Script: script, SceneChars: chars}})
		if err != nil || got.Summary != want {
			t.Errorf("with %d characters: %+v, %v; want the screen %s", chars, got, err, want)
		}
	}
}
