// Package docs_test keeps the documents true to the program: a requirement
// that is called proven is named by a test, every code, call and setting has
// its row, and no link leads nowhere.
//
// The third column of requirements.md is made from the tests, by
//
//	go test ./docs -update
package docs_test

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the columns that are made from the source")

const top = ".." // the module's root

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(path.Join(top, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sources returns the module's Go files by path: tests, or everything else
// but the rooms for tests (whose names end in "test").
func sources(t *testing.T, tests bool) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := os.DirFS(top)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case d.IsDir() && !tests && strings.HasSuffix(base, "test"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") != tests:
			return nil
		}
		b, err := fs.ReadFile(root, name)
		found[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// row is one line of a table: its cells, trimmed.
type row []string

// rows returns the lines of all tables below the heading (with its marks, for
// example "## Calls") and above the next of its rank or higher; "" means all.
// Headings of tables are left out.
func rows(doc, heading string) []row {
	var found []row
	inside, rank := heading == "", len(heading)-len(strings.TrimLeft(heading, "#"))
	lines := strings.Split(doc, "\n")
	for i, line := range lines {
		if marks := len(line) - len(strings.TrimLeft(line, "#")); marks > 0 && heading != "" {
			if line == heading {
				inside = true
			} else if marks <= rank {
				inside = false
			}
		}
		titles := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--")
		if !inside || titles || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") {
			continue
		}
		var r row
		for cell := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") {
			r = append(r, strings.TrimSpace(cell))
		}
		found = append(found, r)
	}
	return found
}

var ticked = regexp.MustCompile("`([^`]+)`")

// words returns what stands between backticks in s.
func words(s string) []string {
	var found []string
	for _, m := range ticked.FindAllStringSubmatch(s, -1) {
		found = append(found, m[1])
	}
	return found
}

// firstWords returns the ticked words of the first cells, each once.
func firstWords(rs []row) []string {
	var found []string
	for _, r := range rs {
		found = append(found, words(r[0])...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// wantSame reports what stands in only one of two lists.
func wantSame(t *testing.T, doc string, documented, real []string) {
	t.Helper()
	for _, name := range documented {
		if !slices.Contains(real, name) {
			t.Errorf("%s has a row for %s, which the program does not know", doc, name)
		}
	}
	for _, name := range real {
		if !slices.Contains(documented, name) {
			t.Errorf("%s has no row for %s", doc, name)
		}
	}
}
