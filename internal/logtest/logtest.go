// Package logtest is the log that a test reads: it keeps in memory what the
// rooms under test write, from as many goroutines as they like, while the test
// looks at what is there so far.
package logtest

import (
	"bytes"
	"log/slog"
	"sync"
)

// Log is everything written to it, in order. The zero value is empty and ready;
// it must not be copied once used.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

// Write adds p and never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String is what has been written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Logger writes records of every level to l as text, a line each.
func (l *Log) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
