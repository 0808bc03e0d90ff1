package docs_test

import (
	"regexp"
	"testing"
)

const cli = "docs/cli.md"

// exitConstant is a line such as "exitUsage = 2" in the program.
var exitConstant = regexp.MustCompile(`(?m)^\s+exit[A-Z][A-Za-z]*\s+= ([0-9]+)`)

func TestEveryExitCodeHasItsRow(t *testing.T) {
	t.Parallel()
	var documented, real []string
	for _, r := range rows(read(t, cli), "## Exit codes") {
		documented = append(documented, r[0])
	}
	for _, m := range exitConstant.FindAllStringSubmatch(read(t, "cmd/interlock/exit.go"), -1) {
		real = append(real, m[1])
	}
	if len(real) == 0 {
		t.Fatal("cmd/interlock/exit.go holds no exit codes that this test can read")
	}
	wantSame(t, cli, documented, real)
}
