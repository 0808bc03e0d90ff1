package selector

import "testing"

// R-BRIDGE-3
func TestStands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instruction, value string
		want               bool
	}{
		"digits, written otherwise":                  {"ABN 51 824 753 556, please", "51824753556", true},
		"digits, with separators of their own":       {"ABN 51824753556", "51-824-753-556", true},
		"part of a longer number":                    {"card 5182 4753 5560 2024", "51824753556", false},
		"the end of a run":                           {"51824753556 2024", "2024", false},
		"a number that a letter is glued to":         {"INV51824753556", "51824753556", false},
		"an invented number":                         {"Look up Example Pty Ltd", "51824753556", false},
		"digits with a newline":                      {"51824753556", "51824753556\n", false},
		"a word":                                     {"Find the Bakery, please", "Bakery", true},
		"words":                                      {"Find Example Pty Ltd today", "Example Pty Ltd", true},
		"part of a word":                             {"Find Bakeryville", "Bakery", false},
		"part of a word, then the word":              {"Find Bakeryville Bakery", "Bakery", true},
		"another case":                               {"find bakery", "Bakery", false},
		"a word before a number":                     {"order 66", "order", true},
		"a number within words":                      {"order 66 now", "order 66", true},
		"words that end in the middle of a number":   {"order 66 77", "order 66", false},
		"words that begin in the middle of a number": {"66 77 orders", "77 orders", false},
		"a word with a mark":                         {"cafe\u0301", "cafe", false},
		"punctuation":                                {"is 5 > 3?", ">", true},
		"nothing":                                    {"anything", "", false},
		"bytes that are no text":                     {"a\xff", "\xff", false},
		"everything":                                 {"51 824 753 556", "51 824 753 556", true},
		"longer than the instruction":                {"5", "51", false},
	} {
		if got := Stands(c.instruction, c.value); got != c.want {
			t.Errorf("%s: Stands(%q, %q) is %v", name, c.instruction, c.value, got)
		}
	}
}
