package wordpress_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
	if installed.root != "" {
		os.RemoveAll(installed.root)
	}
	os.Exit(code)
}
