package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"testing"
)

// option is one row of the program's own table of settings, as far as it is
// written in literals.
type option struct {
	name, flag, fallback string
	secret               bool
}

// options reads the composite literals of cmd/interlock that have a name: and
// a doc:.
func options(t *testing.T) []option {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path.Join(top, "cmd/interlock/settings.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []option
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			if o, ok := readOption(lit); ok {
				found = append(found, o)
			}
		}
		return true
	})
	if len(found) == 0 {
		t.Fatal("cmd/interlock/settings.go holds no table of settings that this test can read")
	}
	return found
}

func readOption(lit *ast.CompositeLit) (option, bool) {
	var o option
	documented := false
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return option{}, false
		}
		value := ""
		if b, ok := kv.Value.(*ast.BasicLit); ok {
			value, _ = strconv.Unquote(b.Value)
		}
		switch last(kv.Key) {
		case "name":
			o.name = value
		case "flag":
			o.flag = value
		case "fallback":
			o.fallback = value
		case "secret":
			o.secret = last(kv.Value) == "true"
		case "doc":
			documented = true
		}
	}
	return o, o.name != "" && documented
}

func TestEverySettingHasItsRow(t *testing.T) {
	t.Parallel()
	const page = "docs/settings.md"
	table := rows(read(t, page), "")
	var real []string
	for _, o := range options(t) {
		real = append(real, o.name)
		if o.secret {
			real = append(real, o.name+"_FILE")
		}
		i := slices.IndexFunc(table, func(r row) bool { return slices.Contains(words(r[0]), o.name) })
		if i < 0 {
			continue // reported below
		}
		r := table[i]
		if len(r) != 5 {
			t.Errorf("%s: the row of %s has %d cells, want 5", page, o.name, len(r))
			continue
		}
		if o.flag != "" && r[1] != "`--"+o.flag+"`" || o.flag == "" && r[1] != "" {
			t.Errorf("%s gives %s the flag %s, the program %q", page, o.name, r[1], o.flag)
		}
		if o.fallback != "" && r[3] != "`"+o.fallback+"`" {
			t.Errorf("%s gives %s the default %s, the program %q", page, o.name, r[3], o.fallback)
		}
	}
	wantSame(t, page, firstWords(table), real)
}
