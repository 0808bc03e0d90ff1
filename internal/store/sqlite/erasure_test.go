package sqlite

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mathrand "math/rand/v2"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// files returns the bytes of the database and of its write-ahead log.
func files(t *testing.T, path string) []byte {
	t.Helper()
	var all []byte
	for _, name := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// gaps counts the pages of a database that hold something where nothing is.
func gaps(file []byte) (n int) {
	for from := 0; from+pageSize <= len(file); from += pageSize {
		if clearGap(bytes.Clone(file[from:from+pageSize]), from == 0) {
			n++
		}
	}
	return n
}

// canary is a prompt that no compression shrinks, so that its bytes lie in the
// file as they are.
func canary() string {
	b := make([]byte, 48)
	rand.Read(b)
	return string(b)
}

// heldTask is a task that a host holds.
func heldTask(t testing.TB, s *Store, id task.ID) task.Task {
	t.Helper()
	if _, _, err := s.Submit(t.Context(), task.Task{ID: id, Tenant: tenant.Default, Spec: task.Spec{Goal: "g"}}, "", [32]byte{}, audit.Fact{}); err != nil {
		t.Fatal(err)
	}
	given, err := s.Claim(t.Context(), crashTiming, []task.ClaimRequest{{Tenant: tenant.Default, Host: "h", Max: 1, Devices: []fleet.Device{{ID: string(id)}}}})
	if err != nil || len(given[0]) != 1 {
		t.Fatalf("claim: %v, %v", given, err)
	}
	return given[0][0]
}

func record(t testing.TB, s *Store, k task.Task, key, system, prompt string) {
	t.Helper()
	r := crashRow(k, key)
	r.SystemPrompt, r.UserPrompt, r.Arguments = system, prompt, []byte(`"`+hex.EncodeToString([]byte(prompt[:min(len(prompt), 8)]))+`"`)
	if _, err := s.Record(t.Context(), r, usage.Entry{Tenant: k.Tenant, Task: string(k.ID), At: r.At}); err != nil {
		t.Fatal(err)
	}
}

func finishTask(t testing.TB, s *Store, k task.Task) {
	t.Helper()
	f := task.Finish{Fence: task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: k.Attempt}, State: task.Succeeded}
	if _, _, err := s.Finish(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// R-CLOUD-6. The rows of many tasks are interleaved and pruned in a random
// order, so that pages are split and merged, and what moved between them must
// not leave copies behind.
func TestAPrunedPromptIsInNeitherTheFileNorItsLog(t *testing.T) {
	t.Parallel()
	clock := newHand()
	path := filepath.Join(t.TempDir(), "interlock.db")
	s := open(t, Config{Path: path, Now: clock.now})
	const tasks, rows = 30, 20
	canaries := map[string]bool{} // -> must be gone
	var held []task.Task
	prompts := map[task.ID][]string{}
	for i := range tasks {
		held = append(held, heldTask(t, s, task.ID(fmt.Sprint("task-", i))))
	}
	for step := range rows {
		for _, i := range mathrand.Perm(tasks) {
			c, system := canary(), canary()
			prompts[held[i].ID] = append(prompts[held[i].ID], c, system)
			record(t, s, held[i], fmt.Sprint(step), system, c+strings.Repeat(c[:1+mathrand.IntN(40)], mathrand.IntN(60)))
		}
	}
	for n, i := range mathrand.Perm(tasks) {
		kept := n >= tasks*3/4
		for _, c := range prompts[held[i].ID] {
			canaries[c] = !kept
		}
		if !kept {
			finishTask(t, s, held[i])
			clock.advance(time.Second)
			if n%2 == 0 {
				if _, err := s.Purge(t.Context(), tenant.Default, held[i].ID, audit.Fact{Action: "decision.purge", At: clock.now()}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	before := files(t, path)
	for p := (decision.Pruned{More: true}); p.More; {
		var err error
		if p, err = s.Prune(t.Context(), clock.now(), 5); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.emptyLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if gaps(files(t, path)) == 0 {
		t.Error("no page was merged, so this test proves less than it says")
	}
	if err := s.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := files(t, path)
	if n := gaps(after); n > 0 {
		t.Errorf("%d pages still hold something between their rows", n)
	}
	found, left := 0, 0
	for c, gone := range canaries {
		if !bytes.Contains(before, []byte(c)) && !gone {
			t.Errorf("a canary that is kept was not in the file to begin with")
		}
		switch there := bytes.Contains(after, []byte(c)); {
		case gone && there:
			found++
		case !gone && there:
			left++
		}
	}
	if found > 0 || left == 0 {
		t.Errorf("%d pruned prompts are still in the file, %d others are", found, left)
	}
	var sound string
	if err := s.read(t.Context(), func(v view) error { return v.scan(`PRAGMA integrity_check`, nil, &sound) }); err != nil || sound != "ok" {
		t.Errorf("the file is damaged: %s, %v", sound, err)
	}
	if len(after) >= len(before) {
		t.Errorf("the files had %d bytes and have %d", len(before), len(after))
	}
}

// R-CLOUD-6: space is really given back.
func TestPruningShrinksTheFile(t *testing.T) {
	t.Parallel()
	clock := newHand()
	path := filepath.Join(t.TempDir(), "interlock.db")
	s := open(t, Config{Path: path, Now: clock.now})
	empty := int64(0)
	for round := range 2 {
		k := heldTask(t, s, task.ID(fmt.Sprint("task-", round)))
		for i := range 300 {
			b := make([]byte, 4096)
			rand.Read(b)
			record(t, s, k, fmt.Sprint(i), "s", string(b))
		}
		finishTask(t, s, k)
		clock.advance(time.Second)
		full := sizeOf(t, s)
		if _, err := s.Prune(t.Context(), clock.now(), 10); err != nil {
			t.Fatal(err)
		}
		if err := s.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := sizeOf(t, s)
		if left*4 > full {
			t.Errorf("round %d: %d bytes before, %d after", round, full, left)
		}
		if round == 0 {
			empty = left
		} else if float64(left) > 1.3*float64(empty) {
			t.Errorf("the file grows from round to round: %d, %d bytes", empty, left)
		}
	}
}

// sizeOf is what the database takes on the disk with everything written back.
func sizeOf(t *testing.T, s *Store) int64 {
	t.Helper()
	if err := s.emptyLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	return int64(len(files(t, s.path)))
}
