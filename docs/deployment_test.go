package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var settingName = regexp.MustCompile(`\b(?:AI_PLANNER|ANTHROPIC|OPENAI|INTERLOCK)_[A-Z_]+\b`)

// R-CLOUD-12: the page on the cloud transport has the settings, the three
// trade-offs, the migration and the way back, in settings that exist.
func TestTheDeploymentPageIsWhole(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/CLOUD_DEPLOYMENT.md")
	for _, part := range []string{"## Set up", "**Latency.**", "**Availability.**", "**Data path.**", "## Move a fleet", "## Go back",
		"AI_PLANNER_PROVIDER", "AI_PLANNER_MODEL", "AI_PLANNER_TIMEOUT_SECONDS", "AI_PLANNER_TRANSPORT"} {
		if !strings.Contains(page, part) {
			t.Errorf("docs/CLOUD_DEPLOYMENT.md does not hold %q", part)
		}
	}
	known := firstWords(rows(read(t, "docs/settings.md"), ""))
	for _, name := range settingName.FindAllString(page, -1) {
		if !slices.Contains(known, name) {
			t.Errorf("docs/CLOUD_DEPLOYMENT.md speaks of %s, which is not a setting", name)
		}
	}
}
