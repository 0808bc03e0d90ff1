package selector

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// numbers reads the numbers of a text in order. A number, as people write one,
// is a run of ASCII digits, with single separators between them, that stands by
// itself:
//
//   - A separator is a space (also a no-break, figure, thin or narrow one), a
//     hyphen, a dash or a minus. Two in a row end the number, and so does
//     everything else: a comma, a bracket, a tab, the end of a line.
//   - The run is as long as it can be. "51824753556 2024" is one number of 15
//     digits, and no 11 of them are one: nobody can tell a number that is
//     followed by another from a longer one, such as that of a card.
//   - A number that something is glued to is none: a letter, a mark, an
//     underscore, a digit of another script, or something that nobody sees,
//     such as a zero-width space; nor is one after '+'. A letter that a hyphen
//     joins to it is glued, as in INV-51824753556, and so is a digit behind a
//     single '.' or '/', as in 51824753556.50. A digit of another script, or
//     something invisible, counts behind a single separator too.
//   - The word ABN, in any case, may be glued to the beginning: ABN51824753556.
//
// Reading is one pass: each rune is looked at a few times at most.
type numbers struct {
	text  string
	at    int // up to here text is read
	steps int // runes looked at, for the proof that it is linear
}

// next returns the digits of the next number; ok is false at the end.
func (n *numbers) next() (digits string, ok bool) {
	for n.at < len(n.text) {
		r, size := n.after(n.at)
		if !isDigit(r) {
			n.at += size
			continue
		}
		start := n.at
		digits := n.run()
		if n.opens(start) && n.closes(n.at) {
			return digits, true
		}
	}
	return "", false
}

// run reads digits and the single separators between them, from one digit to
// behind the last.
func (n *numbers) run() string {
	var digits strings.Builder
	for {
		digits.WriteByte(n.text[n.at])
		n.at++
		r, size := n.after(n.at)
		if isSeparator(r) {
			if r, _ = n.after(n.at + size); isDigit(r) {
				n.at += size
			}
		}
		if !isDigit(r) {
			return digits.String()
		}
	}
}

// opens reports whether a number may begin at i.
func (n *numbers) opens(i int) bool {
	r, size := n.before(i)
	if r == '+' {
		return false
	}
	if isGlue(r) {
		return n.named(i)
	}
	beyond, _ := n.before(i - size)
	return !joins(r, beyond) || (isHyphen(r) && n.named(i-size))
}

// closes reports whether a number may end at i.
func (n *numbers) closes(i int) bool {
	r, size := n.after(i)
	if isGlue(r) {
		return false
	}
	beyond, _ := n.after(i + size)
	return !joins(r, beyond)
}

// named reports whether the word ABN ends at i.
func (n *numbers) named(i int) bool {
	const name = "abn"
	if i < len(name) || !strings.EqualFold(n.text[i-len(name):i], name) {
		return false
	}
	r, _ := n.before(i - len(name))
	return !isGlue(r)
}

// joins reports whether r, next to a number, ties what is beyond it to the
// number.
func joins(r, beyond rune) bool {
	switch {
	case r == '.' || r == '/':
		return unicode.IsDigit(beyond)
	case isHyphen(r):
		return isGlue(beyond)
	case isSeparator(r):
		return unicode.IsDigit(beyond) || isInvisible(beyond)
	default:
		return false
	}
}

// none stands for the rune before the first and behind the last.
const none = '\n'

func (n *numbers) after(i int) (rune, int) {
	n.steps++
	r, size := utf8.DecodeRuneInString(n.text[min(i, len(n.text)):])
	if size == 0 {
		return none, 0
	}
	return r, size
}

func (n *numbers) before(i int) (rune, int) {
	n.steps++
	r, size := utf8.DecodeLastRuneInString(n.text[:i])
	if size == 0 {
		return none, 0
	}
	return r, size
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isHyphen(r rune) bool { return r == '-' || r == '\u2010' || r == '\u2011' }

// isSeparator: the spaces here don't break a line, apart from the ordinary and
// the thin one.
func isSeparator(r rune) bool {
	switch r {
	case ' ', '\u00a0', '\u2007', '\u2009', '\u202f', '-', '\u2212':
		return true
	}
	return '\u2010' <= r && r <= '\u2015'
}

func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		(unicode.IsControl(r) && !unicode.IsSpace(r))
}

// isGlue reports whether r makes one word with a digit beside it.
func isGlue(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc) || isInvisible(r)
}
