package device

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutMark ends a text that was cut.
const cutMark = "…"

// Clean makes text from a screen fit to show: valid UTF-8, one line, without
// control and hidden characters, without space at its ends, and at
// most limit characters (runes), cut where no visible character is torn apart.
func Clean(s string, limit int) string {
	if plain(s, limit) {
		return s
	}
	var b strings.Builder
	gap := false
	for i, r := range s {
		if i > 8*utf8.UTFMax*limit { // far beyond what can be kept, whatever is skipped
			break
		}
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			gap = b.Len() > 0
		case unicode.IsControl(r) || hidden(r) || unicode.In(r, unicode.Co, unicode.Cs):
		default:
			if gap {
				b.WriteByte(' ')
				gap = false
			}
			b.WriteRune(r) // an invalid byte arrives as U+FFFD
		}
	}
	return Cut(b.String(), limit)
}

// plain reports whether Clean has nothing to do: the common case, made cheap.
func plain(s string, limit int) bool {
	if len(s) > limit || (s != "" && (s[0] == ' ' || s[len(s)-1] == ' ')) {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || (s[i] == ' ' && s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// hidden reports the characters that reorder what is beside them or carry
// text that no person sees, which a model would read all the same.
func hidden(r rune) bool {
	switch {
	case r == '\u00ad', r == '\u061c', r == '\u180e', r == '\ufeff',
		r == '\u200b', r == '\u200e', r == '\u200f',
		r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f':
		return true
	}
	return r >= 0xe0000 && r <= 0xe01ef // tags and the second set of variation selectors
}

// Cut returns s if it has at most limit runes, else as many whole visible
// characters of it as fit with the mark "…" in limit.
func Cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	end, runes := 0, 0
	for end < len(s) {
		n := FirstCharacter(s[end:])
		runes += utf8.RuneCountInString(s[end : end+n])
		if runes > limit-1 {
			break
		}
		end += n
	}
	return strings.TrimRight(s[:end], " ") + cutMark
}

// Quote puts s, which Clean made, between double quotes that it can't close.
func Quote(s string) string {
	if !strings.ContainsAny(s, `"\`) {
		return `"` + s + `"`
	}
	return `"` + quoteEscapes.Replace(s) + `"`
}

var quoteEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// FirstCharacter returns the length in bytes of the first character of s as a
// person sees it: a letter with its accents, a flag, an emoji with its skin
// tone or a family of them. It is 0 only for "". It covers what keyboards
// produce, not every rule of Unicode's UAX 29, and never returns more than
// maxCharacterRunes runes, so that stacked accents can't grow without end.
func FirstCharacter(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if s == "" || r == '\n' {
		return n
	}
	if regional(r) {
		if r2, n2 := utf8.DecodeRuneInString(s[n:]); regional(r2) {
			return n + n2
		}
		return n
	}
	for runes := 1; n < len(s) && runes < maxCharacterRunes; runes++ {
		r2, n2 := utf8.DecodeRuneInString(s[n:])
		if !extends(r2) && r != zeroWidthJoiner {
			break
		}
		r, n = r2, n+n2
	}
	return n
}

// LastCharacter returns the length in bytes of the last character of s, in
// the sense of FirstCharacter.
func LastCharacter(s string) int {
	last := 0
	for s != "" {
		last = FirstCharacter(s)
		s = s[last:]
	}
	return last
}

const (
	zeroWidthJoiner   = '\u200d'
	maxCharacterRunes = 16
)

func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	if r < '\u0300' { // the first accent: nearly every text ends here
		return false
	}
	return r == zeroWidthJoiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) ||
		(r >= 0x1f3fb && r <= 0x1f3ff) || (r >= 0xe0020 && r <= 0xe007f)
}
