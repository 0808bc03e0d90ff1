package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
	"interlock/internal/logtest"
)

// ledgers lists what the world's host has on disk of actions that it sent.
func (w *world) ledgers(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.cfg.StateDir, "commits", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// snapshot runs a task of two taps and returns the name and the content of its
// ledger as a crash in the second tap would leave them.
func snapshot(t *testing.T) (name string, content []byte) {
	t.Helper()
	t.Run("an attempt that acts", func(t *testing.T) {
		inWorldNow(t, hostapitest.Options{}, func(t *testing.T, w *world) {
			touch := 0
			w.phone.during = func(context.Context) error {
				touch++
				files := w.ledgers(t)
				if len(files) != 1 {
					t.Errorf("touch %d: the ledgers are %v, want one", touch, files)
					return nil
				}
				var err error
				name = filepath.Base(files[0])
				content, err = os.ReadFile(files[0])
				return err
			}
			h := w.run(t, tapping(2, 0))
			if got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"})); got.Result.State != "succeeded" {
				t.Errorf("%+v", got.Result)
			}
			h.end(t)
			if left := w.ledgers(t); len(left) != 0 {
				t.Errorf("the end is known and the ledgers are %v", left)
			}
		})
	})
	return name, content
}

// R-RUN-5, R-HOST-3: an action is on disk before it is sent, and an attempt
// that was cut off in one does not touch the device again, whoever gives it to
// the host.
func TestALedgerOutlivesACrash(t *testing.T) {
	t.Parallel()
	name, content := snapshot(t)
	if n := strings.Count(string(content), `"hash"`); n != 2 || strings.Count(string(content), `"seen":true`) != 1 || strings.Contains(string(content), "More") {
		t.Fatalf("in the second touch the ledger is %s", content)
	}
	inWorldNow(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		put(t, w, name, content)
		h := w.run(t, tapping(2, 0))
		got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"}))
		if touched, _ := w.phone.touches(); got.Result.State != "indeterminate" || got.Result.Reason != "effect_unseen" || !got.Result.Acted || len(touched) != 0 {
			t.Errorf("%+v after %d touches", got.Result, len(touched))
		}
		h.end(t)
		if left := w.ledgers(t); len(left) != 0 {
			t.Errorf("the end is known and the ledgers are %v", left)
		}
	})
}

// put leaves a ledger as a crash would.
func put(t *testing.T, w *world, name string, content []byte) {
	t.Helper()
	dir := filepath.Join(w.cfg.StateDir, "commits")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// R-RUN-5: what a crash left is told at the next start, kept while it may
// matter, and never keeps a host from starting.
func TestWhatACrashLeftInALedger(t *testing.T) {
	t.Parallel()
	const now = `{"attempt":1,"task_id":"t9","commits":[{"hash":"h","step":4,"tool":"tap","at":"2099-01-01T00:00:00Z"}]}`
	old := strings.Replace(now, "2099", "1999", 1)
	for title, c := range map[string]struct {
		content string
		log     string // a part of it
		kept    bool
	}{
		"of an action that was sent": {now, "nobody saw what came of the last action", true},
		"of one long ago":            {old, "", false},
		"that is damaged":            {now[:40], "can't be read", true},
		"that is empty":              {`{"attempt":1,"task_id":"t9","commits":[]}`, "can't be read", true},
	} {
		t.Run(title, func(t *testing.T) {
			inWorldNow(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				log := &logtest.Log{}
				w.cfg.Logger = log.Logger()
				put(t, w, "x.json", []byte(c.content))
				h, err := host.Open(w.cfg, tapping(0, 0))
				if err != nil {
					t.Fatal(err)
				}
				h.Close()
				if got := log.String(); !strings.Contains(got, c.log) || c.log == "" && strings.Contains(got, "ledger") {
					t.Errorf("logged %s", got)
				}
				if got := len(w.ledgers(t)) == 1; got != c.kept {
					t.Errorf("kept %v", got)
				}
			})
		})
	}
}
