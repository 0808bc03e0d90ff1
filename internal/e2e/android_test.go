package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"interlock/internal/app"
	"interlock/internal/device/android/adbdtest"
	"interlock/internal/logtest"
	"interlock/internal/runner"
	"interlock/internal/serve/operators"
)

// noteScript writes a note on the phone.
func noteScript(t *testing.T) string {
	t.Helper()
	script := map[string]any{"about": "writes a note on a phone", "rules": []rule{
		on([]string{"\"Ada 🚀\"", "\"New note\"", "\"Milk\""}, nil, "finish", map[string]any{"status": "success", "summary": "The note is there.", "evidence": "Ada 🚀"}),
		on([]string{"\"Ada 🚀\"", "\"Save\""}, nil, "tap", map[string]any{"ref": named("Save", "button")}),
		on([]string{"\"Save\""}, nil, "type_text", map[string]any{"ref": named("Title", "field"), "text": "Ada 🚀", "clear": true}),
		on([]string{"\"Milk\""}, nil, "tap", map[string]any{"ref": named("New note", "button")}),
		on(nil, []string{"\"Milk\""}, "open_app", map[string]any{"package": adbdtest.Notes}),
	}}
	b, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var noteSteps = []string{"open_app", "tap", "type_text", "tap", "finish"}

// R-RUN-1, R-RUN-2: one task on a phone behind a real adb server, decided here.
func TestATaskIsDoneOnAPhoneOverADB(t *testing.T) {
	t.Parallel()
	adb, phone := adbdtest.StartServer(t), adbdtest.New(t, adbdtest.Options{Pasting: true})
	adb.Connect(t, phone)
	var steps []string
	result, err := app.RunTask(t.Context(), app.RunConfig{
		Task:    runner.Task{ID: "local", Attempt: 1, Goal: "Write a note", AppLock: []string{adbdtest.Launcher, adbdtest.Notes}},
		Device:  app.DeviceConfig{Kind: app.Android, ADBServer: adb.Address},
		Planner: app.Planner{Enabled: true, Provider: app.Scripted, Script: noteScript(t)},
		OnStep:  func(e runner.StepEvent) { steps = append(steps, e.Tool) },
	})
	if err != nil || result.State != runner.Succeeded {
		t.Fatalf("ended as %+v, %v after %v", result, err, steps)
	}
	if !slices.Equal(steps, noteSteps) {
		t.Errorf("steps %v, want %v", steps, noteSteps)
	}
	if got := phone.Notes(); got[0] != "Ada 🚀" || got[1] != "Milk" {
		t.Errorf("the phone's notes are %q", got)
	}
}

// R-RUN-2, R-CLOUD-2: a host offers a phone that is connected while it runs, and
// the next task goes to the phone that came back.
func TestAFleetFindsThePhonesThatComeAndGo(t *testing.T) {
	t.Parallel()
	adb, phone := adbdtest.StartServer(t), adbdtest.New(t, adbdtest.Options{Pasting: true})
	plan := app.Planner{Enabled: true, Provider: app.Scripted, Script: noteScript(t)}
	w := start(t, func(c *app.ServerConfig) { c.Planner = plan })
	plan.Transport = app.Cloud
	w.hostWith(w.url, plan, &logtest.Log{}, app.DeviceConfig{Kind: app.Android, ADBServer: adb.Address})
	made := w.submit(operators.TaskSpec{Goal: "Write a note"})
	adb.Connect(t, phone)
	if end := w.ended(made.ID); end.State != "succeeded" {
		t.Fatalf("ended as %+v", end)
	}
	phone.Drop()
	adb.Await(t, phone, "offline")
	again := w.submit(operators.TaskSpec{Goal: "Write a note"})
	phone.Return()
	if _, err := adb.Ask("host:disconnect:" + phone.Serial()); err != nil {
		t.Fatal(err)
	}
	adb.Connect(t, phone)
	if end := w.ended(again.ID); end.State != "succeeded" {
		t.Fatalf("the second ended as %+v", end)
	}
}

// R-RUN-1, R-RUN-5: a phone that is lost in the middle of an action ends the
// attempt as indeterminate, with the action sent once, and the next task on it
// is done once it has come back.
func TestAPhoneLostInTheMiddleOfAnActionEndsItsAttempt(t *testing.T) {
	t.Parallel()
	adb, phone := adbdtest.StartServer(t), adbdtest.New(t, adbdtest.Options{Pasting: true})
	adb.Connect(t, phone)
	run := func() runner.Result {
		result, err := app.RunTask(t.Context(), app.RunConfig{
			Task:    runner.Task{ID: "local", Attempt: 1, Goal: "Write a note"},
			Device:  app.DeviceConfig{Kind: app.Android, ID: phone.Serial(), ADBServer: adb.Address},
			Planner: app.Planner{Enabled: true, Provider: app.Scripted, Script: noteScript(t)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	phone.Answer("am start", adbdtest.Reply{After: true, Die: true})
	if got := run(); got.State != runner.Indeterminate || !got.Acted {
		t.Errorf("ended as %+v", got)
	}
	sent := 0
	for _, c := range phone.Commands() {
		if strings.HasPrefix(c, "am start") {
			sent++
		}
	}
	if sent != 1 {
		t.Errorf("the app was opened %d times, want once", sent)
	}
	phone.Return()
	if got := run(); got.State != runner.Succeeded {
		t.Errorf("the next task ended as %+v", got)
	}
}
