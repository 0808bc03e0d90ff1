package docs_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const requirements = "docs/requirements.md"

var id = regexp.MustCompile(`\bR-[A-Z]+-[0-9]+\b`)

// proofs returns the test files that name each id.
func proofs(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name, src := range sources(t, true) {
		if name == "docs/requirements_test.go" {
			continue // it reads the map and proves nothing on it
		}
		for _, i := range id.FindAllString(src, -1) {
			if !slices.Contains(found[i], name) {
				found[i] = append(found[i], name)
			}
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

func TestTheRequirementsNameTheTestsThatProveThem(t *testing.T) {
	t.Parallel()
	doc, proven := read(t, requirements), proofs(t)
	if *update {
		doc = withProofs(doc, proven)
		if err := os.WriteFile(path.Join(top, requirements), []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listed := map[string]bool{}
	for _, r := range slices.Concat(rows(doc, "## Built"), rows(doc, "## Built in part")) {
		listed[r[0]] = true
		switch {
		case len(r) != 3:
			t.Errorf("%s: the row of %s has %d cells, want 3", requirements, r[0], len(r))
		case len(words(r[2])) == 0:
			t.Errorf("%s says that %s is built and names no test; run go test ./docs -update", requirements, r[0])
		default:
			wantNamed(t, r[0], words(r[2]), proven[r[0]])
		}
	}
	for _, r := range rows(doc, "## Not built yet") {
		listed[r[0]] = true
		if tests := proven[r[0]]; len(tests) > 0 {
			t.Errorf("%s says that %s is not built, but %q name it", requirements, r[0], tests)
		}
	}
	for i := range proven {
		if !listed[i] {
			t.Errorf("%q name %s, which is not in %s", proven[i], i, requirements)
		}
	}
}

// wantNamed reports the files that the page gives for an id and that don't
// name it. That the page lacks one is no fault: an update adds it.
func wantNamed(t *testing.T, id string, page, real []string) {
	t.Helper()
	for _, file := range page {
		if !slices.Contains(real, file) {
			t.Errorf("%s says that %s proves %s, which it does not name; run go test ./docs -update", requirements, file, id)
		}
	}
}

func TestNoRequirementStandsTwice(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, r := range rows(read(t, requirements), "") {
		count[r[0]]++
	}
	for _, i := range slices.Sorted(maps.Keys(count)) {
		if !id.MatchString(i) || count[i] != 1 {
			t.Errorf("%s: %q starts %d rows, want an id that starts one", requirements, i, count[i])
		}
	}
}

// withProofs rewrites the third column of the built requirements.
func withProofs(doc string, proven map[string][]string) string {
	head, rest, _ := strings.Cut(doc, "## Not built yet")
	var out []string
	for _, line := range strings.Split(head, "\n") {
		if i := id.FindString(line); strings.HasPrefix(line, "| R-") {
			what := strings.TrimSpace(strings.Split(line, "|")[2])
			line = fmt.Sprintf("| %s | %s | %s |", i, what, ticks(proven[i]))
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n") + "## Not built yet" + rest
}

func ticks(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, "`"+n+"`")
	}
	return strings.Join(out, ", ")
}
