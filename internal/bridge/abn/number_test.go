package abn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"interlock/internal/bridge/abn"
)

// valid satisfy the checksum; most are registered, the last two are not.
var valid = []string{
	"51824753556", "53004085616", "88000014675", "26008672179", "48006434162", "93111195389", "53102443916",
	"12620650553", "33051775556", "48123123124", "49004028077", "11005357522", "16009661901", "37067751151",
	"13824753558", "10000000032", "99000000000",
}

// R-BRIDGE-8
func TestNumbersThatSatisfyTheChecksumAreRead(t *testing.T) {
	t.Parallel()
	for _, s := range valid {
		n, err := abn.Parse(s)
		if err != nil || n.String() != s {
			t.Errorf("Parse(%q) = %q, %v", s, n, err)
		}
		if want := s[:2] + " " + s[2:5] + " " + s[5:8] + " " + s[8:]; n.Spaced() != want {
			t.Errorf("Spaced() = %q, want %q", n.Spaced(), want)
		}
	}
	if got := (abn.Number{}).Spaced(); got != "" {
		t.Errorf("no number is spaced as %q", got)
	}
}

// R-BRIDGE-8
func TestShapeAndChecksumAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"the last digit is another", "51824753557", abn.ErrChecksum},
		{"two digits are swapped", "47004085616", abn.ErrChecksum},
		{"a counting sequence", "12345678901", abn.ErrChecksum},
		{"one digit repeated", "11111111111", abn.ErrChecksum},
		{"zeros", "00000000000", abn.ErrShape},
		{"a first digit 0 that is not read as 9 (presidio 2109)", "00000000560", abn.ErrShape},
		{"a first digit 0 that would satisfy the sum (python-stdnum 86)", "07100000000", abn.ErrShape},
		{"a first digit 0 that does not wrap round (pentect 1244)", "01824753556", abn.ErrShape},
		{"nothing", "", abn.ErrShape},
		{"ten digits", "5182475355", abn.ErrShape},
		{"twelve digits", "518247535560", abn.ErrShape},
		{"the register's spacing", "51 824 753 556", abn.ErrShape},
		{"digits with letters between (validators that strip)", "51-824 753/556 x", abn.ErrShape},
		{"a prefix", "ABN51824753556", abn.ErrShape},
		{"space around", " 51824753556 ", abn.ErrShape},
		{"a newline behind", "51824753556\n", abn.ErrShape},
		{"Arabic-Indic digits", "٥١٨٢٤٧٥٣٥٥٦", abn.ErrShape},
		{"full-width digits", "\uff15\uff11\uff18\uff12\uff14\uff17\uff15\uff13\uff15\uff15\uff16", abn.ErrShape},
		{"a float as a spreadsheet writes it", "5.182475E10", abn.ErrShape},
		{"a sign", "+1824753556", abn.ErrShape},
		{"a NUL", "5182475355\x00", abn.ErrShape},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, err := abn.Parse(c.in)
			if !errors.Is(err, c.want) || n != (abn.Number{}) {
				t.Errorf("Parse(%q) = %q, %v; want %v", c.in, n, err, c.want)
			}
		})
	}
}

// R-BRIDGE-8
func TestOneWrongDigitIsAlwaysCaught(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, s := range valid {
		for i := range s {
			for d := byte('0'); d <= '9'; d++ {
				if wrong := s[:i] + string(d) + s[i+1:]; wrong != s {
					tried++
					if _, err := abn.Parse(wrong); err == nil {
						t.Errorf("%s with digit %d as %c is taken", s, i+1, d)
					}
				}
			}
		}
	}
	if want := len(valid) * abn.Digits * 9; tried != want {
		t.Errorf("tried %d, want %d", tried, want)
	}
}

// R-BRIDGE-8
func TestTwoNeighboursSwappedAreAlwaysCaught(t *testing.T) {
	t.Parallel()
	for _, s := range valid {
		for i := range len(s) - 1 {
			if swapped := s[:i] + s[i+1:i+2] + s[i:i+1] + s[i+2:]; swapped != s {
				if _, err := abn.Parse(swapped); err == nil {
					t.Errorf("%s with digits %d and %d swapped is taken", s, i+1, i+2)
				}
			}
		}
	}
}

// naive is the register's rule as it is told to people.
func naive(s string) bool {
	if len(s) != 11 || strings.Trim(s, "0123456789") != "" || s[0] == '0' {
		return false
	}
	total := 0
	for i, c := range s {
		digit := strings.IndexRune("0123456789", c)
		switch i {
		case 0:
			total += (digit - 1) * 10
		default:
			total += digit * (2*i - 1)
		}
	}
	return total%89 == 0
}

// R-BRIDGE-8
func TestParseAgreesWithTheRuleAsTold(t *testing.T) {
	t.Parallel()
	inputs := rapid.OneOf(
		rapid.StringMatching(`[0-9]{11}`),
		rapid.StringMatching(`[0-9]{10,12}`),
		rapid.Custom(completed),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := inputs.Draw(t, "s")
		n, err := abn.Parse(s)
		if (err == nil) != naive(s) {
			t.Fatalf("Parse(%q) = %q, %v; the rule says %v", s, n, err, naive(s))
		}
		if err == nil && strings.ReplaceAll(n.Spaced(), " ", "") != s {
			t.Fatalf("Spaced() = %q of %q", n.Spaced(), s)
		}
	})
}

// completed draws a number and completes it so that the rule often holds: the
// two first digits carry every remainder that they can.
func completed(t *rapid.T) string {
	rest := rapid.StringMatching(`[0-9]{9}`).Draw(t, "rest")
	for lead := range 90 {
		if s := fmt.Sprintf("%02d%s", lead+10, rest); naive(s) {
			return s
		}
	}
	return "10" + rest
}
