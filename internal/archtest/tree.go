package archtest

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// tree is the Go files of one module by room.
type tree struct {
	module string
	files  map[string][]file
}

// file is one Go file: what it imports of its module, by room, and from
// elsewhere, by import path.
type file struct {
	path      string
	test      bool
	rooms     []string
	elsewhere []string
}

// readTree reads the imports of every Go file of the module, whatever its
// build tags. Nested modules and the folders that the go command passes over
// are left out.
func readTree(fsys fs.FS) (tree, error) {
	module, err := moduleName(fsys)
	if err != nil {
		return tree{}, err
	}
	t := tree{module: module, files: map[string][]file{}}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skip(fsys, name)
		case passedOver(d.Name()) || path.Ext(name) != ".go":
			return nil
		}
		f, err := t.readFile(fsys, name)
		if err != nil {
			return err
		}
		room := roomOf(path.Dir(name))
		t.files[room] = append(t.files[room], f)
		return nil
	})
	return t, err
}

// skip returns fs.SkipDir for a folder that holds none of the module's code.
func skip(fsys fs.FS, name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if passedOver(base) || base == "testdata" || base == "vendor" || base == "node_modules" {
		return fs.SkipDir
	}
	_, err := fs.Stat(fsys, path.Join(name, "go.mod"))
	switch {
	case err == nil:
		return fs.SkipDir // a nested module
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// passedOver is the go command's rule for names.
func passedOver(base string) bool {
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func roomOf(dir string) string { return strings.TrimPrefix(dir, "internal/") }

func (t tree) readFile(fsys fs.FS, name string) (file, error) {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return file{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return file{}, fmt.Errorf("read imports: %w", err)
	}
	f := file{path: name, test: strings.HasSuffix(name, "_test.go")}
	for _, spec := range parsed.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, fmt.Errorf("read imports: %s: %w", name, err)
		}
		if under(t.module, imp) {
			rel := strings.TrimPrefix(strings.TrimPrefix(imp, t.module), "/")
			f.rooms = append(f.rooms, roomOf(path.Clean(rel)))
		} else {
			f.elsewhere = append(f.elsewhere, imp)
		}
	}
	return f, nil
}

func moduleName(fsys fs.FS) (string, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mod)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`), nil
		}
	}
	return "", errors.New("go.mod names no module")
}
