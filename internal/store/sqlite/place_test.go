//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"interlock/internal/fault"
	"interlock/internal/store"
)

// Root may open and change anything, so the mode of a device that everybody
// needs would be gone if the store tried before it looked.
func TestAPlaceThatHoldsNoOrdinaryFileIsRefusedAndNotTouched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"a folder": {makeFolder, "is a folder"},
		"a socket": {makeSocket, "is no ordinary file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			c.make(t, path)
			before := mode(t, path)
			s, err := Open(t.Context(), Config{Path: path})
			if err == nil {
				s.Close()
			}
			if detail := fault.Of(err).Detail; !errors.Is(err, store.ErrPlace) || !strings.Contains(detail, c.want) || !strings.Contains(detail, path) {
				t.Errorf("got %v, want database_unwritable, the path and %q", err, c.want)
			}
			if got := mode(t, path); got != before {
				t.Errorf("the mode is %v now, and was %v", got, before)
			}
			if _, err := os.Stat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a lock file was left beside it: %v", err)
			}
		})
	}
}

func makeFolder(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func makeSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
