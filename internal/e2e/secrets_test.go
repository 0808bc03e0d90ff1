package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/waittest"
)

// canary is something that must be found nowhere.
type canary struct {
	name   string
	needle []byte
}

// forms are a secret's likely disguises.
func forms(name, s string) []canary {
	return []canary{{name, []byte(s)}, {name + " in base64", []byte(base64.StdEncoding.EncodeToString([]byte(s)))}, {name + " in hex", []byte(hex.EncodeToString([]byte(s)))}}
}

// haystack is one text or file to search.
type haystack struct {
	name string
	data []byte
}

// databaseFiles are the database and what the engine keeps beside it.
func databaseFiles(t *testing.T, database string) []haystack {
	t.Helper()
	var out []haystack
	paths, err := filepath.Glob(database + "*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no database at %s: %v", database, err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, haystack{filepath.Base(p), b})
	}
	return out
}

func search(t *testing.T, canaries []canary, in []haystack) {
	t.Helper()
	for _, h := range in {
		for _, c := range canaries {
			if i := bytes.Index(h.data, c.needle); i >= 0 {
				t.Errorf("%s is in %s at byte %d", c.name, h.name, i)
			}
		}
	}
}

// canaryPicture is a small picture with a comment that no compressor changes.
func canaryPicture(t *testing.T) (picture []byte, canaries []canary) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 64, 64))
	r := rand.New(rand.NewPCG(7, 7))
	for x := range 64 {
		for y := range 64 {
			m.Set(x, y, color.RGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	picture = b.Bytes()
	encoded := base64.StdEncoding.EncodeToString(picture)
	for i := 256; i+48 < len(picture); i += 512 {
		canaries = append(canaries, canary{fmt.Sprintf("the screenshot at byte %d", i), picture[i : i+24]})
	}
	for i := 400; i+64 < len(encoded); i += 700 {
		canaries = append(canaries, canary{fmt.Sprintf("the screenshot's base64 at %d", i), []byte(encoded[i : i+32])})
	}
	return picture, canaries
}

// R-CLOUD-5, R-HOST-1: after a run with successes and failures of every kind,
// the screenshot and the secrets are nowhere: not in the database and its
// write-ahead log, not in the logs at debug level, not in an answer.
func TestNothingKeepsAScreenshotOrASecret(t *testing.T) {
	t.Parallel()
	const providerKey = "sk-canary-provider-5b1e77"
	picture, canaries := canaryPicture(t)
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) {
		c.Planner = u.planner()
		c.Planner.OpenAIKey = secret.New(providerKey)
	})
	enrol := w.enrolToken()
	canaries = append(canaries, forms("the provider's key", providerKey)...)
	canaries = append(canaries, forms("the enrolment token", enrol)...)
	canaries = append(canaries, forms("the API token", w.token)...)

	var answers bytes.Buffer
	h := w.bareThrough(w.url, "h", 1)
	canaries = append(canaries, forms("the host's credential", h.Credential)...)
	made := w.submit(operators.TaskSpec{Goal: "look"})
	a := w.claim(h, 1, devices(1))[0]
	body := decideBody(a, "scene")
	body.Screenshot = picture
	for i, change := range []func(*hostapi.DecideRequest){
		func(*hostapi.DecideRequest) {},
		func(d *hostapi.DecideRequest) { d.Attempt = 9 },
		func(d *hostapi.DecideRequest) { d.TaskID = string(picture[:40]) },
		func(d *hostapi.DecideRequest) { d.Tools = nil },
		func(d *hostapi.DecideRequest) { d.Tools[0].Name = "other" },
		func(d *hostapi.DecideRequest) { d.TimeoutSeconds = -1 },
		func(d *hostapi.DecideRequest) { d.Screenshot = append([]byte("not a picture "), picture...) },
		func(d *hostapi.DecideRequest) { d.Screenshot = picture[:10] },
	} {
		d := body
		d.Tools = append(d.Tools[:0:0], d.Tools...)
		change(&d)
		err := h.Do(t.Context(), hostapi.PathDecide, fmt.Sprintf("k%d", i), d, &hostapi.DecideReply{})
		fmt.Fprintf(&answers, "decide %d: %v\n", i, err)
	}
	whole, _ := json.Marshal(body)
	for name, raw := range map[string][]byte{
		"cut": whole[:len(whole)-100], "twice": append(append([]byte{}, whole...), whole...), "a member of another type": []byte(strings.Replace(string(whole), `"attempt":1`, `"attempt":"`+encoded(picture)+`"`, 1)),
		"not JSON": []byte(encoded(picture)), "duplicate": []byte(strings.Replace(string(whole), `"task_id"`, `"screenshot":"`+encoded(picture)+`","task_id"`, 1)),
	} {
		err := h.DoRaw(t.Context(), hostapi.PathDecide, "raw "+name, raw, &hostapi.DecideReply{})
		if err == nil || fault.KindOf(err) == fault.Internal {
			t.Errorf("%s: %v, want a refusal that says why", name, err)
		}
		fmt.Fprintf(&answers, "%s: %v\n", name, err)
	}
	badSecrets(t, w, &answers, enrol, h.Credential)
	rows := w.decisions(made.ID)
	if len(rows) != 1 || rows[0].Screenshot == nil || rows[0].Screenshot.WidthPX != 64 || rows[0].Screenshot.Bytes != len(picture) {
		t.Errorf("the evidence of the screenshot: %+v", rows)
	}
	page, _ := json.Marshal(rows)
	answers.Write(page)
	for _, path := range []string{operators.PathHosts, operators.PathEnrolTokens, operators.PathTokens, operators.PathAudit, operators.PathStatus, operators.PathTasks, "/metrics"} {
		_, b := operatorCall(t, w.url, w.token, http.MethodGet, path, nil)
		answers.Write(b)
	}
	answers.WriteString(sayEverything(t, w, made.ID, h.ID, providerKey))
	before := databaseFiles(t, w.database)
	w.stop()
	in := append(before, databaseFiles(t, w.database)...)
	search(t, canaries, append(in, haystack{"the server's log", []byte(w.log.String())}, haystack{"an answer", answers.Bytes()}))
	if !strings.Contains(w.log.String(), `"msg":"decide"`) {
		t.Error("the log does not mention the decides, so the search proves nothing")
	}
}

func encoded(picture []byte) string { return base64.StdEncoding.EncodeToString(picture) }

// sayEverything runs the commands that show what the server and the settings
// hold, also as JSON, and returns what they print.
func sayEverything(t *testing.T, w *world, task, host, providerKey string) string {
	t.Helper()
	settings := map[string]string{"INTERLOCK_SERVER": w.url, "INTERLOCK_TOKEN": w.token, "OPENAI_API_KEY": providerKey, "AI_PLANNER_MODEL": "m-1", "INTERLOCK_LOG_LEVEL": "debug"}
	var said bytes.Buffer
	for _, args := range [][]string{{"config"}, {"doctor"}, {"status"}, {"task", "list"}, {"task", "show", task}, {"task", "events", task}, {"host", "list"}, {"host", "show", host},
		{"host", "token", "list"}, {"decision", "list", task}, {"decision", "show", task, "0"}, {"usage", "show"}, {"audit", "list"}, {"token", "list"}, {"task", "show", "no-such-task"}, {"no-such-command"}} {
		for _, form := range [][]string{nil, {"--json"}} {
			cmd := program(t, settings, append(args, form...)...)
			out, err := cmd.CombinedOutput()
			if len(out) == 0 {
				t.Errorf("interlock %v prints nothing: %v", args, err)
			}
			said.Write(out)
		}
	}
	if !strings.Contains(said.String(), "UserPrompt") && !strings.Contains(said.String(), "user_prompt") {
		t.Error("the decision's prompts were not printed, so the search proves less than it says")
	}
	return said.String()
}

// badSecrets presents tokens where they don't belong and keeps what is said.
func badSecrets(t *testing.T, w *world, answers *bytes.Buffer, enrol, credential string) {
	t.Helper()
	for _, token := range []string{enrol, credential, w.token + "x", "Bearer " + w.token} {
		_, b := operatorCall(t, w.url, token, http.MethodGet, operators.PathTasks+"?label="+w.token, nil)
		answers.Write(b)
	}
	for _, path := range []string{hostapi.PathHeartbeat, hostapi.PathEnroll, "/internal/v1/" + enrol} {
		h := *w.bareWith(w.token)
		err := h.Do(t.Context(), path, enrol, hostapi.EnrollRequest{Token: secret.Expose(secret.New(credential)), Name: enrol}, &struct{}{})
		fmt.Fprintf(answers, "%v\n", err)
	}
}

// R-CLOUD-6: a canary in a pruned prompt is in neither the file nor the
// write-ahead log, and the file shrinks.
func TestAPrunedPromptIsGone(t *testing.T) {
	t.Parallel()
	u := startUpstream(t, 0)
	w := start(t, func(c *app.ServerConfig) {
		c.Planner = u.planner()
		c.Retention = time.Second
		c.PruneEvery = 50 * time.Millisecond
	})
	h := w.bare("h", 1)
	var gone []string
	// Words that don't compress, as a canary has to be found where it is kept.
	word := func() string { return hex.EncodeToString([]byte(secret.Mint(secret.APIToken).Value.Reveal()[8:40])) }
	var canaries []canary
	for i := range 8 {
		w.submit(operators.TaskSpec{Goal: "x"})
		a := w.claim(h, 1, devices(1))[0]
		gone = append(gone, a.TaskID)
		c := fmt.Sprintf("pruned-prompt-canary-%d-%s", i, word())
		canaries = append(canaries, canary{c[:24], []byte(c)})
		var filler strings.Builder
		for range 2000 {
			filler.WriteString(word())
		}
		if _, err := decide(t, h, a, "k", c); err != nil {
			t.Fatal(err)
		}
		if _, err := decide(t, h, a, "k2", filler.String()); err != nil {
			t.Fatal(err)
		}
		finish(t, h, a, hostapi.ResultRequest{State: "succeeded"})
	}
	kept := w.submit(operators.TaskSpec{Goal: "kept"})
	a := w.claim(h, 1, devices(1))[0]
	const keep = "kept-prompt-of-a-task-that-is-active"
	if _, err := decide(t, h, a, "k", keep); err != nil {
		t.Fatal(err)
	}
	size := func() (n int) {
		for _, f := range databaseFiles(t, w.database) {
			n += len(f.data)
		}
		return n
	}
	before := size()
	var seen int
	for _, f := range databaseFiles(t, w.database) {
		for _, c := range canaries {
			seen += bytes.Count(f.data, c.needle)
		}
	}
	if seen == 0 {
		t.Fatal("the canaries can't be found before pruning either, so their absence would prove nothing")
	}
	w.clock.Advance(5 * time.Second)
	for _, id := range gone {
		waittest.For(t, 20*time.Second, "the decisions go", func() (int, bool) { n := len(w.decisions(id)); return n, n == 0 })
	}
	waittest.For(t, 20*time.Second, "the file shrinks", func() (int, bool) { n := size(); return n, n < before/2 })
	search(t, canaries, databaseFiles(t, w.database))
	if rows := w.decisions(kept.ID); len(rows) != 1 || rows[0].UserPrompt != keep {
		t.Errorf("the active task's decisions: %+v", rows)
	}
	w.stop()
	search(t, canaries, databaseFiles(t, w.database))
}
