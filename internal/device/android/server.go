package android

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"interlock/internal/fault"
)

// DefaultServer is where adb servers listen unless told otherwise.
const DefaultServer = "127.0.0.1:5037"

// Limits of one exchange with the server.
const (
	dialTime   = 3 * time.Second
	serverTime = 5 * time.Second // of a question that the server answers by itself
	startTime  = 20 * time.Second
	maxRequest = 0xffff // the protocol has four hexadecimal digits for it
	maxAnswer  = 64 << 10
	maxRefusal = 200 // bytes of a refusal's text that are kept
)

// Program tells whether adb is there; the fault device_missing names the line
// that installs it on Debian.
func Program() error {
	if _, err := exec.LookPath("adb"); err != nil {
		return fault.New(fault.NotFound, "device_missing", "adb is not installed; on Debian: apt-get install -y --no-install-recommends adb")
	}
	return nil
}

// server is an adb server.
type server struct {
	address string
	asIs    bool // it is not started where it does not run
}

// refusal is what the server answers instead of doing something.
type refusal string

func (r refusal) Error() string { return "adb: " + string(r) }

// errCut is a connection that ended where an answer was due.
var errCut = errors.New("adb: the connection ended in the middle")

// errNoServer is an address at which no server answers.
var errNoServer = errors.New("adb: no server answers")

// conn is one connection to the server. Whatever blocks on it ends with the
// context that it was dialled with.
type conn struct {
	net.Conn
	ctx  context.Context
	stop func() bool
}

// Close ends the connection.
func (c *conn) Close() error {
	c.stop()
	return c.Conn.Close()
}

// dial connects to the server, and starts one on this machine if none runs.
func (s server) dial(ctx context.Context) (*conn, error) {
	c, err := s.dialOnce(ctx)
	if err == nil || ctx.Err() != nil || s.asIs || !s.local() {
		return c, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s.dialOnce(ctx)
}

func (s server) dialOnce(ctx context.Context) (*conn, error) {
	d := net.Dialer{Timeout: dialTime}
	nc, err := d.DialContext(ctx, "tcp", s.address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %w", errNoServer, err)
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	return &conn{nc, ctx, stop}, nil
}

// local reports whether the server would run on this machine.
func (s server) local() bool {
	host, _, err := net.SplitHostPort(s.address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || (ip != nil && ip.IsLoopback()))
}

// start has adb start its server, which stays when this process ends.
func (s server) start(ctx context.Context) error {
	if err := Program(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return fmt.Errorf("adb: the server's address: %w", err)
	}
	cmd := exec.CommandContext(ctx, "adb", "-P", port, "start-server")
	cmd.Env = append(os.Environ(), "ADB_SERVER_SOCKET=")
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w, and none can be started; see why with: adb -P %s start-server: %w", errNoServer, port, err)
	}
	return nil
}

// ask sends one request and waits for the server's leave.
func (c *conn) ask(request string) error {
	if len(request) > maxRequest {
		return fmt.Errorf("adb: a request of %d bytes is too long", len(request))
	}
	if _, err := fmt.Fprintf(c, "%04x%s", len(request), request); err != nil {
		return c.broken(err)
	}
	return c.leave()
}

// leave reads OKAY, or FAIL with its reason.
func (c *conn) leave() error {
	var word [4]byte
	if _, err := io.ReadFull(c, word[:]); err != nil {
		return c.broken(err)
	}
	switch string(word[:]) {
	case "OKAY":
		return nil
	case "FAIL":
		text, err := c.text()
		if err != nil {
			return err
		}
		return refusal(text[:min(len(text), maxRefusal)])
	}
	return errors.New("adb: the server does not speak adb's protocol")
}

// text reads a string with its length in front.
func (c *conn) text() (string, error) {
	var word [4]byte
	if _, err := io.ReadFull(c, word[:]); err != nil {
		return "", c.broken(err)
	}
	n, err := strconv.ParseUint(string(word[:]), 16, 16)
	if err != nil || n > maxAnswer {
		return "", errors.New("adb: the server does not speak adb's protocol")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return "", c.broken(err)
	}
	return string(b), nil
}

// broken says why the connection ended: the context's cause where that was it.
func (c *conn) broken(err error) error {
	switch {
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	}
	return fmt.Errorf("adb: the connection broke: %w", err)
}

// query asks the server itself and returns its answer.
func (s server) query(ctx context.Context, request string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, serverTime, errSlow)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.ask(request); err != nil {
		return "", err
	}
	return c.text()
}

// Listed is one phone as the server lists it.
type Listed struct {
	Serial string
	State  string // "device" for one that can be driven; else "offline", "unauthorized" …
	Model  string // as far as known, with "_" for spaces
}

// Ready reports whether the phone can be driven.
func (l Listed) Ready() bool { return l.State == stateReady }

const stateReady = "device"

// List asks the adb server at address (DefaultServer where that is "") which
// phones it knows.
func List(ctx context.Context, address string) ([]Listed, error) {
	return serverAt(address).list(ctx)
}

// ListRunning is List where the server runs already; it starts none.
func ListRunning(ctx context.Context, address string) ([]Listed, error) {
	s := serverAt(address)
	s.asIs = true
	return s.list(ctx)
}

func (s server) list(ctx context.Context) ([]Listed, error) {
	answer, err := s.query(ctx, "host:devices-l")
	if err != nil {
		return nil, kindOf(err).Because(err)
	}
	return readList(answer), nil
}

func serverAt(address string) server {
	if address == "" {
		address = DefaultServer
	}
	return server{address: address}
}

// readList reads lines of "SERIAL state key:value …". A state can be several
// words: "no permissions (…)".
func readList(answer string) []Listed {
	var out []Listed
	for line := range strings.Lines(answer) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		l := Listed{Serial: fields[0], State: fields[1]}
		for _, f := range fields[2:] {
			if model, ok := strings.CutPrefix(f, "model:"); ok {
				l.Model = model
			}
		}
		out = append(out, l)
	}
	return out
}
