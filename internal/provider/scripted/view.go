package scripted

import (
	"regexp"
	"slices"
	"strings"
)

// view is a user prompt as the rules see it.
type view struct {
	prompt   string
	elements []element
}

// element is one line of the screen.
type element struct {
	line, ref, role string
	shown           []string // its text, label and id
}

var (
	elementLine = regexp.MustCompile(`^\[([^\]\s]{1,64})\] (\S+)(.*)$`)
	quoted      = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	unquote     = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

func see(prompt string) view {
	v := view{prompt: prompt}
	for line := range strings.Lines(prompt) {
		line = strings.TrimRight(line, "\r\n")
		m := elementLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		e := element{line: line, ref: m[1], role: m[2]}
		for _, q := range quoted.FindAllStringSubmatch(m[3], -1) {
			e.shown = append(e.shown, unquote.Replace(q[1]))
		}
		v.elements = append(v.elements, e)
	}
	return v
}

// hold reports whether every condition is met.
func (c conditions) hold(v view) bool {
	inPrompt := func(s string) bool { return strings.Contains(v.prompt, s) }
	return all(c.Screen, v.shows) && !slices.ContainsFunc(c.ScreenLacks, v.shows) &&
		all(c.Prompt, inPrompt) && !slices.ContainsFunc(c.PromptLacks, inPrompt) &&
		(c.pattern == nil || c.pattern.MatchString(v.prompt))
}

func all(texts []string, holds func(string) bool) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !holds(s) })
}

func (v view) shows(text string) bool {
	return slices.ContainsFunc(v.elements, func(e element) bool { return strings.Contains(e.line, text) })
}

// find returns the ref of the element that shows exactly the text, else of the
// first that shows it among other text.
func (v view) find(f find) (ref string, found bool) {
	for _, fits := range []func(shown string) bool{
		func(shown string) bool { return shown == f.Find },
		func(shown string) bool { return strings.Contains(shown, f.Find) },
	} {
		for _, e := range v.elements {
			if (f.Role == "" || f.Role == e.role) && slices.ContainsFunc(e.shown, fits) {
				return e.ref, true
			}
		}
	}
	return "", false
}
