package selector

import (
	"context"
	"encoding/json"
	"errors"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
)

// DeterministicName is the deterministic selector's name in proposals.
const DeterministicName = "deterministic_v1"

// Deterministic proposes to look up the one Australian Business Number that an
// instruction holds, and nothing else. It understands no words: the name of a
// business is no match, and neither are a company number (nine digits), a
// phone number or the number of a card. What counts as one number is said at
// the type numbers.
//
// It never picks. The same ABN twice is one, but two different numbers of
// eleven digits are ambiguous even if only one of them can be an ABN: the
// other may be the one that was meant, with a typing error. A number of eleven
// digits that stands alone and fails the checksum is invalid_checksum. Numbers
// of another length, or with a first digit 0, were never meant as an ABN.
//
// The work is linear in the instruction's length, whatever it holds.
type Deterministic struct{}

// NewDeterministic returns the selector. It holds no state.
func NewDeterministic() Deterministic { return Deterministic{} }

// Select implements ToolSelector. It doesn't block and returns no error.
func (Deterministic) Select(_ context.Context, r Request) (Proposal, error) {
	p := Proposal{Selector: DeterministicName}
	number, reason := findABN(r.Instruction)
	switch {
	case reason != "":
		p.Reason = reason
	case !offers(r.Offers, abn.Capability):
		p.Reason = NotOffered
	default:
		p.Capability = abn.Capability
		p.Arguments = json.RawMessage(`{"abn":"` + number.String() + `"}`)
	}
	return p, nil
}

// findABN returns the one ABN of the text, or the reason why there is none.
func findABN(text string) (abn.Number, Reason) {
	var found abn.Number
	reason, seen := NoMatch, ""
	for n := (numbers{text: text}); ; {
		digits, ok := n.next()
		if !ok {
			return found, reason
		}
		number, err := abn.Parse(digits)
		switch {
		case errors.Is(err, abn.ErrShape) || digits == seen:
			continue
		case seen != "":
			return abn.Number{}, Ambiguous
		case err != nil:
			reason = InvalidChecksum
		default:
			found, reason = number, ""
		}
		seen = digits
	}
}

func offers(list []catalog.Offer, capability string) bool {
	for _, o := range list {
		if o.Operation.Capability == capability {
			return true
		}
	}
	return false
}
