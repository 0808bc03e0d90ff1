package wordpress_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock/internal/logtest"
	"interlock/internal/waittest"
)

// wordpress is one WordPress with the plugin active, for one test.
type wordpress struct {
	t    testing.TB
	url  string // as browsers reach it: over the wire
	root string // the web root
	key  signingKey
	wire *wire // between browsers and the site; nil: it is not served
}

// signingKey is a site's key in its file.
type signingKey struct {
	private *rsa.PrivateKey
	path    string
	pem     string
}

// newKey makes a key and writes it as the settings page tells people to.
func newKey(t testing.TB) signingKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	k := signingKey{private: private, path: filepath.Join(t.TempDir(), "interlock.pem"),
		pem: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
	if err := os.WriteFile(k.path, []byte(k.pem), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// lines are the inner lines of the key's PEM, any of which gives it away.
func (k signingKey) lines() []string {
	all := strings.Split(strings.TrimSpace(k.pem), "\n")
	return all[1 : len(all)-1]
}

// installed is a web root with everything but WordPress's core, which it links
// to: the plugin out of its zip, and the database after the installation.
var installed struct {
	once sync.Once
	root string
	done bool
}

// install installs WordPress once for all tests and returns its web root.
func install(t testing.TB) string {
	t.Helper()
	installed.once.Do(func() {
		root, err := os.MkdirTemp("", "interlock-wordpress-")
		if err != nil {
			t.Fatal(err)
		}
		installed.root = root
		furnish(t, root)
		version := run(t, phpIn(t, root, unserved, "", filepath.Join("testdata", "site", "install.php")))
		t.Logf("WordPress %s of %s", strings.TrimSpace(version), *suite)
		installed.done = true
	})
	if !installed.done {
		t.Fatal("WordPress could not be installed: another test says why")
	}
	return installed.root
}

// furnish fills a web root.
func furnish(t testing.TB, root string) {
	t.Helper()
	from, core := unpacked(t), coreOf(t)
	names, err := os.ReadDir(core)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if n.Name() != "wp-content" {
			if err := os.Symlink(filepath.Join(core, n.Name()), filepath.Join(root, n.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	content := filepath.Join(root, "wp-content")
	for _, dir := range []string{"plugins", "mu-plugins", "themes", "database"} {
		if err := os.MkdirAll(filepath.Join(content, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyFolder(t, filepath.Join(from, "sqlite-database-integration"), filepath.Join(content, "plugins", "sqlite-database-integration"))
	copyFile(t, filepath.Join(from, "sqlite-database-integration", "db.copy"), filepath.Join(content, "db.php"))
	copyFile(t, filepath.Join("testdata", "site", "offline.php"), filepath.Join(content, "mu-plugins", "offline.php"))
	run(t, exec.Command(program(t, "unzip"), "-q", builtZip(t), "-d", filepath.Join(content, "plugins")))
}

func coreOf(t testing.TB) string { return filepath.Join(unpacked(t), "usr", "share", "wordpress") }

func copyFolder(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// phpIn is a run of PHP with the settings of the site at root; keyFile "" names
// no key.
func phpIn(t testing.TB, root, url, keyFile string, args ...string) *exec.Cmd {
	t.Helper()
	config, err := filepath.Abs(filepath.Join("testdata", "site", "wp-config.php"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t, *php), args...)
	cmd.Env = append(os.Environ(), "WORDPRESS_CORE="+coreOf(t), "WORDPRESS_CONFIG="+config, "WORDPRESS_ROOT="+root, "WORDPRESS_URL="+url, "PHP_CLI_SERVER_WORKERS=4")
	if keyFile != "" {
		cmd.Env = append(cmd.Env, "WORDPRESS_KEY_FILE="+keyFile)
	}
	return cmd
}

// newSite makes a site of its own for the test, with a key of its own, that no
// server serves: scripts can run inside it.
func newSite(t testing.TB) *wordpress {
	t.Helper()
	w := &wordpress{t: t, url: unserved, root: t.TempDir(), key: newKey(t)}
	copyInstalled(t, install(t), w.root)
	t.Cleanup(w.checkLog)
	return w
}

// unserved is the address of a site that nobody can reach.
const unserved = "http://127.0.0.1:1"

// newWordPress makes a site and serves it.
func newWordPress(t testing.TB) *wordpress {
	t.Helper()
	w := newSite(t)
	address := freeAddress(t)
	w.wire = newWire(t, "http://"+address)
	w.url = w.wire.URL
	w.serve(address)
	return w
}

// copyInstalled copies what differs between sites and links to the rest.
func copyInstalled(t testing.TB, from, to string) {
	t.Helper()
	names, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		switch target, err := os.Readlink(filepath.Join(from, n.Name())); {
		case err == nil:
			if err := os.Symlink(target, filepath.Join(to, n.Name())); err != nil {
				t.Fatal(err)
			}
		case n.IsDir():
			copyFolder(t, filepath.Join(from, n.Name()), filepath.Join(to, n.Name()))
		}
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve runs PHP's server, with workers, so that two requests really meet. It
// and all its workers are ended with the test: one left behind would answer
// for a later site.
func (w *wordpress) serve(address string) {
	w.t.Helper()
	cmd := phpIn(w.t, w.root, w.url, w.key.path, "-S", address, "-t", w.root, filepath.Join("testdata", "site", "router.php"))
	said, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	inGroupOfItsOwn(cmd)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	log := &logtest.Log{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if line := lines.Text(); !strings.HasSuffix(line, " Accepted") && !strings.HasSuffix(line, " Closing") {
				fmt.Fprintln(log, line)
			}
		}
	}()
	w.t.Cleanup(func() {
		endGroup(cmd)
		<-read
		cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("PHP's server:\n%s", log.String())
		}
	})
	// Its own word, and not an answer at the address: that could be somebody else's.
	waittest.Until(w.t, time.Minute, "PHP's server has started", func() bool { return strings.Contains(log.String(), address+") started") })
}

// checkLog fails the test if WordPress or PHP complained about anything.
func (w *wordpress) checkLog() {
	if b, err := os.ReadFile(filepath.Join(w.root, "debug.log")); err == nil {
		w.t.Errorf("WordPress's log is not empty:\n%s", b)
	}
}

// inside runs a script of testdata/inside within the site and returns what it
// printed.
func (w *wordpress) inside(script string, args ...string) string {
	w.t.Helper()
	path := filepath.Join("testdata", "inside", script)
	return run(w.t, phpIn(w.t, w.root, w.url, w.key.path, append([]string{path}, args...)...))
}

// withKey runs a script within the site as if the constant named that key
// file; "" names none.
func (w *wordpress) withKey(path, script string) string {
	w.t.Helper()
	return run(w.t, phpIn(w.t, w.root, w.url, path, filepath.Join("testdata", "inside", script)))
}

func ecKey(t testing.TB) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// smallKey is one that is too small to trust.
func smallKey(t testing.TB) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
}

func publicPEM(t testing.TB, k signingKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}
