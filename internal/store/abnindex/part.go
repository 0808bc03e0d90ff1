package abnindex

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// header is what a file of an extract says of itself.
type header struct {
	sequence  int       // FileSequenceNumber
	records   int64     // that follow
	extracted time.Time // when the register wrote it
}

// part reads one file of an extract: a Transfer with its header, then records.
type part struct {
	parser
	read int64 // records so far
}

func newPart(src io.Reader) *part {
	return &part{parser: parser{scanner: newScanner(src), shared: map[string]string{}}}
}

// header reads up to the first record. It comes before any call of next.
func (p *part) header() (header, error) {
	t, err := p.scanner.next()
	if err != nil {
		return header{}, err
	}
	if t != startTag || string(p.name) != "Transfer" {
		return header{}, errors.New("it is no extract of the register: it does not begin with a Transfer element")
	}
	if e := string(p.attr("error")); e != "" && e != "none" {
		return header{}, errors.New("the register marks it as faulty; download it again")
	}
	for {
		switch t, err := p.scanner.next(); {
		case err != nil:
			return header{}, err
		case t == characters:
			continue
		case t != startTag || string(p.name) != "TransferInfo":
			return header{}, errors.New("it does not begin with a TransferInfo element")
		}
		return p.info()
	}
}

// info reads the open TransferInfo.
func (p *part) info() (h header, err error) {
	var sequence, records, extracted string
	if err := p.each(func() error {
		switch string(p.name) {
		case "FileSequenceNumber":
			return p.into(&sequence)
		case "RecordCount":
			return p.into(&records)
		case "ExtractTime":
			return p.into(&extracted)
		}
		return p.skip()
	}); err != nil {
		return h, err
	}
	var wrong [3]error
	h.sequence, wrong[0] = strconv.Atoi(sequence)
	h.records, wrong[1] = strconv.ParseInt(records, 10, 64)
	h.extracted, wrong[2] = extractTime(extracted)
	if errors.Join(wrong[:]...) != nil || h.records < 0 || h.sequence < 0 {
		return h, errors.New("its TransferInfo must have a FileSequenceNumber, a RecordCount and an ExtractTime")
	}
	return h, nil
}

// registersZone is that of Canberra without daylight saving: extracts give
// their time without a zone.
var registersZone = time.FixedZone("AEST", 10*60*60)

func extractTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", s, registersZone)
	return t.UTC(), err
}

// next reads the next record; io.EOF says that the file is complete: it ended
// well, and whatever checksum it has was right. errUnaskable comes with a record.
func (p *part) next() (record, error) {
	p.allow(maxRecord)
	for {
		t, err := p.scanner.next()
		switch {
		case err != nil:
			return record{}, err
		case t == endTag:
			return record{}, p.finish()
		case t == characters:
			continue
		case string(p.name) != "ABR":
			return record{}, fmt.Errorf("an element %s stands where a record should", p.name)
		}
		p.read++
		return p.record()
	}
}

// finish reads what may follow the root element, up to the end.
func (p *part) finish() error {
	switch t, err := p.scanner.next(); {
	case err != nil:
		return err
	case t != endOfFile:
		return errors.New("something follows the Transfer element")
	}
	return io.EOF
}
