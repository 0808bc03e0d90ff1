// Package aimock starts aimock, a mock of the vendors' APIs that is not ours,
// for tests that want a provider without being able to agree with it by
// mistake. It checks no request, so it proves what we read, not what we send.
package aimock

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"interlock/internal/tool"
)

// Answer is one reply of the mock: a call, or an error.
type Answer struct {
	// When is a text that the user prompt must hold. Answers with the same
	// When are given in their order, each once; a request beyond them gets 503.
	When string
	Call tool.Call
	// Input and Output are the usage that the reply reports.
	Input, Output int
	// Always repeats the answer for every request that fits When.
	Always bool
	// Status, where set, makes the answer an error of that HTTP status with
	// the vendor's type and code.
	Status     int
	Type, Code string
	// RetryAfter goes with a 429, in whole seconds.
	RetryAfter int
}

// Server is a running mock.
type Server struct {
	URL string // http://127.0.0.1:PORT; both vendors' paths are below /v1
}

// Start runs the mock until the test ends. Flags are aimock's own, for
// instance "--chaos-malformed", "1". The test fails where Node or the package
// is missing, with the line that installs it.
func Start(t testing.TB, answers []Answer, flags ...string) *Server {
	t.Helper()
	program := filepath.Join(Folder(t), "node_modules", ".bin", "llmock")
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	b, err := json.Marshal(map[string]any{"fixtures": fixturesOf(answers)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fixtures, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"-p", "0", "-f", fixtures, "--strict", "--log-level", "info"}, flags...)...)
	cmd.WaitDelay = 5 * time.Second
	return start(t, cmd)
}

var listening = regexp.MustCompile(`listening on (http://[0-9.:]+)`)

// start waits for the line that says where the mock listens.
func start(t testing.TB, cmd *exec.Cmd) *Server {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatalf("start aimock: %v", err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var said string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said += lines.Text() + "\n"
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go drain(lines)
			return &Server{URL: m[1]}
		}
	}
	t.Fatalf("aimock ended before it listened:\n%s", said)
	return nil
}

// drain keeps the mock from blocking on a full pipe; it ends with the mock.
func drain(lines *bufio.Scanner) {
	for lines.Scan() {
	}
}

// Folder returns test/peers of this checkout. The test fails where its
// packages aren't installed.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			dir = filepath.Join(root, "test", "peers")
			break
		}
		if root == filepath.Dir(root) {
			t.Fatalf("no go.mod above %s", dir)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("Node is missing; on Debian: apt-get install -y nodejs npm")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "llmock")); errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the peers are not installed; run: npm ci --prefix test/peers")
	}
	return dir
}

// fixturesOf writes the answers as aimock wants them.
func fixturesOf(answers []Answer) []any {
	var out []any
	turn := map[string]int{}
	for _, a := range answers {
		match := map[string]any{}
		if a.When != "" {
			match["userMessage"] = a.When
		}
		if !a.Always {
			match["sequenceIndex"] = turn[a.When]
			turn[a.When]++
		}
		out = append(out, map[string]any{"match": match, "response": response(a)})
	}
	return out
}

func response(a Answer) map[string]any {
	if a.Status != 0 {
		failure := map[string]any{"message": "as told by the test", "type": a.Type, "code": a.Code}
		return map[string]any{"status": a.Status, "error": failure, "retryAfter": a.RetryAfter}
	}
	return map[string]any{
		"toolCalls": []any{map[string]any{"name": a.Call.Tool, "arguments": string(a.Call.Arguments)}},
		"usage": map[string]int{
			"prompt_tokens": a.Input, "completion_tokens": a.Output, "total_tokens": a.Input + a.Output,
			"input_tokens": a.Input, "output_tokens": a.Output,
		},
	}
}
