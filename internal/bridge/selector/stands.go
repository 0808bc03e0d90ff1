package selector

import (
	"strings"
	"unicode/utf8"
)

// Stands reports whether the value stands in the instruction by itself.
//
// A value of digits, with or without single separators between them, stands
// where one whole number of the instruction has the same digits, whatever
// separators either uses: "51824753556" stands in "ABN 51 824 753 556, please".
// Any other value must be there byte for byte, and nothing may be glued to its
// ends: "Bakery" doesn't stand in "Bakeryville". An empty value never stands.
func Stands(instruction, value string) bool {
	if digits, ok := asNumber(value); ok {
		return holdsNumber(instruction, digits)
	}
	return holdsText(instruction, value)
}

// asNumber returns the digits of a value that is one number and nothing else.
func asNumber(value string) (string, bool) {
	if value == "" || !isDigit(rune(value[0])) {
		return "", false
	}
	n := numbers{text: value}
	digits := n.run()
	return digits, n.at == len(value)
}

func holdsNumber(instruction, digits string) bool {
	n := numbers{text: instruction}
	for {
		found, ok := n.next()
		if !ok || found == digits {
			return ok
		}
	}
}

func holdsText(instruction, value string) bool {
	if value == "" || !utf8.ValidString(value) {
		return false
	}
	n := numbers{text: instruction}
	for from := 0; ; {
		i := strings.Index(instruction[from:], value)
		if i < 0 {
			return false
		}
		start := from + i
		if n.edge(start, true) && n.edge(start+len(value), false) {
			return true
		}
		_, size := utf8.DecodeRuneInString(instruction[start:])
		from = start + size
	}
}

// edge reports whether a text may begin or end at i: a digit there as a number
// may, and anything else where not both sides of the edge are glue.
func (n *numbers) edge(i int, begins bool) bool {
	outside, _ := n.before(i)
	inside, _ := n.after(i)
	if !begins {
		outside, inside = inside, outside
	}
	switch {
	case isDigit(inside) && begins:
		return n.opens(i) && !n.digitBefore(i)
	case isDigit(inside):
		return n.closes(i) && !n.digitAfter(i)
	default:
		return !isGlue(outside) || !isGlue(inside)
	}
}

// digitBefore reports whether a run of digits goes on before i, over a
// separator: a text may begin in the middle of a run, and a number never does.
func (n *numbers) digitBefore(i int) bool {
	r, size := n.before(i)
	beyond, _ := n.before(i - size)
	return isSeparator(r) && isDigit(beyond)
}

func (n *numbers) digitAfter(i int) bool {
	r, size := n.after(i)
	beyond, _ := n.after(i + size)
	return isSeparator(r) && isDigit(beyond)
}
