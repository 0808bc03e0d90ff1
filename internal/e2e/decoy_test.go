package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"interlock/internal/app"
	"interlock/internal/device/android/adbdtest"
	"interlock/internal/planner"
	"interlock/internal/runner"
	"interlock/internal/tool"
)

// shop is a site with one page whose button "Send" has an effect. What the page
// does to trick whoever decided to tap it, it does when it is told to.
type shop struct {
	url  string
	now  chan string   // which trick, told to the page that waits for it
	done chan struct{} // the page has done it

	mu      sync.Mutex
	effects []string // guarded by mu; "real" and "decoy" in the order of touches
}

// shopPage waits for the name of a trick, does it and says so.
const shopPage = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>button { display: block; width: 300px; height: 60px; margin: 10px } #lid { position: fixed; inset: 0; background: white }</style>
<h1 id="title">Shop</h1><div id="rows"><button id="send" onclick="real()">Send</button><button id="other" onclick="decoy()">Other</button></div>
<script>
const tell = which => fetch("effect?which=" + which, {method: "POST", keepalive: true})
const real = () => { tell("real"); if (!quiet) title.textContent = "Sent" }
const decoy = () => { tell("decoy"); title.textContent = "Tricked" }
const fake = id => { const b = document.createElement("button"); b.id = id; b.textContent = "Send"; b.onclick = decoy; return b }
let quiet = false
const tricks = {
  "nothing": () => {},
  "a twin above it": () => rows.prepend(fake("send")),
  "a twin below it": () => rows.append(fake("send")),
  "the rows change places": () => rows.append(send),
  "a banner": () => { const p = document.createElement("p"); p.textContent = "Sale"; rows.prepend(p) },
  "a dialog on top": () => { const d = document.createElement("div"); d.id = "lid"; d.append(fake("ok")); document.body.append(d) },
  "an alert": () => setTimeout(() => alert("Sure?")),
  "a look-alike in its place": () => send.replaceWith(fake("promo")),
  "it says something else": () => { send.textContent = "Send all"; send.onclick = decoy },
  "it is gone": () => send.remove(),
  "nothing shows": () => { quiet = true },
}
fetch("trick").then(r => r.text()).then(name => { tricks[name](); fetch("done", {method: "POST"}) })
</script>`

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{now: make(chan string, 1), done: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(shopPage))
	})
	mux.HandleFunc("GET /trick", func(w http.ResponseWriter, r *http.Request) {
		select {
		case name := <-s.now:
			w.Write([]byte(name))
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /done", func(http.ResponseWriter, *http.Request) { s.done <- struct{}{} })
	mux.HandleFunc("POST /effect", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.effects = append(s.effects, r.URL.Query().Get("which"))
	})
	site := httptest.NewServer(mux)
	t.Cleanup(func() { site.CloseClientConnections(); site.Close() })
	s.url = site.URL + "/"
	return s
}

func (s *shop) touched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

// buyer is a planner that opens the shop, decides to tap "Send", and answers
// only once the page has done its trick. Then it looks no further.
type buyer struct {
	shop  *shop
	trick string
}

func (b buyer) Plan(ctx context.Context, in planner.Input) (planner.Proposal, error) {
	name, args := planner.Fail, map[string]string{"reason": "looked no further"}
	switch in.Ordinal {
	case 0:
		name, args = planner.OpenURL, map[string]string{"url": b.shop.url}
	case 1:
		for _, e := range in.Scene.Elements {
			if e.Text == "Send" {
				name, args = planner.Tap, map[string]string{"ref": e.Ref}
			}
		}
		b.shop.now <- b.trick
		select {
		case <-b.shop.done:
		case <-ctx.Done():
			return planner.Proposal{}, ctx.Err()
		}
	}
	encoded, err := json.Marshal(args)
	return planner.Proposal{Call: tool.Call{Tool: name, Arguments: encoded}, Provider: "buyer", Model: "buyer", StepIndex: -1}, err
}

// R-RUN-4, R-RUN-5: in a real browser, whatever comes up between a decision and
// its touch, nothing is touched that was not meant, and nothing twice.
func TestNoDecoyIsTouchedInARealBrowser(t *testing.T) {
	t.Parallel()
	for trick, want := range map[string]struct {
		effects []string
		state   runner.State
		detail  string // of the tap's event
	}{
		"nothing":                   {[]string{"real"}, runner.Failed, ""},
		"nothing shows":             {[]string{"real"}, runner.Indeterminate, "effect_unseen"},
		"a twin above it":           {nil, runner.Failed, "stale_scene"},
		"a twin below it":           {nil, runner.Failed, "stale_scene"},
		"the rows change places":    {nil, runner.Failed, "stale_scene"},
		"a banner":                  {nil, runner.Failed, "stale_scene"},
		"a dialog on top":           {nil, runner.Failed, "stale_scene"},
		"an alert":                  {nil, runner.Failed, "stale_scene"},
		"a look-alike in its place": {nil, runner.Failed, "stale_scene"},
		"it says something else":    {nil, runner.Failed, "stale_scene"},
		"it is gone":                {nil, runner.Failed, "stale_scene"},
	} {
		t.Run(trick, func(t *testing.T) {
			s := openShop(t)
			var events []runner.StepEvent
			got, err := app.RunTask(t.Context(), app.RunConfig{
				Task:   runner.Task{ID: "local", Attempt: 1, Goal: "Send it"},
				Device: app.DeviceConfig{Kind: app.Chromium, ID: "chromium-1"},
				Script: buyer{s, trick},
				OnStep: func(e runner.StepEvent) { events = append(events, e) },
			})
			if err != nil || got.State != want.state || len(events) < 2 || events[1].Detail != want.detail {
				t.Errorf("ended as %+v, %v after %+v", got, err, events)
			}
			if touched := s.touched(); !slices.Equal(touched, want.effects) {
				t.Errorf("touched %q, want %q", touched, want.effects)
			}
		})
	}
}

// writer is a planner that writes a note, and answers its tap on "Save" only
// once the phone is ready for it. Then it looks no further.
type writer struct {
	phone   *adbdtest.Phone
	prepare func(*adbdtest.Phone)
}

func (w writer) Plan(_ context.Context, in planner.Input) (planner.Proposal, error) {
	ref := func(words string) string {
		for _, e := range in.Scene.Elements {
			if e.Text == words || e.Label == words {
				return e.Ref
			}
		}
		return "missing: " + words
	}
	name, args := planner.Fail, map[string]string{"reason": "looked no further"}
	switch in.Ordinal {
	case 0:
		name, args = planner.OpenApp, map[string]string{"package": adbdtest.Notes}
	case 1:
		name, args = planner.Tap, map[string]string{"ref": ref("New note")}
	case 2:
		name, args = planner.TypeText, map[string]string{"ref": ref("Title"), "text": "Ada"}
	case 3:
		name, args = planner.Tap, map[string]string{"ref": ref("Save")}
		w.prepare(w.phone)
	}
	encoded, err := json.Marshal(args)
	return planner.Proposal{Call: tool.Call{Tool: name, Arguments: encoded}, Provider: "writer", Model: "writer", StepIndex: -1}, err
}

// write has a writer write on a new phone.
func write(t *testing.T, adb *adbdtest.Server, prepare func(*adbdtest.Phone)) (*adbdtest.Phone, runner.Result, []runner.StepEvent) {
	t.Helper()
	phone := adbdtest.New(t, adbdtest.Options{})
	adb.Connect(t, phone)
	var events []runner.StepEvent
	got, err := app.RunTask(t.Context(), app.RunConfig{
		Task:   runner.Task{ID: "local", Attempt: 1, Goal: "Write a note"},
		Device: app.DeviceConfig{Kind: app.Android, ID: phone.Serial(), ADBServer: adb.Address},
		Script: writer{phone, prepare},
		OnStep: func(e runner.StepEvent) { events = append(events, e) },
	})
	if err != nil || len(events) < 4 || events[2].Outcome != runner.Done {
		t.Fatalf("ended as %+v, %v after %+v", got, err, events)
	}
	return phone, got, events
}

// R-RUN-4, R-RUN-5: the same on a phone behind a real adb server.
func TestNoDecoyIsTouchedOverADB(t *testing.T) {
	t.Parallel()
	adb := adbdtest.StartServer(t)
	for _, trick := range []adbdtest.Trick{"", adbdtest.Twins, adbdtest.LookAlikes, adbdtest.Reordered, adbdtest.Banner, adbdtest.Dialog} {
		t.Run("trick: "+string(trick), func(t *testing.T) {
			phone, got, events := write(t, adb, func(p *adbdtest.Phone) { p.Play(trick) })
			saved := phone.Notes()[0] == "Ada"
			if want := trick == ""; got.Reason != "gave_up" || saved != want || (events[3].Detail == "stale_scene") == want || phone.Tricked() != 0 {
				t.Errorf("%+v: saved %v, turned down for %q, tricked %d times", got, saved, events[3].Detail, phone.Tricked())
			}
		})
	}
}

// R-RUN-5: whatever breaks around an action that can't be taken back, over a
// real adb server too it is sent once at most, and where nobody saw what came
// of it the attempt ends as indeterminate.
func TestACommitIsSentAtMostOnceOverADB(t *testing.T) {
	t.Parallel()
	adb := adbdtest.StartServer(t)
	const tap, look = "input tap", "uiautomator"
	done := adbdtest.Reply{After: true}
	for name, c := range map[string]struct {
		prepare func(*adbdtest.Phone)
		saved   bool
		state   runner.State
		reason  string
	}{
		"the phone is gone before it":        {func(p *adbdtest.Phone) { p.Answer(look, adbdtest.Reply{Die: true}) }, false, runner.DeviceLost, "device_lost"},
		"the connection ends and it was not": {func(p *adbdtest.Phone) { p.Answer(tap, adbdtest.Reply{Die: true}) }, false, runner.Indeterminate, "device_lost"},
		"the connection ends and it was":     {func(p *adbdtest.Phone) { p.Answer(tap, adbdtest.Reply{After: true, Die: true}) }, true, runner.Indeterminate, "device_lost"},
		"it comes to nothing":                {func(p *adbdtest.Phone) { p.Answer(tap, adbdtest.Reply{}) }, false, runner.Indeterminate, "effect_unseen"},
		"the command fails and it was":       {func(p *adbdtest.Phone) { p.Answer(tap, adbdtest.Reply{After: true, Exit: 1}) }, true, runner.Indeterminate, "device_failed"},
		"the phone is gone after it":         {func(p *adbdtest.Phone) { p.Answer(look, done, adbdtest.Reply{Die: true}) }, true, runner.Indeterminate, "device_lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			phone, got, events := write(t, adb, c.prepare)
			saves := 0
			for _, n := range phone.Notes() {
				if n == "Ada" {
					saves++
				}
			}
			if got.State != c.state || got.Reason != c.reason || saves > 1 || (saves == 1) != c.saved || len(events) != 4 {
				t.Errorf("%+v: %d notes, last event %+v", got, saves, events[len(events)-1])
			}
		})
	}
}
