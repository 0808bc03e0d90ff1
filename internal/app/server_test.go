package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/app"
	"interlock/internal/fault"
	"interlock/internal/serve/operators"
	"interlock/internal/store"
)

// running is a server that serves until the test ends, or until stop.
func running(t *testing.T, c app.ServerConfig) (s *app.Server, stop func()) {
	t.Helper()
	c.Listen, c.Grace = "127.0.0.1:0", time.Second
	s, err := app.NewServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	return s, stop
}

func get(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(b)
}

func TestTheFirstTokenIsMadeOnceInTheLifeOfADatabase(t *testing.T) {
	t.Parallel()
	c := app.ServerConfig{Database: filepath.Join(t.TempDir(), "made", "interlock.db")}
	s, stop := running(t, c)
	token := s.FirstToken()
	if status, body := get(t, s.OperatorsURL()+operators.PathStatus, token.Reveal()); status != http.StatusOK {
		t.Errorf("with the first token: %d %s", status, body)
	}
	if status, _ := get(t, s.OperatorsURL()+operators.PathStatus, "x"); status != http.StatusUnauthorized {
		t.Errorf("with another: %d, want 401", status)
	}
	stop()
	again, _ := running(t, c)
	if !again.FirstToken().Empty() {
		t.Error("a second start made another first token")
	}
	if status, _ := get(t, again.OperatorsURL()+operators.PathStatus, token.Reveal()); status != http.StatusOK {
		t.Errorf("after a restart the first token gets %d", status)
	}
}

func TestEachDoorMayHaveAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	s, _ := running(t, app.ServerConfig{Database: filepath.Join(t.TempDir(), "interlock.db"), ListenHosts: "localhost:0"})
	if s.HostsURL() == s.OperatorsURL() {
		t.Fatalf("both doors are at %s", s.HostsURL())
	}
	for _, path := range []string{operators.PathStatus, "/metrics", "/healthz"} {
		if status, _ := get(t, s.HostsURL()+path, s.FirstToken().Reveal()); status != http.StatusNotFound {
			t.Errorf("the hosts' door answers %s with %d, want 404", path, status)
		}
	}
	if status, _ := get(t, s.OperatorsURL()+"/internal/v1/poll", ""); status != http.StatusNotFound {
		t.Errorf("the operators' door answers a poll with %d, want 404", status)
	}
}

func TestMetricsCountWithoutNaming(t *testing.T) {
	t.Parallel()
	s, _ := running(t, app.ServerConfig{Database: filepath.Join(t.TempDir(), "interlock.db")})
	status, body := get(t, s.OperatorsURL()+"/metrics", "")
	if status != http.StatusOK {
		t.Fatalf("metrics: %d", status)
	}
	for _, name := range []string{"interlock_polls_held 0", "interlock_tasks_submitted_total 0", "interlock_decision_log_bytes 0", "interlock_decides_in_flight 0", "go_goroutines "} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("metrics lack %q", name)
		}
	}
}

func TestAServerThatCantBeBuiltGivesEverythingBack(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	base := app.ServerConfig{Database: filepath.Join(dir, "interlock.db"), Listen: "127.0.0.1:0"}
	tests := []struct {
		name   string
		change func(*app.ServerConfig)
		code   string
	}{
		{"the port is taken", func(c *app.ServerConfig) { c.Listen = taken.Addr().String() }, "address_in_use"},
		{"the second port is taken", func(c *app.ServerConfig) { c.ListenHosts = taken.Addr().String() }, "address_in_use"},
		{"no such address", func(c *app.ServerConfig) { c.Listen = "192.0.2.1:1" }, "address_unusable"},
		{"half of a key pair", func(c *app.ServerConfig) { c.TLSCert = "cert.pem" }, "tls_incomplete"},
		{"a provider without a model", func(c *app.ServerConfig) { c.Planner = app.Planner{Enabled: true, Provider: app.OpenAI} }, "model_missing"},
		{"a cap below zero", func(c *app.ServerConfig) { c.Caps.Concurrent = -1 }, "invalid_settings"},
	}
	for _, tt := range tests { // one database: what one attempt kept, the next would miss
		c := base
		tt.change(&c)
		if _, err := app.NewServer(t.Context(), c); fault.Of(err).Code != tt.code {
			t.Errorf("%s: %v, want code %s", tt.name, err, tt.code)
		}
	}
	s, err := app.NewServer(t.Context(), base)
	if err != nil {
		t.Fatalf("after the failures: %v", err)
	}
	if _, err := app.NewServer(t.Context(), base); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a second server on one database: %v, want %v", err, store.ErrInUse)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}
