package abn

import (
	"errors"
	"strings"

	"interlock/internal/fault"
)

// Failures of a look-up, as callers see them.
var (
	// ErrRejected says that the register does not take the tenant's GUID. It
	// says nothing about the ABN.
	ErrRejected = fault.New(fault.Unavailable, "credential_rejected", "the Australian Business Register refuses this tenant's GUID; ask an operator to set the one that the register issued")
	// ErrUnavailable says that there is no answer, for whatever reason. It says
	// nothing about the ABN.
	ErrUnavailable = fault.New(fault.Unavailable, "upstream_unavailable", "the Australian Business Register gave no usable answer; try again later").Retry(0)
)

// ErrDisagrees is in the chain of an ErrUnavailable where the register says
// that an ABN whose checksum we verified is none: one of both is wrong about
// the rule, so the answer proves nothing about the ABN.
var ErrDisagrees = errors.New("the register takes the number for no ABN although its checksum is right")

// ErrElsewhere is in the chain of an ErrUnavailable where the answer is about
// another ABN than the one asked for: the register has perhaps replaced it, and
// will answer the same again.
var ErrElsewhere = errors.New("the register answered for another number; it may have replaced this one")

// elsewhere returns the ErrUnavailable for an answer that is about the number
// written there.
func elsewhere(number string) error {
	if _, err := Parse(number); err != nil {
		return odd("the register's answer is about no number")
	}
	return ErrUnavailable.Because(ErrElsewhere)
}

// odd returns the ErrUnavailable for an answer that can't be used. why is for
// operators, and ours: what the register wrote may repeat the GUID.
func odd(why string) error { return ErrUnavailable.Because(errors.New(why)) }

// refusal is what the register means by a message instead of a record.
type refusal struct {
	whole string   // the message, in lower case, without its full stop
	parts []string // or what must all be in it
	err   error    // nil: there is no record
}

// refusals are the messages that are understood, the first that fits. The two
// forms of the service differ by an s. That there is no record must be said in
// full; what is about the GUID is known by its words, since some of those texts
// have more in them than we have seen.
var refusals = []refusal{
	{whole: "no record found"},
	{whole: "no records found"},
	{whole: "search text is not a valid abn or acn", err: ErrUnavailable.Because(ErrDisagrees)},
	{parts: []string{"guid"}, err: rejected("the register's message is about the GUID")},
	{parts: []string{"recognised as a registered party"}, err: rejected("the register does not recognise the party")},
	{parts: []string{"registered for the requested service"}, err: rejected("the party is not registered for this service")},
	{parts: []string{"registration", "has been cancelled"}, err: rejected("the party's registration has been cancelled")},
}

// rejected returns the ErrRejected for a reason that is fit for operators.
func rejected(why string) error { return ErrRejected.Because(errors.New(why)) }

// refused tells what a message means: nil where there is no record, else
// ErrRejected or ErrUnavailable. A message that is not understood is
// ErrUnavailable: it must never read as "not registered".
func refused(message string) error {
	text := strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(message), " ")), ".")
	for _, r := range refusals {
		if r.fits(text) {
			return r.err
		}
	}
	return odd("the register's message is not one that we know")
}

func (r refusal) fits(text string) bool {
	for _, part := range r.parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return len(r.parts) > 0 || text == r.whole
}
