package webdriver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"time"

	"interlock/internal/fault"
)

// Names of the programs, as Debian installs them.
const (
	driverProgram  = "chromedriver"
	browserProgram = "chromium"
)

// Programs tells whether the programs are there that this driver needs; the
// fault device_missing names the line that installs them on Debian.
func Programs() error {
	for _, name := range []string{driverProgram, browserProgram} {
		if _, err := exec.LookPath(name); err != nil {
			return fault.New(fault.NotFound, "device_missing", "%s is not installed; on Debian: apt-get install -y --no-install-recommends chromium chromium-driver", name)
		}
	}
	return nil
}

// startTime bounds how long ChromeDriver may take to listen.
const startTime = 20 * time.Second

var listening = regexp.MustCompile(`started successfully on port ([0-9]+)`)

// maxTemporary is how long the path of a temporary folder may be for the
// browser: it makes sockets below it, whose paths the system limits to 107 bytes.
const maxTemporary = 48

// startDriver starts ChromeDriver on a free port of loopback. Temporary is where
// it and the browser put what they need for a while. Stop ends it with
// everything that it started.
func startDriver(ctx context.Context, temporary string) (url string, stop func(), err error) {
	if err := Programs(); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(driverProgram, "--port=0", "--allowed-ips=127.0.0.1")
	own(cmd)
	if len(temporary) <= maxTemporary {
		cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start ChromeDriver: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start ChromeDriver: %w", err)
	}
	ended := make(chan struct{})
	stop = func() {
		end(cmd.Process)
		<-ended
	}
	port := make(chan string, 1)
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				port <- m[1]
				break
			}
		}
		io.Copy(io.Discard, out) // it would block on a full pipe
		cmd.Wait()
	}()
	wait := time.NewTimer(startTime)
	defer wait.Stop()
	select {
	case p := <-port:
		return "http://127.0.0.1:" + p, stop, nil
	case <-ended:
		return "", nil, fault.New(fault.Unavailable, "device_failed", "ChromeDriver ended at its start; run it by hand to see why: chromedriver --port=9515")
	case <-wait.C:
		err = fault.New(fault.Unavailable, "device_failed", "ChromeDriver did not start within %s; this machine may be too busy", startTime)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop()
	return "", nil, err
}

// makeFolder makes the folder for all that one browser writes.
func makeFolder() (string, error) {
	dir, err := os.MkdirTemp("", "interlock-chromium-*")
	if err != nil {
		return "", fmt.Errorf("make a folder for the browser: %w", err)
	}
	return dir, nil
}
