package wordpress_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	suite = flag.String("suite", "trixie", "Debian's suite that WordPress comes from; .ci/wordpress SUITE fetches it")
	php   = flag.String("php", "php", "program that runs PHP")
)

// repository is the folder of the whole.
func repository(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// pluginFolder is where the plugin's sources are.
func pluginFolder(t testing.TB) string {
	return filepath.Join(repository(t), "plugin", "wordpress", "interlock-bridge")
}

// program returns the path of the first of the programs that is there.
func program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("%s is missing; in the repository's root run: .ci/setup", names[0])
	return ""
}

// unpacked returns the folder of WordPress of the suite: what .ci/wordpress
// leaves there.
func unpacked(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(repository(t), ".cache", "wordpress", *suite)
	if _, err := os.Stat(filepath.Join(dir, "recipe")); err != nil {
		t.Fatalf("WordPress of %s is missing; in the repository's root run: .ci/wordpress %s", *suite, *suite)
	}
	return dir
}

// run runs a program and returns what it printed; the test fails if that fails.
func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
