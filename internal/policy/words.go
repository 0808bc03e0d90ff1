package policy

import (
	_ "embed"
	"strings"
	"unicode"
)

//go:embed words.txt
var wordList string

// DefaultConfirmWords are the words of a Document that names none: what pays,
// buys, sends money, deletes an account or shows a password, in the languages
// that the list says. The slice is a copy.
func DefaultConfirmWords() []string {
	var words []string
	for line := range strings.Lines(wordList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, line)
		}
	}
	return words
}

// defaultWords are read once.
var defaultWords = readWords(DefaultConfirmWords())

// word is one entry of a list, ready to be looked for.
type word struct {
	text   string // as the list has it
	folded string // its words in lower case, one space before and after each
	inside bool   // written without spaces, so it may stand anywhere in a name
}

func readWords(list []string) []word {
	words := make([]word, 0, len(list))
	for _, w := range list {
		if folded := fold(w); folded != " " {
			words = append(words, word{text: w, folded: folded, inside: strings.ContainsFunc(w, unspaced)})
		}
	}
	return words
}

// unspaced reports the letters of scripts that put no space between words, or
// write small words onto others.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// confirmWord returns the first word of doc's list that a name contains.
func (doc Document) confirmWord(names []string) (string, bool) {
	words := defaultWords
	if doc.ConfirmWords != nil {
		words = readWords(doc.ConfirmWords)
	}
	for _, name := range names {
		folded := fold(name)
		for _, w := range words {
			if strings.Contains(folded, w.folded) || w.inside && strings.Contains(folded, strings.TrimSpace(w.folded)) {
				return w.text, true
			}
		}
	}
	return "", false
}

// fold makes of a name its words in lower case with one space around each, so
// that "Pay now!", "pay_now" and "btnPayNow" all hold " pay now ". Whatever
// is no letter and no digit parts words, and so does a capital after a small
// letter. Marks on letters stay.
func fold(name string) string {
	var b strings.Builder
	b.WriteByte(' ')
	apart, small := true, false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			if !apart {
				b.WriteByte(' ')
			}
			apart, small = true, false
			continue
		case unicode.IsUpper(r) && small:
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		apart, small = false, unicode.IsLower(r)
	}
	if !apart {
		b.WriteByte(' ')
	}
	return b.String()
}
