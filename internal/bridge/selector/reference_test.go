package selector

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"interlock/internal/bridge/abn"
)

// The rules for numbers once more, as patterns over what stands before and
// behind the longest run: slow, and written independently of the scanner.
const (
	separator = `[ \x{a0}\x{2007}\x{2009}\x{202f}\x{2212}\x{2010}-\x{2015}-]`
	hyphen    = `[\x{2010}\x{2011}-]`
	// Formats, private use, what Unicode lets programs leave undrawn (RE2 has
	// no name for that), and controls that are no space.
	invisible = `[\p{Cf}\p{Co}` +
		`\x{34f}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{2065}\x{3164}\x{fe00}-\x{fe0f}\x{ffa0}\x{fff0}-\x{fff8}\x{e0000}-\x{e0fff}` +
		`\x00-\x08\x0e-\x1f\x7f-\x{84}\x{86}-\x{9f}]`
	glue = `(?:[\pL\pM\pN\p{Pc}]|` + invisible + `)`
)

var (
	run        = regexp.MustCompile(`[0-9](?:` + separator + `?[0-9])*`)
	namedAbove = regexp.MustCompile(`(?i:abn)` + hyphen + `?$`)
	afterGlue  = regexp.MustCompile(glue + `(?i:abn)` + hyphen + `?$`)
	tiedAbove  = regexp.MustCompile(`(?:\+|` + glue + `|\p{Nd}[./]|` + glue + hyphen + `|(?:\p{Nd}|` + invisible + `)` + separator + `)$`)
	tiedBelow  = regexp.MustCompile(`^(?:` + glue + `|[./]\p{Nd}|` + hyphen + glue + `|` + separator + `(?:\p{Nd}|` + invisible + `))`)
	noDigit    = regexp.MustCompile(`[^0-9]`)
)

// near is more bytes than any rule looks across.
const near = 32

// referenceNumbers returns the numbers of the text.
func referenceNumbers(text string) []string {
	var out []string
	for _, at := range run.FindAllStringIndex(text, -1) {
		above, below := text[max(at[0]-near, 0):at[0]], text[at[1]:min(at[1]+near, len(text))]
		named := namedAbove.MatchString(above) && !afterGlue.MatchString(above)
		if (tiedAbove.MatchString(above) && !named) || tiedBelow.MatchString(below) {
			continue
		}
		out = append(out, noDigit.ReplaceAllString(text[at[0]:at[1]], ""))
	}
	return out
}

// referenceABN judges by the set of the distinct numbers that could be meant
// as an ABN.
func referenceABN(text string) (string, Reason) {
	meant := slices.DeleteFunc(referenceNumbers(text), func(n string) bool { return len(n) != 11 || n[0] == '0' })
	slices.Sort(meant)
	switch meant = slices.Compact(meant); len(meant) {
	case 0:
		return "", NoMatch
	case 1:
		if _, err := abn.Parse(meant[0]); err != nil {
			return "", InvalidChecksum
		}
		return meant[0], ""
	default:
		return "", Ambiguous
	}
}

func scanned(text string) []string {
	var out []string
	n := numbers{text: text}
	for digits, ok := n.next(); ok; digits, ok = n.next() {
		out = append(out, digits)
	}
	return out
}

// pieces are what instructions are drawn from, so that edges meet often.
var pieces = []string{validABN, anotherABN, wrongABN, "51 824 753 556", "51", "824", "753", "556", "0", "5", " ", "  ", "-", "\u2011", "\u2014", "\u00a0",
	"\u2002", "\n", "\t", "\x00", "\u0085", ".", "/", ",", ":", "+", "(", ")", "ABN", "abn", "X", "é", "e\u0301", "_", "谢", "５", "٥", "²", "\u200b", "\u00ad", "\ufe0f",
	"\u3164", "\ue000", "\U000e0041", " and ", "INV", "$", "#", "\ufffd"}

// R-BRIDGE-3
func TestTheScannerAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 12).Draw(t, "text"), "")
		agree(t, text)
	})
}

// reporter is what testing and rapid share.
type reporter interface {
	Fatalf(format string, args ...any)
}

func agree(t reporter, text string) {
	if got, want := scanned(text), referenceNumbers(text); !slices.Equal(got, want) {
		t.Fatalf("%q: got numbers %q, want %q", text, got, want)
	}
	number, reason := findABN(text)
	if want, why := referenceABN(text); number.String() != want || reason != why {
		t.Fatalf("%q: got %q %q, want %q %q", text, number, reason, want, why)
	}
}

// short is what the reference takes microseconds for. The rules look no further
// than a few runes, so that longer texts say nothing new about them.
const short = 400

// FuzzScan holds for any valid text: the scanner is linear, agrees with the
// reference, and what it finds passes Parse and stands in the text. R-BRIDGE-3
func FuzzScan(f *testing.F) {
	for _, p := range pieces {
		f.Add(p)
		f.Add("ABN " + validABN + p + validABN)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > MaxInstruction {
			return
		}
		n := numbers{text: text}
		for _, ok := n.next(); ok; _, ok = n.next() {
		}
		if n.steps > stepsPerRune*len(text)+stepsPerRune {
			t.Fatalf("%q: %d steps for %d bytes", text, n.steps, len(text))
		}
		if len(text) <= short {
			agree(t, text)
		}
		number, reason := findABN(text)
		if reason != "" {
			if number != (abn.Number{}) {
				t.Fatalf("%q: %q beside the reason %q", text, number, reason)
			}
			return
		}
		if again, err := abn.Parse(number.String()); err != nil || again != number || !Stands(text, number.String()) || !Stands(text, number.Spaced()) {
			t.Fatalf("%q: found %q, which is %v or doesn't stand in it", text, number, err)
		}
	})
}
