package webdriver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// The phone that the browser plays.
const (
	width, height = 412, 915 // CSS pixels
	pixelRatio    = 2.625
	userAgent     = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36"
	startPage     = "about:blank"
)

// Options tune a Browser. The zero value is a browser without screenshots.
type Options struct {
	ID          string // "": "chromium"
	Screenshots bool
	ImageEdge   int // see device.NewScreenshot
}

// Browser is one browser with the screen of a phone. It implements
// device.Driver.
type Browser struct {
	opts    Options
	session client
	version string
	host    string // of the page that was seen last; set by Observe, and so not by two at once

	closing sync.Once
	stop    func() // the driver and the browser
	folder  string // of the profile, and what else they write
}

// Open starts the browser. Its errors are faults: device_missing where a
// program is not installed, device_failed and device_lost where it does not
// start.
func Open(ctx context.Context, o Options) (_ *Browser, err error) {
	if o.ID == "" {
		o.ID = "chromium"
	}
	b := &Browser{opts: o}
	if b.folder, err = makeFolder(); err != nil {
		return nil, err
	}
	url, stop, err := startDriver(ctx, b.folder)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.folder))
	}
	b.stop = stop
	b.session = client{base: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}
	if err := b.begin(ctx); err != nil {
		return nil, errors.Join(failed(err, false), b.Close())
	}
	return b, nil
}

// begin makes the session.
func (b *Browser) begin(ctx context.Context) error {
	args := []string{"--headless=new", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(b.folder, "profile")}
	if os.Geteuid() == 0 { // its sandbox refuses root
		args = append(args, "--no-sandbox")
	}
	want := map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName":             "chrome",
		"unhandledPromptBehavior": "ignore", // a dialog is part of the scene
		"timeouts":                map[string]int{"pageLoad": 20_000, "script": 10_000},
		"goog:chromeOptions": map[string]any{"args": args, "mobileEmulation": map[string]any{
			"deviceMetrics": map[string]any{"width": width, "height": height, "pixelRatio": pixelRatio, "touch": true, "mobile": true},
			"userAgent":     userAgent,
		}},
	}}}
	var made struct {
		SessionID    string `json:"sessionId"`
		Capabilities struct {
			BrowserVersion string `json:"browserVersion"`
		} `json:"capabilities"`
	}
	if err := b.session.call(ctx, http.MethodPost, "/session", want, &made); err != nil {
		return err
	}
	if made.SessionID == "" {
		return errors.New("webdriver: a session without an id")
	}
	b.session.base += "/session/" + made.SessionID
	b.version = made.Capabilities.BrowserVersion
	return nil
}

// Info describes the browser.
func (b *Browser) Info(context.Context) (device.Info, error) {
	return device.Info{ID: b.opts.ID, Platform: "web", Model: "Chromium with the screen of a phone", Version: b.version}, nil
}

// closeTime is how long a browser may take to end by itself.
const closeTime = 5 * time.Second

// Close ends the browser and forgets its profile.
func (b *Browser) Close() (err error) {
	b.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		b.session.call(ctx, http.MethodDelete, "", nil, nil) // it is ended all the same
		b.stop()
		b.session.http.CloseIdleConnections()
		err = b.clear(ctx)
	})
	return err
}

// clear removes the browser's folder. What is left of the browser may write to
// it for a moment more.
func (b *Browser) clear(ctx context.Context) error {
	for {
		err := os.RemoveAll(b.folder)
		if err == nil {
			return nil
		}
		if sleep.For(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("remove the browser's folder: %w", err)
		}
	}
}
