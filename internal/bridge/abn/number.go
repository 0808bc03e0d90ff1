package abn

import "interlock/internal/fault"

// Digits is how many an ABN has.
const Digits = 11

// Failures of Parse, told apart for callers that search texts: what has the
// wrong shape was never meant as an ABN, what fails the checksum probably was.
var (
	ErrShape    = fault.New(fault.Invalid, "abn_malformed", "that is not an ABN: send its eleven digits without separators; the first is not 0")
	ErrChecksum = fault.New(fault.Invalid, "abn_checksum", "that is not an ABN: its digits fail the checksum; look for a typing error")
)

// weights are those of the register's checksum, by place.
var weights = [Digits]int{10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19}

// modulus divides the weighted sum of a valid ABN, once 1 is taken from its
// first digit.
const modulus = 89

// Parse reads the canonical form and no other: exactly eleven ASCII digits, the
// first of them 1 to 9, that satisfy the checksum. Separators, prefixes and
// digits of other scripts are ErrShape, so that two numbers are never read as
// one; finding an ABN in a text is the business of whoever has the text. A
// number that passes need not be registered.
func Parse(s string) (Number, error) {
	if !shaped(s) {
		return Number{}, ErrShape
	}
	if sum(s)%modulus != 0 {
		return Number{}, ErrChecksum
	}
	return Number{digits: s}, nil
}

func shaped(s string) bool {
	if len(s) != Digits || s[0] == '0' {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// sum is signed on purpose: taking 1 from a first digit 0 must not wrap round.
func sum(s string) int {
	total := -weights[0]
	for i, w := range weights {
		total += w * int(s[i]-'0')
	}
	return total
}

// Spaced returns the digits as the register prints them: "51 824 753 556". The
// zero value gives "".
func (n Number) Spaced() string {
	if n.digits == "" {
		return ""
	}
	return n.digits[:2] + " " + n.digits[2:5] + " " + n.digits[5:8] + " " + n.digits[8:]
}
