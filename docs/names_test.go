package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

var goName = regexp.MustCompile(`^\*?([a-z]+)\.([A-Z][A-Za-z]*)$`)

// exported returns what the packages declare at their top, as "package.Name".
func exported(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for name, src := range sources(t, false) {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			for _, ident := range declared(decl) {
				found[parsed.Name.Name+"."+ident] = true
			}
		}
	}
	return found
}

// declared returns the names of types and functions that a declaration makes,
// and of variables and constants.
func declared(decl ast.Decl) []string {
	var found []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			found = append(found, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				found = append(found, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					found = append(found, name.Name)
				}
			}
		}
	}
	return found
}

func TestTheNamesInThePagesExist(t *testing.T) {
	t.Parallel()
	known := exported(t)
	for page, text := range pages(t) {
		for _, word := range words(text) {
			if goName.MatchString(word) && !known[strings.TrimPrefix(word, "*")] {
				t.Errorf("%s speaks of %s, which no package declares", page, word)
			}
		}
	}
}

func TestTheRoomsInTheArchitectureExist(t *testing.T) {
	t.Parallel()
	const page = "docs/architecture.md"
	rooms := map[string]bool{}
	for name := range sources(t, false) {
		rooms[strings.TrimPrefix(path.Dir(name), "internal/")] = true
	}
	rooms["store/storetest"] = true // left out of sources, since it is for tests
	for _, r := range rows(read(t, page), "## Where to look") {
		for _, word := range words(r[1]) {
			if !rooms[word] {
				t.Errorf("%s sends the reader to %s, which is not a room", page, word)
			}
		}
	}
}
