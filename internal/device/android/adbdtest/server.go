package adbdtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Server is a real adb server.
type Server struct {
	Address string // host:port
	cmd     *exec.Cmd
	blocker net.Listener
	home    string
}

// Missing is the line that installs what is missing, "" where nothing is.
func Missing() string {
	if _, err := exec.LookPath("adb"); err != nil {
		return "adb is missing, which these tests need; on Debian: apt-get install -y --no-install-recommends adb"
	}
	return ""
}

// StartServer starts an adb server for one test.
func StartServer(t testing.TB) *Server {
	t.Helper()
	if m := Missing(); m != "" {
		t.Fatal(m)
	}
	home, err := os.MkdirTemp("", "adb-*")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: freePort(t), home: home}
	s.start(t)
	t.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start runs the server in the foreground, so that it is this process's to end.
func (s *Server) start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.Address)
	s.cmd = exec.Command("adb", "-P", port, "nodaemon", "server")
	s.cmd.Env = append(os.Environ(), "HOME="+s.home, "ANDROID_ADB_LOG_PATH="+s.home, "TMPDIR="+s.home, "ADB_LOCAL_TRANSPORT_MAX_PORT=5554")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := s.Ask("host:version"); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the adb server does not answer after 20 s")
		}
	}
}

// Stop ends the server. A second Stop does nothing.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

// Restart ends the server and starts it again at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	s.start(t)
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Ask sends the server one request and returns its answer.
func (s *Server) Ask(request string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Address, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "%04x%s", len(request), request)
	word := make([]byte, 4)
	if _, err := io.ReadFull(c, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	if string(word) != "OKAY" {
		return "", fmt.Errorf("adb: %s %s", word, answer)
	}
	if len(answer) >= 4 {
		answer = answer[4:]
	}
	return string(answer), err
}

// Connect has the server connect to the phone and waits until it can be
// driven.
func (s *Server) Connect(t testing.TB, p *Phone) {
	t.Helper()
	said, err := s.Ask("host:connect:" + p.Serial())
	if err != nil || !strings.Contains(said, "connected to") {
		t.Fatalf("adb connect: %q, %v", said, err)
	}
	s.Await(t, p, "device")
}

// Await waits until the server lists the phone in that state; "" for not at
// all.
func (s *Server) Await(t testing.TB, p *Phone, state string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := s.Ask("host:devices")
		found := ""
		for line := range strings.Lines(list) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == p.Serial() {
				found = f[1]
			}
		}
		if err == nil && found == state {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the adb server lists the phone as %q after 30 s, want %q", found, state)
		}
	}
}

// Block ends the server and keeps its address, so that none can be started
// there until Unblock.
func (s *Server) Block(t testing.TB) {
	t.Helper()
	s.Stop()
	l, err := net.Listen("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	s.blocker = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close() })
}

// Unblock ends Block, and starts the server again.
func (s *Server) Unblock(t testing.TB) {
	t.Helper()
	s.blocker.Close()
	s.start(t)
}
