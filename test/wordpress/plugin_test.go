package wordpress_test

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built is the plugin's zip, made once.
var built struct {
	once sync.Once
	path string
}

// builtZip returns the zip that .ci/plugin makes of the sources as they are.
func builtZip(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "interlock-plugin-")
		if err != nil {
			t.Fatal(err)
		}
		built.path = filepath.Join(dir, "interlock-bridge.zip")
		buildZip(t, built.path)
	})
	return built.path
}

func buildZip(t testing.TB, path string) {
	t.Helper()
	program(t, "zip")
	run(t, exec.Command(filepath.Join(repository(t), ".ci", "plugin"), path))
}

// R-BRIDGE-9
func TestTheZipIsTheSameWheneverItIsBuilt(t *testing.T) {
	t.Parallel()
	again := filepath.Join(t.TempDir(), "again.zip")
	buildZip(t, again)
	first, err := os.ReadFile(builtZip(t))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two builds of the same sources differ")
	}
}

// R-BRIDGE-9
func TestTheZipHoldsOnlyWhatAPluginMay(t *testing.T) {
	t.Parallel()
	z, err := zip.OpenReader(builtZip(t))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if !strings.HasPrefix(f.Name, "interlock-bridge/") || strings.Contains(f.Name, "/.") {
			t.Errorf("%s is in the zip", f.Name)
		}
		switch path.Ext(f.Name) {
		case ".php", ".txt", ".css", ".js", ".pot":
		default:
			t.Errorf("%s is of a kind that a plugin's zip may not hold", f.Name)
		}
	}
	for _, want := range []string{"interlock-bridge.php", "uninstall.php", "readme.txt", "license.txt", "languages/interlock-bridge.pot"} {
		if all := strings.Join(names, "\n"); !strings.Contains(all, "interlock-bridge/"+want) {
			t.Errorf("the zip lacks %s; it holds\n%s", want, all)
		}
	}
}
