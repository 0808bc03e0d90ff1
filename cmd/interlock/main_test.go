package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"interlock": main, "hold": hold})
}

// TestTranscripts runs the program as a person would; testdata holds one file
// a subject: decided through the server and directly (R-PLAN-4, R-CLOUD-7),
// the stub (R-PLAN-6), a task's whole life (R-CLOUD-10), its decisions read
// back (R-CLOUD-8), who changed what (R-GOV-0), and the bridge for a tenant and its
// site, from nothing to a governed call (R-BRIDGE-1, R-BRIDGE-2, R-BRIDGE-5).
func TestTranscripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: isolate,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "ready": awaitReady, "appears": awaitFile, "limit": limitFiles, "capture": capture, "certificate": makeCertificate,
			"sitekey": writeSiteKey, "ask": callAsSite},
	})
}

// isolate gives a script a free port and folders of its own.
func isolate(env *testscript.Env) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	address := l.Addr().String()
	env.Setenv("ADDRESS", address)
	env.Setenv("PORT", strings.TrimPrefix(address, "127.0.0.1"))
	env.Setenv("INTERLOCK_LISTEN", address)
	env.Setenv("INTERLOCK_SERVER", "http://"+address)
	env.Setenv("INTERLOCK_STATE_DIR", filepath.Join(env.WorkDir, "state"))
	env.Setenv("TMPDIR", env.WorkDir)
	env.Setenv("TOMORROW", time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339))
	return nil
}

// exitCode runs a command that must end with the code: code 2 interlock …
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code NUMBER COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// capture sets a variable to what a group of a regular expression matches in
// the last standard output: capture NAME REGEXP
func capture(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("no match for %s in stdout", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// patience bounds every wait of a script.
const patience = 30 * time.Second

// await asks done until it is true.
func await(ts *testscript.TestScript, what string, done func(context.Context) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// awaitReady waits until the server of the script serves.
func awaitReady(ts *testscript.TestScript, _ bool, _ []string) {
	address := "http://" + ts.Getenv("ADDRESS") + "/readyz"
	await(ts, address, func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		ts.Check(err)
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
}

// awaitFile waits until a file exists and has content, which matches where an
// expression is given: appears FILE [REGEXP]
func awaitFile(ts *testscript.TestScript, _ bool, args []string) {
	name, want := ts.MkAbs(args[0]), regexp.MustCompile(".")
	if len(args) > 1 {
		want = regexp.MustCompile(args[1])
	}
	await(ts, strings.Join(args, " "), func(context.Context) bool {
		content, err := os.ReadFile(name)
		return err == nil && want.Match(content)
	})
}

// limitFiles runs a command under a limit of the size of files, in KiB, which
// is what a full disk looks like to it: limit CODE KIB COMMAND…
func limitFiles(ts *testscript.TestScript, _ bool, args []string) {
	line := fmt.Sprintf(`trap "" XFSZ; ulimit -f %s; exec "$@"`, args[1])
	exitCode(ts, false, append([]string{args[0], "bash", "-c", line, "limited"}, args[2:]...))
}

// makeCertificate writes a key pair for 127.0.0.1 that signs itself:
// certificate CERT KEY
func makeCertificate(ts *testscript.TestScript, _ bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}
