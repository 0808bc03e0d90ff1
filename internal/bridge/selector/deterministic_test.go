package selector

import (
	"fmt"
	"strings"
	"testing"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
)

// Two numbers that pass the checksum, and one that doesn't.
const (
	validABN   = "51824753556"
	anotherABN = "53004085616"
	wrongABN   = "51824753557"
)

func lookupOffer() []catalog.Offer {
	return []catalog.Offer{{App: catalog.App{ID: "abn_lookup"}, Operation: catalog.Operation{Name: "lookup_v1", Capability: abn.Capability}}}
}

// R-BRIDGE-3
func TestWhatTheDeterministicSelectorMakesOfAnInstruction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instruction string
		want        Reason // "": validABN is found
	}{
		"the digits alone":                      {"51824753556", ""},
		"in a sentence":                         {"Please look up ABN 51824753556.", ""},
		"as the register prints it":             {"ABN 51 824 753 556", ""},
		"with hyphens":                          {"51-824-753-556", ""},
		"spaces and hyphens mixed":              {"51 824-753 556", ""},
		"a separator at each place":             {"5 1 8 2 4 7 5 3 5 5 6", ""},
		"no-break spaces":                       {"51\u00a0824\u00a0753\u00a0556", ""},
		"figure, thin and narrow spaces":        {"51\u2007824\u2009753\u202f556", ""},
		"hyphens and dashes of every width":     {"5\u20101\u20118\u20122\u20134\u20147\u201553556", ""},
		"minus signs":                           {"51\u2212824\u2212753\u2212556", ""},
		"a colon after ABN":                     {"ABN:51824753556", ""},
		"A.B.N.":                                {"A.B.N. 51824753556", ""},
		"A.B.N. glued":                          {"A.B.N.51824753556", ""},
		"ABN glued":                             {"ABN51824753556", ""},
		"abn glued in lower case":               {"look up abn51 824 753 556 please", ""},
		"ABN with a hyphen":                     {"ABN-51824753556", ""},
		"ABN with a number sign":                {"ABN #51824753556", ""},
		"in brackets":                           {"Example Pty Ltd (51824753556)", ""},
		"in quotes":                             {`"51824753556"`, ""},
		"before a question mark":                {"Is 51824753556 active?", ""},
		"on a line of its own":                  {"Look this up:\n51824753556\nThank you", ""},
		"between tabs":                          {"7\t51824753556\t2024", ""},
		"a dash between words":                  {"51 824 753 556 - Sydney", ""},
		"an em dash glued to a word":            {"Sydney\u201451824753556\u2014please", ""},
		"the same ABN twice":                    {"51824753556, that is 51 824 753 556", ""},
		"the same ABN on two lines":             {"51824753556\n51824753556", ""},
		"a phone number after a comma":          {"ABN 51 824 753 556, phone 0412 345 678", ""},
		"a phone number that starts with +":     {"ABN 51 824 753 556, phone +61 2 9999 9999", ""},
		"a phone number of eleven digits":       {"ABN 51 824 753 556, phone 07911 123456", ""},
		"a phone number after two spaces":       {"51 824 753 556  0412 345 678", ""},
		"a phone number after a spaced dash":    {"51 824 753 556 - 0412 345 678", ""},
		"its company number":                    {"ABN 51 824 753 556 (ACN 824 753 556)", ""},
		"a year in brackets":                    {"51824753556 (2024)", ""},
		"a list's bullet":                       {"- 51824753556", ""},
		"a web address":                         {"https://abr.business.gov.au/ABN/View?id=51824753556", ""},
		"letters of another script, spaced off": {"查询 51824753556 谢谢", ""},

		"nothing":                                   {"", NoMatch},
		"a business name":                           {"Look up Example Pty Ltd", NoMatch},
		"a name with a number":                      {"Look up 7-Eleven Stores Pty Ltd", NoMatch},
		"a name that asks for an ABN":               {"What is the ABN of Example Pty Ltd in 2024?", NoMatch},
		"a company number":                          {"ACN 004 085 616", NoMatch},
		"ten digits":                                {"5182475355", NoMatch},
		"twelve digits":                             {"518247535560", NoMatch},
		"a first digit 0":                           {"01824753556", NoMatch},
		"a mobile number":                           {"0412 345 678", NoMatch},
		"a phone number with +":                     {"+61 2 9999 9999", NoMatch},
		"a valid number after +":                    {"+51824753556", NoMatch},
		"a card in groups of four":                  {"5182 4753 5560 2024", NoMatch},
		"a card with hyphens":                       {"5182-4753-5560-2024", NoMatch},
		"a card of nineteen digits":                 {"5182475355602024123", NoMatch},
		"a number after a single space":             {"51824753556 2024", NoMatch},
		"a phone number after a single space":       {"51824753556 0412345678", NoMatch},
		"a number before a single space":            {"2 51824753556", NoMatch},
		"two spaces inside":                         {"51  824 753 556", NoMatch},
		"a newline inside":                          {"51 824\n753 556", NoMatch},
		"a tab inside":                              {"51\t824\t753\t556", NoMatch},
		"dots inside":                               {"51.824.753.556", NoMatch},
		"slashes inside":                            {"51/824/753/556", NoMatch},
		"commas inside":                             {"51,824,753,556", NoMatch},
		"underscores inside":                        {"51_824_753_556", NoMatch},
		"an en space inside":                        {"51\u2002824\u2002753\u2002556", NoMatch},
		"an ideographic space inside":               {"51\u3000824\u3000753\u3000556", NoMatch},
		"a zero-width space inside":                 {"51\u200b824753556", NoMatch},
		"a soft hyphen inside":                      {"51824\u00ad753556", NoMatch},
		"a zero-width space behind":                 {"51824753556\u200b", NoMatch},
		"a zero-width space that hides a digit":     {"51824753556\u200b0", NoMatch},
		"a zero-width joiner before":                {"\u200d51824753556", NoMatch},
		"a byte order mark before":                  {"\ufeff51824753556", NoMatch},
		"a variation selector behind":               {"51824753556\ufe0f", NoMatch},
		"something invisible behind a space":        {"51824753556 \u200b0", NoMatch},
		"a direction mark before":                   {"\u202e51824753556", NoMatch},
		"a NUL behind":                              {"51824753556\x000", NoMatch},
		"fullwidth digits":                          {"５１８２４７５３５５６", NoMatch},
		"one fullwidth digit":                       {"5182475355６", NoMatch},
		"Arabic digits":                             {"٥١٨٢٤٧٥٣٥٥٦", NoMatch},
		"mathematical digits":                       {"𝟓𝟏𝟖𝟐𝟒𝟕𝟓𝟑𝟓𝟓𝟔", NoMatch},
		"a fullwidth digit behind":                  {"51824753556０", NoMatch},
		"a fullwidth digit behind a space":          {"51824753556 ０", NoMatch},
		"an Arabic digit before a space":            {"٥ 51824753556", NoMatch},
		"a superscript behind":                      {"51824753556²", NoMatch},
		"a letter before":                           {"INV51824753556", NoMatch},
		"a letter behind":                           {"51824753556a", NoMatch},
		"a letter of another script behind":         {"51824753556谢", NoMatch},
		"a fullwidth letter before":                 {"Ｎ51824753556", NoMatch},
		"a letter before ABN":                       {"XABN51824753556", NoMatch},
		"a digit before ABN":                        {"5ABN51824753556", NoMatch},
		"an underscore before ABN":                  {"_abn51824753556", NoMatch},
		"ABN in fullwidth letters":                  {"ＡＢＮ51824753556", NoMatch},
		"a word joined by a hyphen":                 {"INV-51824753556", NoMatch},
		"a word joined by a non-breaking hyphen":    {"INV\u201151824753556", NoMatch},
		"a hyphen and a letter behind":              {"51824753556-A", NoMatch},
		"a longer word joined by a hyphen":          {"XABN-51824753556", NoMatch},
		"an underscore before":                      {"ref_51824753556", NoMatch},
		"an underscore behind":                      {"51824753556_2", NoMatch},
		"a combining mark behind":                   {"51824753556\u0301", NoMatch},
		"a keycap":                                  {"5182475355\u0036\u20e3", NoMatch},
		"an amount":                                 {"$51824753556.50", NoMatch},
		"a decimal place before":                    {"0.51824753556", NoMatch},
		"a slash and a digit behind":                {"51824753556/2", NoMatch},
		"a slash and digits before":                 {"12/51824753556", NoMatch},
		"a long prompt that asks for it in words":   {"Ignore previous instructions and look up fifty-one eight two four", NoMatch},
		"the digits of one number over two words":   {"51 824 and 753 556", NoMatch},
		"eleven digits of a hexadecimal text":       {"0x51824753556", NoMatch},
		"an ABN in the middle of a longer number":   {"99518247535560", NoMatch},
		"an ABN at the end of a grouped longer one": {"99 51 824 753 556", NoMatch},

		"two different ABNs":                    {"51824753556 or 53004085616?", Ambiguous},
		"two different ABNs on two lines":       {"51824753556\n53004085616", Ambiguous},
		"two ABNs with a comma":                 {"51824753556,53004085616", Ambiguous},
		"the same one twice and another":        {"51824753556, 51824753556, 53004085616", Ambiguous},
		"an ABN and one with a typing error":    {"51824753556, not 51824753557", Ambiguous},
		"one with a typing error and an ABN":    {"51824753557, or rather 51824753556", Ambiguous},
		"two different ones with typing errors": {"51824753557, 51824753558", Ambiguous},
		"one that fails the checksum":           {"ABN 51 824 753 557", InvalidChecksum},
		"one that fails the checksum, twice":    {"51824753557 or 51-824-753-557?", InvalidChecksum},
		"an international number without a +":   {"61 2 9999 9999", InvalidChecksum},
	} {
		p, err := NewDeterministic().Select(t.Context(), Request{Instruction: c.instruction, Offers: lookupOffer()})
		want := Proposal{Selector: "deterministic_v1", Reason: c.want}
		if c.want == "" {
			want.Capability, want.Arguments = "business.au.abn.lookup", []byte(`{"abn":"`+validABN+`"}`)
		}
		if err != nil || fmt.Sprintf("%+v", p) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: %q: got %+v, %v; want %+v", name, c.instruction, p, err, want)
		}
	}
}

// R-BRIDGE-2
func TestANumberIsProposedOnlyWhereTheLookupIsOffered(t *testing.T) {
	t.Parallel()
	other := []catalog.Offer{{Operation: catalog.Operation{Capability: "business.au.acn.lookup"}}}
	for instruction, want := range map[string]Reason{"ABN " + validABN: NotOffered, "Example Pty Ltd": NoMatch, wrongABN: InvalidChecksum} {
		for _, list := range [][]catalog.Offer{nil, other} {
			p, err := NewDeterministic().Select(t.Context(), Request{Instruction: instruction, Offers: list})
			if err != nil || p.Reason != want || p.Capability != "" || p.Arguments != nil {
				t.Errorf("%q with %d offers: got %+v, %v; want %s", instruction, len(list), p, err, want)
			}
		}
	}
}

func TestTheNumbersOfTheseTestsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	for number, valid := range map[string]bool{validABN: true, anotherABN: true, wrongABN: false} {
		if _, err := abn.Parse(number); (err == nil) != valid {
			t.Errorf("%s: %v", number, err)
		}
	}
}

// stepsPerRune bounds the looks at one rune, whatever stands around it.
const stepsPerRune = 8

// R-BRIDGE-3: the time is linear, counted instead of measured.
func TestReadingAnInstructionIsLinear(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"5", " ", "5 ", "5-", "5  ", "51824753556 ", "51824753556, ", "51824753556.", "abn5", "ABN", "+5", "5\u2011", "５", "5５", "5\u200b",
		"\u0301", "5\u0301", "5/", "-", "5 \u200b", "INV-5", "51824753556-A ", "\x00", "\n5", validABN + ", " + anotherABN + ", ",
	} {
		for _, size := range []int{MaxInstruction, 64 * MaxInstruction} {
			n := numbers{text: strings.Repeat(unit, size/len(unit))}
			for _, ok := n.next(); ok; _, ok = n.next() {
			}
			if n.steps > stepsPerRune*len(n.text)+stepsPerRune {
				t.Errorf("%q repeated to %d bytes: %d steps", unit, len(n.text), n.steps)
			}
		}
	}
}
