package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// recheckAfter is how old a look at the files may be: a renewed certificate is
// in use so long after it was written, at the latest.
const recheckAfter = 5 * time.Second

// Certificate is a TLS key pair in two files, read again when they change. If
// the new pair can't be read (half of it is written), the one before stays in
// use and the next handshake after a while tries again.
type Certificate struct {
	certFile, keyFile string
	now               func() time.Time
	logger            *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate // guarded by mu, like the rest
	seen    [2]stamp
	checked time.Time
}

// stamp tells one version of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

// LoadCertificate reads the pair for the first time.
func LoadCertificate(certFile, keyFile string, now func() time.Time, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: now, logger: logger}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.checked = now()
	return c, nil
}

// Config returns the TLS settings of a listener that shows this certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.current}
}

func (c *Certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.checked) >= recheckAfter {
		c.checked = now
		if err := c.load(); err != nil {
			c.logger.Warn("new TLS certificate refused; the one before stays in use", KeyCause, err.Error())
		}
	}
	return c.pair, nil
}

// load reads the files if they are not those that were read last.
func (c *Certificate) load() error {
	var stamps [2]stamp
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read TLS certificate: %w", err)
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	if c.pair != nil && stamps == c.seen {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read TLS certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.seen = &pair, stamps
	return nil
}
