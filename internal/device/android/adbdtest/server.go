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
	s := &Server{Address: FreeAddress(t), home: home}
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
	poll(t, s.answers, func() string { return "the adb server does not answer" })
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

// End ends a server at address that the code under test has started itself.
func End(t testing.TB, address string) {
	t.Helper()
	s := &Server{Address: address}
	s.Ask("host:kill") // it may end before it answers
	poll(t, func() bool { return !s.answers() }, func() string { return "the adb server goes on" })
}

// FreeAddress is an address at which nothing listens.
func FreeAddress(t testing.TB) string {
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
// driven. While the server is still letting go of an old connection it says
// that the phone is connected already, so it is asked again.
func (s *Server) Connect(t testing.TB, p *Phone) {
	t.Helper()
	s.await(t, p, "device", func() { s.Ask("host:connect:" + p.Serial()) })
}

// Await waits until the server lists the phone in that state; "" for not at
// all.
func (s *Server) Await(t testing.TB, p *Phone, state string) {
	t.Helper()
	s.await(t, p, state, func() {})
}

func (s *Server) await(t testing.TB, p *Phone, want string, meanwhile func()) {
	t.Helper()
	found := ""
	poll(t, func() bool {
		meanwhile()
		found = s.state(p)
		return found == want
	}, func() string {
		return fmt.Sprintf("the adb server lists the phone as %q, want %q", found, want)
	})
}

// state is what the server lists the phone as, "" where it does not.
func (s *Server) state(p *Phone) string {
	list, err := s.Ask("host:devices")
	if err != nil {
		return "no answer: " + err.Error()
	}
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == p.Serial() {
			return f[1]
		}
	}
	return ""
}

// answers reports whether a server answers.
func (s *Server) answers() bool {
	_, err := s.Ask("host:version")
	return err == nil
}

// poll looks until ok holds; after thirty seconds the test fails with why.
func poll(t testing.TB, ok func() bool, why func() string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(why() + " after 30 s")
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
