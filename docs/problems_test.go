package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/problem"
)

const problems = "docs/problems.md"

// kinds are the names under which source code writes the kinds.
var kinds = map[string]fault.Kind{
	"Internal": fault.Internal, "Invalid": fault.Invalid, "Forbidden": fault.Forbidden, "NotFound": fault.NotFound,
	"Conflict": fault.Conflict, "Exhausted": fault.Exhausted, "Unavailable": fault.Unavailable, "Unauthenticated": fault.Unauthenticated,
}

// codes returns the codes of every fault that the program makes, each with the
// statuses that it travels as.
func codes(t *testing.T) map[string][]int {
	t.Helper()
	found := map[string][]int{}
	add := func(code string, status int) {
		if !slices.Contains(found[code], status) {
			found[code] = append(found[code], status)
		}
	}
	for name, src := range sources(t, false) {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if kind, code, ok := newFault(n); ok {
				add(code, problem.From(fault.New(kind, code, "")).Status)
			}
			return true
		})
	}
	return found
}

// newFault reads the two calls that make a fault: New(fault.Kind, "code", …)
// and, on a list of problems, Refuse("code", "what"), which is Invalid.
func newFault(n ast.Node) (fault.Kind, string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return 0, "", false
	}
	switch name := last(call.Fun); {
	case name == "New" && len(call.Args) >= 3:
		kind, known := kinds[last(call.Args[0])]
		code, literal := literalText(call.Args[1])
		return kind, code, known && literal
	case name == "Refuse" && len(call.Args) == 2:
		code, literal := literalText(call.Args[0])
		return fault.Invalid, code, literal && codeShape.MatchString(code)
	}
	return 0, "", false
}

// codeShape tells a code from the sentence that a driver's Refuse begins with.
var codeShape = regexp.MustCompile(`^[a-z_]+$`)

// literalText returns the value of a string literal.
func literalText(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// last returns the last name of an expression such as x or p.x.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func TestEveryProblemHasItsRow(t *testing.T) {
	t.Parallel()
	var documented, real []string
	made := codes(t)
	for code := range made {
		real = append(real, code)
	}
	doc := read(t, problems)
	for _, section := range []string{"## Over HTTP", "## The Bridge", "## On one machine"} {
		documented = append(documented, firstWords(rows(doc, section))...)
	}
	wantSame(t, problems, documented, real)
	for _, r := range slices.Concat(rows(doc, "## Over HTTP"), rows(doc, "## The Bridge")) {
		for _, code := range words(r[0]) {
			if status, err := strconv.Atoi(r[1]); err != nil || !slices.Contains(made[code], status) {
				t.Errorf("%s gives %s the status %s; it travels as %v", problems, code, r[1], made[code])
			}
		}
	}
}

func TestEveryReasonHasItsRow(t *testing.T) {
	t.Parallel()
	doc := rows(read(t, problems), "## No decision")
	var real []string
	for _, reason := range llm.Reasons {
		real = append(real, string(reason))
	}
	wantSame(t, problems, firstWords(doc), real)
	for _, r := range doc {
		for _, code := range words(r[0]) {
			want := problem.From(&llm.Unavailable{Reason: llm.Reason(code)}).Status
			if r[1] != strconv.Itoa(want) {
				t.Errorf("%s gives %s the status %s, want %d", problems, code, r[1], want)
			}
		}
	}
}
