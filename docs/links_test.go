package docs_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	symbols = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// pages returns every Markdown page of the project by its path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{".", "docs", "docs/adr"} {
		entries, err := os.ReadDir(path.Join(top, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if path.Ext(e.Name()) == ".md" {
				name := path.Join(dir, e.Name())
				found[name] = read(t, name)
			}
		}
	}
	return found
}

func TestNoLinkLeadsNowhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for name, page := range all {
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(path.Join(top, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s, but %s has no such heading", name, m[1], to)
			}
		}
	}
}

// anchors returns the names under which the headings of a page are linked.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		plain := symbols.ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return found
}
