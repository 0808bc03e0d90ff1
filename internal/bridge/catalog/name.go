package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reserved are the words that no app has as its id: they stand, or may come to
// stand, where sites' paths have an app.
var Reserved = []string{
	"agent", "api", "app", "apps", "assets", "bridge_platform", "console", "docs", "healthz", "internal", "metrics",
	"openapi", "operator", "operators", "platform", "readyz", "static", "v1", "v2",
}

// Limits of names.
const (
	maxName       = 32 // bytes of an app's id and of an operation's name
	maxToolName   = 64 // bytes of both together with what joins them, as vendors take them
	maxCapability = 100
	maxTitle      = 100  // bytes
	maxText       = 1000 // bytes of a description
	maxTenantID   = 64
	maxTenantName = 100 // characters
	maxPlan       = 64
)

// WellFormed reports whether name could be an app's id or an operation's name.
func WellFormed(name string) bool {
	return len(name) <= maxName && word(name, "_")
}

// word reports whether s begins with a small letter and goes on with those,
// digits and the characters of extra.
func word(s, extra string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && only(s, extra)
}

const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// only reports whether s has nothing but small letters, digits and the
// characters of extra.
func only(s, extra string) bool {
	return strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(extra, c)
	}) < 0
}

// dotted reports whether s is a capability: words with a dot between them, two
// at least.
func dotted(s string) bool {
	words := strings.Split(s, ".")
	return len(s) <= maxCapability && len(words) >= 2 && !slices.ContainsFunc(words, func(w string) bool { return !word(w, "_") })
}

// legible reports whether s is UTF-8 that a terminal and a page can show as it
// is.
func legible(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}
