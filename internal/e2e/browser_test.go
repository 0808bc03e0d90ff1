package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"interlock/internal/app"
	"interlock/internal/logtest"
	"interlock/internal/runner"
	"interlock/internal/serve/operators"
)

// rule is one of the scripted provider's, in its own form.
type rule map[string]any

func on(screen []string, lacks []string, tool string, arguments map[string]any) rule {
	return rule{"name": tool, "if": map[string]any{"screen": screen, "screen_lacks": lacks}, "call": map[string]any{"tool": tool, "arguments": arguments}}
}

func named(what, role string) map[string]string { return map[string]string{"find": what, "role": role} }

// formScript fills in the form at address.
func formScript(t *testing.T, address string) string {
	t.Helper()
	script := map[string]any{"about": "fills in a form in a browser", "rules": []rule{
		on([]string{"Thank you, Ada"}, nil, "finish", map[string]any{"status": "success", "summary": "The form is sent.", "evidence": "Thank you, Ada"}),
		on([]string{"field \"Ada 🚀 שלום\""}, nil, "tap", map[string]any{"ref": named("Send", "button")}),
		on([]string{"label \"Your name\""}, nil, "type_text", map[string]any{"ref": named("Your name", "field"), "text": "Ada 🚀 שלום", "clear": true}),
		on(nil, []string{"label \"Your name\""}, "open_url", map[string]any{"url": address}),
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

// formSite is a site with a form; sent is told what was sent to it.
func formSite(t *testing.T) (address string, sent <-chan url.Values) {
	t.Helper()
	said := make(chan url.Values, 4)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.Method == http.MethodPost {
			r.ParseForm()
			said <- r.PostForm
			w.Write([]byte(`<!doctype html><meta name="viewport" content="width=device-width"><h1>Thank you, Ada</h1>`))
			return
		}
		w.Write([]byte(`<!doctype html><meta name="viewport" content="width=device-width"><form method="post"><label for="n">Your name</label> <input id="n" name="name" value="somebody"> <button>Send</button></form>`))
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL, said
}

// R-RUN-1, R-RUN-2: one task through a real browser, decided here.
func TestATaskIsDoneInARealBrowser(t *testing.T) {
	t.Parallel()
	address, sent := formSite(t)
	var steps []string
	result, err := app.RunTask(t.Context(), app.RunConfig{
		Task:    runner.Task{ID: "local", Attempt: 1, Goal: "Send the form", AppLock: []string{hostOf(t, address)}},
		Device:  app.DeviceConfig{Kind: app.Chromium, ID: "chromium-1"},
		Planner: app.Planner{Enabled: true, Provider: app.Scripted, Script: formScript(t, address)},
		OnStep:  func(e runner.StepEvent) { steps = append(steps, e.Tool) },
	})
	if err != nil || result.State != runner.Succeeded {
		t.Fatalf("ended as %+v, %v after %v", result, err, steps)
	}
	if want := []string{"open_url", "type_text", "tap", "finish"}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	if got := <-sent; got.Get("name") != "Ada 🚀 שלום" || len(sent) != 0 {
		t.Errorf("the site was sent %v, and %d times more", got, len(sent))
	}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// R-RUN-3: a task that is locked to one site goes to no other.
func TestATaskIsLockedToASite(t *testing.T) {
	t.Parallel()
	address, sent := formSite(t)
	result, err := app.RunTask(t.Context(), app.RunConfig{
		Task:    runner.Task{ID: "local", Attempt: 1, Goal: "Send the form", AppLock: []string{"127.0.0.1:1"}},
		Device:  app.DeviceConfig{Kind: app.Chromium, ID: "chromium-1"},
		Planner: app.Planner{Enabled: true, Provider: app.Scripted, Script: formScript(t, address)},
	})
	if err != nil || result.State != runner.Failed || result.Reason != "policy_denied" || len(sent) != 0 {
		t.Errorf("ended as %+v, %v; the site was sent %d forms", result, err, len(sent))
	}
}

// R-RUN-2, R-CLOUD-2: the same through a server and a host, each step decided
// by the server.
func TestAFleetDrivesABrowser(t *testing.T) {
	t.Parallel()
	address, sent := formSite(t)
	plan := app.Planner{Enabled: true, Provider: app.Scripted, Script: formScript(t, address)}
	w := start(t, func(c *app.ServerConfig) { c.Planner = plan })
	plan.Transport = app.Cloud
	w.hostWith(w.url, plan, &logtest.Log{}, app.DeviceConfig{Kind: app.Chromium, ID: "chromium-1"})
	made := w.submit(operators.TaskSpec{Goal: "Send the form"})
	if end := w.ended(made.ID); end.State != "succeeded" {
		t.Fatalf("ended as %+v", end)
	}
	if n := len(w.decisions(made.ID)); n != 4 {
		t.Errorf("%d decisions in the log, want 4", n)
	}
	if got := <-sent; got.Get("name") != "Ada 🚀 שלום" {
		t.Errorf("the site was sent %v", got)
	}
}
