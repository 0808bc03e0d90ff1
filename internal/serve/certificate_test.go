package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/logtest"
	"interlock/internal/serve"
)

// issue writes a self-signed pair for name.
func issue(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARenewedCertificateIsUsedAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	issue(t, certFile, keyFile, "first.example")
	now := time.Now()
	log := &logtest.Log{}
	c, err := serve.LoadCertificate(certFile, keyFile, func() time.Time { return now }, log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	// shown is the name on the certificate that a handshake would get.
	shown := func() string {
		pair, err := c.Config().GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.Subject.CommonName
	}
	// renewed moves the files' time, which may be too coarse to have moved.
	renewed := func() {
		now = now.Add(time.Minute)
		for _, f := range []string{certFile, keyFile} {
			if err := os.Chtimes(f, now, now); err != nil {
				t.Fatal(err)
			}
		}
	}

	issue(t, certFile, keyFile, "second.example")
	if got := shown(); got != "first.example" {
		t.Errorf("right after the renewal: got %s, want the one in use", got)
	}
	renewed()
	if got := shown(); got != "second.example" {
		t.Errorf("a minute after the renewal: got %s, want the new one", got)
	}
	write(t, certFile, []byte("half a certificate"))
	renewed()
	if got := shown(); got != "second.example" || !strings.Contains(log.String(), "stays in use") {
		t.Errorf("with a broken file: got %s and the log\n%s", got, log)
	}
	issue(t, certFile, keyFile, "third.example")
	renewed()
	if got := shown(); got != "third.example" {
		t.Errorf("repaired: got %s, want the new one", got)
	}
}

func TestAMissingCertificateIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	_, err := serve.LoadCertificate("no-such-cert.pem", "no-such-key.pem", time.Now, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "no-such-cert.pem") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestAServerWithACertificateSpeaksTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	issue(t, certFile, keyFile, "interlock.example")
	log := slog.New(slog.DiscardHandler)
	c, err := serve.LoadCertificate(certFile, keyFile, time.Now, log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := serve.NewMux(log)
	m.HandleFunc("GET /proto", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	server := &serve.Server{Listeners: []serve.Listener{{Listener: listener, Handler: serve.Kit{Logger: log}.Wrap(m)}}, Certificate: c, Logger: log}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	roots := x509.NewCertPool()
	pemCert, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(pemCert)
	for _, want := range []string{"HTTP/2.0", "HTTP/1.1"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "interlock.example"}, ForceAttemptHTTP2: want == "HTTP/2.0"}
		res, err := (&http.Client{Transport: transport}).Get("https://" + listener.Addr().String() + "/proto")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %s", got, err, want)
		}
		transport.CloseIdleConnections()
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run returned %v", err)
	}
}
