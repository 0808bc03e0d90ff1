package host_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/host"
	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
	"interlock/internal/secret"
)

// calm timings let hours pass with few calls.
var calm = hostapi.Timings{LeaseMS: 3_600_000, RenewMS: 600_000, SelfFenceMS: 2_400_000, FreshMS: 1_200_000, PollHoldMS: 900_000, DecideSlackMS: 2_000}

// file is the credential file as it is on disk.
type file struct {
	Server  string `json:"server"`
	HostID  string `json:"host_id"`
	Current struct {
		Credential string    `json:"credential"`
		IssuedAt   time.Time `json:"issued_at"`
		ExpiresAt  time.Time `json:"expires_at"`
	} `json:"current"`
	Next *struct {
		Credential string `json:"credential"`
	} `json:"next"`
}

func (w *world) path() string { return filepath.Join(w.cfg.StateDir, "credential.json") }

func (w *world) credentialFile(t *testing.T) (f file) {
	t.Helper()
	b, err := os.ReadFile(w.path())
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// R-HOST-1
func TestEnrolmentWritesAFileForThisUserAlone(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		info, err := os.Stat(w.path())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has mode %v, %v; want 0600", info.Mode(), err)
		}
		f := w.credentialFile(t)
		if f.Server != w.cfg.Server || f.HostID != "host-1" || !strings.HasPrefix(f.Current.Credential, "ilk_host_") || f.Next != nil {
			t.Errorf("the file names server %q, host %q", f.Server, f.HostID)
		}
		if life := f.Current.ExpiresAt.Sub(f.Current.IssuedAt); life != 30*24*time.Hour {
			t.Errorf("the lifetime on file is %v", life)
		}
		if err := host.Enroll(t.Context(), w.cfg, w.EnrolToken()); fault.Of(err).Code != "already_enrolled" {
			t.Errorf("a second enrolment: %v, want already_enrolled", err)
		}
		if w.Hosts() != 1 {
			t.Errorf("%d hosts", w.Hosts())
		}
	})
}

// R-HOST-1
func TestOpenRefusesWhatItCannotTrust(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, w *world)
		code  string
	}{
		"a file that a group may read":   {func(t *testing.T, w *world) { must(t, os.Chmod(w.path(), 0o640)) }, "state_file_mode"},
		"a file that everybody may read": {func(t *testing.T, w *world) { must(t, os.Chmod(w.path(), 0o604)) }, "state_file_mode"},
		"a link to a file": {func(t *testing.T, w *world) {
			must(t, os.Rename(w.path(), w.path()+".real"))
			must(t, os.Symlink(w.path()+".real", w.path()))
		}, "state_file"},
		"a damaged file": {func(t *testing.T, w *world) { must(t, os.WriteFile(w.path(), []byte(`{"server":`), 0o600)) }, "state_file"},
		"an empty file":  {func(t *testing.T, w *world) { must(t, os.WriteFile(w.path(), []byte(`{}`), 0o600)) }, "state_file"},
		"no file":        {func(t *testing.T, w *world) { must(t, os.Remove(w.path())) }, "host_not_enrolled"},
		"another server": {func(_ *testing.T, w *world) { w.cfg.Server = "https://elsewhere.example" }, "wrong_server"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				c.spoil(t, w)
				calls := len(w.Arrived())
				h, err := host.Open(w.cfg, tapping(1, 0))
				if err == nil {
					h.Close()
				}
				if f := fault.Of(err); f == nil || f.Code != c.code || strings.Contains(f.Error(), "ilk_host_") {
					t.Errorf("got %v, want %s and no secret", err, c.code)
				}
				if len(w.Arrived()) != calls {
					t.Error("a call was made")
				}
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneProcessAStateFolder(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		h, err := host.Open(w.cfg, tapping(1, 0))
		must(t, err)
		if _, err := host.Open(w.cfg, tapping(1, 0)); fault.Of(err).Code != "host_running" {
			t.Errorf("a second Open: %v, want host_running", err)
		}
		h.Close()
		h, err = host.Open(w.cfg, tapping(1, 0))
		must(t, err)
		h.Close()
	})
}

// R-HOST-1
func TestTheCredentialRotatesByItself(t *testing.T) {
	for name, trouble := range map[string]hostapitest.Fault{
		"at once":                nil,
		"after a lost answer":    hostapitest.CutAnswer,
		"after a broken network": hostapitest.DropCall,
		"after a proxy's page":   hostapitest.Page(503),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{CredentialLife: 4 * time.Hour, Timings: calm}, func(t *testing.T, w *world) {
				if trouble != nil {
					w.Inject("rotate", 1, trouble)
				}
				h := w.run(t, tapping(1, 0))
				time.Sleep(3*time.Hour - time.Minute)
				if n := w.Calls("rotate"); n != 0 {
					t.Errorf("rotated %d times before 75%% of the lifetime", n)
				}
				first := w.credentialFile(t).Current.Credential
				time.Sleep(2 * time.Minute)
				f := w.credentialFile(t)
				if _, used := w.Credentials(); !used || f.Next != nil || f.Current.Credential == first {
					t.Errorf("new one used: %v, on file with another: %v, file unchanged: %v", used, f.Next != nil, f.Current.Credential == first)
				}
				time.Sleep(24 * time.Hour) // several lifetimes
				if got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"})); got.Result.State != "succeeded" {
					t.Errorf("ended %s", got.Result.State)
				}
				h.end(t)
			})
		})
	}
}

// R-HOST-1: wherever a crash falls in a rotation, the file holds a credential
// that works.
func TestARotationSurvivesACrashAtEachPoint(t *testing.T) {
	rotated := func(t *testing.T, w *world) { // rotates, and no call gets through with the new one
		w.Inject("rotate", 1, func(s *hostapitest.Server, rw http.ResponseWriter, r *http.Request, handle http.Handler) {
			s.Break(hostapitest.DropCall)
			handle.ServeHTTP(rw, r)
		})
		h := w.run(t, tapping(1, 0))
		time.Sleep(3*time.Hour + time.Second)
		h.end(t)
		w.Break(nil)
	}
	for name, c := range map[string]struct {
		crash func(t *testing.T, w *world)
		made  int
	}{
		"before the call": {func(*testing.T, *world) {}, 1},
		"after the call and before the write": {func(t *testing.T, w *world) {
			before, err := os.ReadFile(w.path())
			must(t, err)
			rotated(t, w)
			must(t, os.WriteFile(w.path(), before, 0o600))
		}, 3},
		"after the write and before the first use": {func(t *testing.T, w *world) {
			rotated(t, w)
			if w.credentialFile(t).Next == nil {
				t.Error("the file does not hold both")
			}
		}, 2},
		"after the write, and the server forgot it": {func(t *testing.T, w *world) {
			rotated(t, w)
			w.ForgetNewest()
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{CredentialLife: 4 * time.Hour, Timings: calm}, func(t *testing.T, w *world) {
				c.crash(t, w)
				h := w.run(t, tapping(1, 0))
				if got := w.await(t, w.Submit(hostapi.Assignment{Goal: "count"})); got.Result.State != "succeeded" {
					t.Errorf("ended %s", got.Result.State)
				}
				time.Sleep(time.Minute)
				made, used := w.Credentials()
				if f := w.credentialFile(t); made != c.made || !used || f.Next != nil {
					t.Errorf("%d credentials made, the newest used: %v, two on file: %v; want %d made", made, used, f.Next != nil, c.made)
				}
				h.end(t)
			})
		})
	}
}

func TestAWrongTokenIsRefusedInOneSentence(t *testing.T) {
	inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
		w.cfg.StateDir = t.TempDir()
		token := secret.Mint(secret.EnrolToken).Value
		err := host.Enroll(t.Context(), w.cfg, token)
		if f := fault.Of(err); f.Code != "enrol_token_invalid" || strings.Contains(fmt.Sprintf("%+v", err), token.Reveal()) {
			t.Errorf("got %v, want enrol_token_invalid without the token", err)
		}
		if w.Calls("enroll") != 2 { // the world's own, and this one
			t.Errorf("a final answer was asked for %d times", w.Calls("enroll")-1)
		}
		if _, err := os.Stat(w.path()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a credential file is there: %v", err)
		}
	})
}

func TestEnrolmentDoesNotWaitForEver(t *testing.T) {
	for name, trouble := range map[string]hostapitest.Fault{"nobody listens": hostapitest.DropCall, "nobody answers": hostapitest.Swallow, "a proxy answers": hostapitest.Page(502)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				w.cfg.StateDir = t.TempDir()
				w.Inject("enroll", 1000, trouble)
				began := time.Now()
				err := host.Enroll(t.Context(), w.cfg, w.EnrolToken())
				if f := fault.Of(err); f.Kind != fault.Unavailable || time.Since(began) > 10*time.Second {
					t.Errorf("got %v after %v, want unavailable within 10s", err, time.Since(began))
				}
			})
		})
	}
}

func TestSettingsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	good := host.Config{Server: "https://control.example", StateDir: "state", Name: "n", Devices: []host.Device{(&phone{}).offer("p1")}}
	if err := good.Validate(); err != nil {
		t.Fatalf("good settings: %v", err)
	}
	for server, want := range map[string]string{
		"http://127.0.0.1:8420": "", "http://[::1]:8420": "", "http://localhost:8420/": "", "https://10.0.0.7": "",
		"http://10.0.0.7:8420": "plain http", "http://localhost.example:8420": "plain http", "http://127.0.0.1.example": "plain http",
		"ftp://x": "https://", "control.example": "form", "https://u:p@control.example": "form", "https://control.example/api": "form", "https://control.example/?q": "form", "": "form",
	} {
		c := good
		c.Server = server
		err := c.Validate()
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("server %q: got %v, want %q", server, err, want)
		}
	}
	bad := host.Config{Server: "http://far.example", Slots: -1, DrainTime: -1, Devices: []host.Device{{}, (&phone{}).offer("a"), (&phone{}).offer("a")}}
	err := bad.Validate()
	for _, want := range []string{"plain http", "state folder", "name", "slots", "drain time", `device ""`, "listed twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %q", err, want)
		}
	}
}

// R-HOST-1: over TLS only a control plane that the CA file vouches for is
// believed.
func TestTheCAFileIsTheOnlyRoot(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"host_id":"h1","credential":"ilk_host_x","lifetime_ms":1000,"old_valid_ms":0,"timings":{}}`)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	t.Cleanup(srv.Close)
	cfg := host.Config{Server: srv.URL, StateDir: t.TempDir(), Name: "n", Devices: []host.Device{(&phone{}).offer("p1")}}
	if err := host.Enroll(t.Context(), cfg, secret.New("token")); fault.Of(err).Code != "server_certificate" {
		t.Errorf("an unknown certificate: %v, want server_certificate", err)
	}
	cfg.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(cfg.CAFile, []byte("not a certificate"), 0o600))
	if err := host.Enroll(t.Context(), cfg, secret.New("token")); fault.Of(err).Code != "ca_file" {
		t.Errorf("a damaged CA file: %v, want ca_file", err)
	}
	must(t, os.WriteFile(cfg.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	must(t, host.Enroll(t.Context(), cfg, secret.New("token")))
}
