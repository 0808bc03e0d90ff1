package webdriver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"interlock/internal/device"
	"interlock/internal/fault"
)

// Limits of one exchange with the driver.
const (
	callTimeout = 30 * time.Second
	maxAnswer   = 96 << 20 // a screenshot in base64, of the largest that device takes
)

// client speaks the W3C WebDriver protocol to one session.
type client struct {
	base string // of the driver, then of the session; without a slash at the end
	http *http.Client
}

// wireError is a refusal of the driver, by the protocol's own error code.
type wireError struct {
	Code    string `json:"error"`
	Message string `json:"message"`
}

func (e *wireError) Error() string { return "webdriver: " + e.Code }

// is reports whether err is a refusal with one of the codes.
func is(err error, codes ...string) bool {
	var w *wireError
	if !errors.As(err, &w) {
		return false
	}
	for _, c := range codes {
		if w.Code == c {
			return true
		}
	}
	return false
}

// errNotSent marks a failure from before anything was sent.
var errNotSent = errors.New("webdriver: the driver could not be connected to")

// call does one exchange. A nil body sends none; a nil out drops the value. Its
// errors are a *wireError, errNotSent in a chain, or what broke the connection;
// none holds a word of the page.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode a command: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("make a command: %w", err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.http.Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return fmt.Errorf("%w: %w", errNotSent, dial.Err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("webdriver: the connection broke: %w", errors.Unwrap(err)) // without the address
	}
	defer resp.Body.Close()
	return read(resp, out)
}

// read reads the protocol's answer: {"value": …}.
func read(resp *http.Response, out any) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("webdriver: the answer was cut: %w", err)
	case len(b) > maxAnswer:
		return fmt.Errorf("webdriver: the answer is larger than %d bytes", maxAnswer)
	}
	var answer struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(b, &answer); err != nil || answer.Value == nil {
		return fmt.Errorf("webdriver: status %d without a WebDriver answer", resp.StatusCode)
	}
	if resp.StatusCode != http.StatusOK {
		w := &wireError{}
		if err := json.Unmarshal(answer.Value, w); err != nil || w.Code == "" {
			return fmt.Errorf("webdriver: status %d without an error code", resp.StatusCode)
		}
		return w
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Value, out); err != nil {
		return errors.New("webdriver: the value is not of the kind that was asked for")
	}
	return nil
}

// failed turns an error of a call into a driver's error. Sent says whether
// something of an action had been sent before.
func failed(err error, sent bool) error {
	dispatched := device.Unknown
	if errors.Is(err, errNotSent) && !sent {
		dispatched = device.No
	}
	return device.Fail(kindOf(err).Because(err), dispatched)
}

// kindOf sorts the errors of a call.
func kindOf(err error) *fault.Error {
	var w *wireError
	switch {
	case is(err, "invalid session id", "no such window", "session not created"),
		errors.As(err, &w) && (strings.Contains(w.Message, "chrome not reachable") || strings.Contains(w.Message, "disconnected") || strings.Contains(w.Message, "tab crashed")):
		return device.ErrLost
	case errors.As(err, &w):
		return device.ErrFailed
	}
	return device.ErrLost // the driver itself does not answer
}
