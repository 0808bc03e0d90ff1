package abnindex

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"interlock/internal/bridge/abn"
)

// record is one ABN as the index keeps it.
type record struct {
	number     int64
	status     status
	since      int32 // YYYYMMDD; 0: the register gives none
	gst        int32 // registered for GST since, YYYYMMDD; 0: it is not
	acn        int64 // 0: none
	replaced   bool  // the register gave the entity another number
	typeCode   string
	typeName   string
	name       string
	state      string
	postcode   string
	otherNames string // business names, a line each
}

// status is what the register says of an ABN.
type status uint8

// The statuses. They are stored: never renumber them.
const (
	cancelled status = iota
	active
)

// The statuses as an extract writes them, and as the web service does.
var (
	statusCodes = map[string]status{"ACT": active, "CAN": cancelled}
	statusNames = [...]string{cancelled: abn.Cancelled, active: abn.Active}
)

// errUnaskable says that a record's number fails the checksum: nobody can ask
// for it, so nothing is lost without it.
var errUnaskable = errors.New("the number fails the checksum")

// earliest is the first day that stands for itself: the register writes
// 19000101 where it has no date.
const earliest = 19000102

// parser reads the elements of a document. Its texts are those of the record
// that is being read.
type parser struct {
	*scanner
	shared map[string]string // strings that come again and again
	text   []byte            // of the last content
	others []byte            // business names of the record, a line each
}

// maxShared bounds how many strings are shared; there are some hundreds.
const maxShared = 10_000

// share returns b as a string, the same one each time.
func (p *parser) share(b []byte) string {
	if s, ok := p.shared[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(p.shared) < maxShared {
		p.shared[s] = s
	}
	return s
}

// each calls f at the start of every element inside the open one, until that
// ends. f reads its element to the end. Text in between counts for nothing.
func (p *parser) each(f func() error) error {
	for {
		switch t, err := p.next(); {
		case err != nil:
			return err
		case t == endTag:
			return nil
		case t == startTag:
			if err := f(); err != nil {
				return err
			}
		}
	}
}

// skip reads the open element to its end.
func (p *parser) skip() error { return p.each(p.skip) }

// content reads the open element, which holds text only, to its end and
// returns the text with single spaces; it is valid until the next call.
func (p *parser) content() ([]byte, error) {
	p.text = p.text[:0]
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case t == endTag:
			return spaced(p.text), nil
		case t == startTag:
			return nil, errors.New("an element stands where a text should")
		}
		p.text = append(p.text, p.scanner.text...)
	}
}

// spaced trims b and makes each run of blanks one space, in place.
func spaced(b []byte) []byte {
	b = bytes.Trim(b, " \t\r\n")
	out := b[:0]
	for i, c := range b {
		blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'
		switch {
		case !blank:
			out = append(out, c)
		case b[i-1] != ' ' && b[i-1] != '\t' && b[i-1] != '\r' && b[i-1] != '\n':
			out = append(out, ' ')
		}
	}
	return out
}

// into reads the open element's text into s.
func (p *parser) into(s *string) error {
	b, err := p.content()
	*s = p.share(b)
	return err
}

// record reads the open ABR element. An errUnaskable comes with a record that
// was read to its end; any other error is a clause about it.
func (p *parser) record() (record, error) {
	r := record{replaced: string(p.attr("replaced")) == "Y"}
	unaskable := false
	p.others = p.others[:0]
	err := p.each(func() error {
		switch string(p.name) {
		case "ABN":
			err := p.number(&r)
			unaskable = errors.Is(err, errUnaskable)
			if unaskable {
				return nil
			}
			return err
		case "EntityType":
			return p.entityType(&r)
		case "MainEntity", "LegalEntity":
			return p.entity(&r)
		case "ASICNumber":
			return p.acn(&r)
		case "GST":
			return p.gst(&r)
		case "OtherEntity":
			return p.otherEntity()
		}
		return p.skip()
	})
	r.otherNames = string(p.others)
	switch {
	case err != nil:
		return r, err
	case r.number == 0:
		return r, errors.New("it has no ABN")
	case unaskable:
		return r, errUnaskable
	}
	return r, nil
}

// number reads an ABN element. It also sets a number that fails the checksum.
func (p *parser) number(r *record) error {
	if r.number != 0 {
		return errors.New("it has two ABNs")
	}
	code, known := statusCodes[string(p.attr("status"))]
	if !known {
		return errors.New("its status is neither ACT nor CAN")
	}
	r.status = code
	var err error
	if r.since, err = date(p.attr("ABNStatusFromDate")); err != nil {
		return fmt.Errorf("the date of its status %w", err)
	}
	digits, err := p.content()
	if err != nil {
		return err
	}
	_, err = abn.Parse(string(digits))
	if err != nil && !errors.Is(err, abn.ErrChecksum) {
		return errors.New("its ABN has not eleven digits, the first from 1 to 9")
	}
	r.number, _ = strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return errUnaskable
	}
	return nil
}

func (p *parser) entityType(r *record) error {
	return p.each(func() error {
		switch string(p.name) {
		case "EntityTypeInd":
			return p.into(&r.typeCode)
		case "EntityTypeText":
			return p.into(&r.typeName)
		}
		return p.skip()
	})
}

// entity reads who has the ABN and where.
func (p *parser) entity(r *record) error {
	return p.each(func() (err error) {
		switch string(p.name) {
		case "NonIndividualName":
			r.name, err = p.organisation()
			return err
		case "IndividualName":
			return p.individual(r)
		case "BusinessAddress":
			return p.each(func() error { return p.address(r) })
		}
		return p.skip()
	})
}

func (p *parser) address(r *record) error {
	if string(p.name) != "AddressDetails" {
		return p.skip()
	}
	return p.each(func() error {
		switch string(p.name) {
		case "State":
			return p.into(&r.state)
		case "Postcode":
			return p.into(&r.postcode)
		}
		return p.skip()
	})
}

// organisation reads the open NonIndividualName.
func (p *parser) organisation() (name string, err error) {
	err = p.each(func() error {
		if string(p.name) != "NonIndividualNameText" {
			return p.skip()
		}
		b, err := p.content()
		name = string(b)
		return err
	})
	return name, err
}

// individual reads given names and family name, in this order. A title is no
// part of a name: the web service gives none either.
func (p *parser) individual(r *record) error {
	var words []byte
	err := p.each(func() error {
		switch string(p.name) {
		case "GivenName", "FamilyName":
			b, err := p.content()
			words = append(append(words, b...), ' ')
			return err
		}
		return p.skip()
	})
	r.name = string(spaced(words))
	return err
}

// otherKinds are the types of ASIC numbers that are no company's.
var otherKinds = []string{"ARBN", "ARSN", "ARFN"}

// acn reads an ASICNumber. Extracts type nearly all of them "undetermined", so
// only those known to be of another kind are left out.
func (p *parser) acn(r *record) error {
	other := false
	for _, kind := range otherKinds {
		other = other || strings.EqualFold(string(p.attr("ASICNumberType")), kind)
	}
	digits, err := p.content()
	if err != nil || len(digits) == 0 || other {
		return err
	}
	if r.acn, err = strconv.ParseInt(string(digits), 10, 64); err != nil || len(digits) != acnDigits || r.acn < 0 {
		return errors.New("its ASIC number has not nine digits")
	}
	return nil
}

// acnDigits is how many an ACN has.
const acnDigits = 9

// gst reads since when the entity is registered for GST, if it is now.
func (p *parser) gst(r *record) (err error) {
	if string(p.attr("status")) == "ACT" {
		if r.gst, err = date(p.attr("GSTStatusFromDate")); err == nil && r.gst == 0 {
			err = errors.New("is missing")
		}
		if err != nil {
			return fmt.Errorf("the date of its GST registration %w", err)
		}
	}
	return p.skip()
}

// otherEntity keeps a business name. Trading names are out of date since 2012.
func (p *parser) otherEntity() error {
	return p.each(func() error {
		if string(p.name) != "NonIndividualName" || string(p.attr("type")) != "BN" {
			return p.skip()
		}
		name, err := p.organisation()
		if err != nil || name == "" {
			return err
		}
		if len(p.others) > 0 {
			p.others = append(p.others, '\n')
		}
		p.others = append(p.others, name...)
		return nil
	})
}

// date reads YYYYMMDD; what stands for none is 0.
func date(b []byte) (int32, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(b), 10, 31)
	month, day := n/100%100, n%100
	switch {
	case err != nil || len(b) != len("20060102"):
		return 0, errors.New("is not of the form YYYYMMDD")
	case n < earliest:
		return 0, nil
	case month < 1 || month > 12 || day < 1 || day > 31:
		return 0, errors.New("is no date")
	}
	return int32(n), nil
}
