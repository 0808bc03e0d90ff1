package android

import (
	"context"
	"log/slog"
	"time"

	"interlock/internal/sleep"
)

// How long to wait before a server is asked again that did not answer.
const (
	firstRetry = time.Second
	longRetry  = 30 * time.Second
)

// Watch tells found which phones the adb server at address (DefaultServer where
// that is "") knows: at once, and each time that changes. While no server
// answers there is no phone. It blocks until ctx ends.
func Watch(ctx context.Context, address string, log *slog.Logger, found func([]Listed)) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for wait := firstRetry; ; wait = min(2*wait, longRetry) {
		err := watchOnce(ctx, serverAt(address), func(l []Listed) {
			wait = firstRetry
			found(l)
		})
		if ctx.Err() != nil {
			return
		}
		found(nil)
		log.Warn("the adb server is not there; it is asked again", "server", address, "again_in", wait, "error", err)
		if sleep.For(ctx, wait) != nil {
			return
		}
	}
}

// watchOnce follows one connection until it ends.
func watchOnce(ctx context.Context, s server, found func([]Listed)) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.ask("host:track-devices-l"); err != nil {
		return err
	}
	for {
		list, err := c.text()
		if err != nil {
			return err
		}
		found(readList(list))
	}
}
