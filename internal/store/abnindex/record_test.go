package abnindex

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/bridge/abn"
)

// transfer is a whole XML file around records.
func transfer(records ...string) string {
	return fmt.Sprintf(`<Transfer error="none"><TransferInfo><FileSequenceNumber>1</FileSequenceNumber><RecordCount>%d</RecordCount>`+
		`<ExtractTime>2026-11-25T12:23:33</ExtractTime></TransferInfo>%s</Transfer>`, len(records), strings.Join(records, "\n"))
}

// readAll reads a whole file up to its first failure.
func readAll(document string) (header, []record, error) {
	p := newPart(strings.NewReader(document))
	h, err := p.header()
	if err != nil {
		return h, nil, err
	}
	var all []record
	for {
		r, err := p.next()
		if errors.Is(err, io.EOF) {
			return h, all, nil
		}
		if err != nil {
			return h, all, err
		}
		all = append(all, r)
	}
}

const office = `<ABN status="ACT" ABNStatusFromDate="19991101">51824753556</ABN>`

// R-BRIDGE-8
func TestRecordsAreReadAsTheRegisterMeansThem(t *testing.T) {
	t.Parallel()
	n, err := abn.Parse("51824753556")
	if err != nil {
		t.Fatal(err)
	}
	plain := abn.Record{ABN: n, Status: abn.Active, StatusFrom: "1999-11-01"}
	with := func(change func(*abn.Record)) abn.Record {
		r := plain
		change(&r)
		return r
	}
	for _, c := range []struct {
		name, inside string
		want         abn.Record
	}{
		{"a record with nothing but its number: details are withheld", office, plain},
		{"a cancelled one", `<ABN status="CAN" ABNStatusFromDate="20010203">51824753556</ABN>`,
			abn.Record{ABN: n, Status: abn.Cancelled, StatusFrom: "2001-02-03"}},
		{"the date that stands for none", `<ABN status="ACT" ABNStatusFromDate="19000101">51824753556</ABN>`, with(func(r *abn.Record) { r.StatusFrom = "" })},
		{"an empty date", `<ABN status="ACT" ABNStatusFromDate="">51824753556</ABN>`, with(func(r *abn.Record) { r.StatusFrom = "" })},
		{"a type that nobody knows yet", office + `<EntityType><EntityTypeInd>ZZZ</EntityTypeInd><EntityTypeText>Something New</EntityTypeText></EntityType>`,
			with(func(r *abn.Record) { r.TypeCode, r.TypeName = "ZZZ", "Something New" })},
		{"an organisation", office + `<MainEntity><NonIndividualName type="MN"><NonIndividualNameText>O&apos;BRIEN &amp; SONS É</NonIndividualNameText></NonIndividualName>` +
			`<BusinessAddress><AddressDetails><State>NT</State><Postcode>0800</Postcode></AddressDetails></BusinessAddress></MainEntity>`,
			with(func(r *abn.Record) { r.Name, r.State, r.Postcode = "O'BRIEN & SONS É", "NT", "0800" })},
		{"a person, without the title", office + `<LegalEntity><IndividualName type="LGL"><NameTitle>DR</NameTitle><GivenName>ADA</GivenName><GivenName>KING</GivenName><FamilyName>LOVELACE</FamilyName></IndividualName></LegalEntity>`,
			with(func(r *abn.Record) { r.Name = "ADA KING LOVELACE" })},
		{"a person with one name", office + `<LegalEntity><IndividualName><FamilyName>PRINCE</FamilyName></IndividualName></LegalEntity>`,
			with(func(r *abn.Record) { r.Name = "PRINCE" })},
		{"empty names and address", office + `<MainEntity><NonIndividualName type="MN"><NonIndividualNameText/></NonIndividualName><BusinessAddress><AddressDetails><State> </State><Postcode></Postcode></AddressDetails></BusinessAddress></MainEntity>`, plain},
		{"blanks and lines inside a name", office + "<MainEntity><NonIndividualName><NonIndividualNameText>\r\n  A \t B\n</NonIndividualNameText></NonIndividualName></MainEntity>",
			with(func(r *abn.Record) { r.Name = "A B" })},
		{"an ASIC number of the type that extracts give", office + `<ASICNumber ASICNumberType="undetermined">000014675</ASICNumber>`,
			with(func(r *abn.Record) { r.ACN = "000014675" })},
		{"the ASIC number that the ABN ends with", office + `<ASICNumber ASICNumberType="ACN">824753556</ASICNumber>`,
			with(func(r *abn.Record) { r.ACN = "824753556" })},
		{"a foreign company's number is no ACN", office + `<ASICNumber ASICNumberType="ARBN">000014675</ASICNumber>`, plain},
		{"an empty ASIC number", office + `<ASICNumber ASICNumberType="undetermined"/>`, plain},
		{"registered for GST", office + `<GST status="ACT" GSTStatusFromDate="20000701"/>`, with(func(r *abn.Record) { r.GSTFrom = "2000-07-01" })},
		{"no longer registered for GST", office + `<GST status="CAN" GSTStatusFromDate="20100701"/>`, plain},
		{"never registered for GST", office + `<GST status="NON" GSTStatusFromDate="19000101"/>`, plain},
		{"business names, and neither trading names nor funds", office +
			`<DGR DGRStatusFromDate="20000701"><NonIndividualName type="BN"><NonIndividualNameText>A FUND</NonIndividualNameText></NonIndividualName></DGR>` +
			`<OtherEntity><NonIndividualName type="TRD"><NonIndividualNameText>OLD</NonIndividualNameText></NonIndividualName></OtherEntity>` +
			`<OtherEntity><NonIndividualName type="BN"><NonIndividualNameText>ONE</NonIndividualNameText></NonIndividualName></OtherEntity>` +
			`<OtherEntity><NonIndividualName type="OTN"><NonIndividualNameText>OTHER</NonIndividualNameText></NonIndividualName></OtherEntity>` +
			`<OtherEntity><NonIndividualName type="BN"><NonIndividualNameText>TWO</NonIndividualNameText></NonIndividualName></OtherEntity>`,
			with(func(r *abn.Record) { r.Names = []string{"ONE", "TWO"} })},
		{"elements that came after this program", "<New><Deep>x</Deep></New>" + office + "<MainEntity><New/></MainEntity>", plain},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, all, err := readAll(transfer("<ABR>" + c.inside + "</ABR>"))
			if err != nil || len(all) != 1 {
				t.Fatalf("read %d records, %v", len(all), err)
			}
			got := all[0].public(n)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(abn.Number{})); diff != "" {
				t.Errorf("want (-) and got (+)\n%s", diff)
			}
		})
	}
}

// R-BRIDGE-8
func TestMalformedRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, inside, want string }{
		{"no number", `<EntityType/>`, "no ABN"},
		{"two numbers", office + office, "two ABNs"},
		{"a number with spaces inside", `<ABN status="ACT">51 824 753 556</ABN>`, "eleven digits"},
		{"a number that begins with 0", `<ABN status="ACT">01824753556</ABN>`, "eleven digits"},
		{"an element in the place of digits", `<ABN status="ACT"><x/></ABN>`, "where a text should"},
		{"a status that nobody knows", `<ABN status="PEN">51824753556</ABN>`, "neither ACT nor CAN"},
		{"no status", `<ABN>51824753556</ABN>`, "neither ACT nor CAN"},
		{"a date of another form", `<ABN status="ACT" ABNStatusFromDate="1999-11-01">51824753556</ABN>`, "YYYYMMDD"},
		{"a thirteenth month", `<ABN status="ACT" ABNStatusFromDate="20011301">51824753556</ABN>`, "no date"},
		{"a day 0", `<ABN status="ACT" ABNStatusFromDate="20011200">51824753556</ABN>`, "no date"},
		{"GST without a date", office + `<GST status="ACT"/>`, "GST registration is missing"},
		{"GST with a date that is none", office + `<GST status="ACT" GSTStatusFromDate="soon"/>`, "YYYYMMDD"},
		{"an ASIC number that is too short", office + `<ASICNumber>12345678</ASICNumber>`, "nine digits"},
		{"an ASIC number with a sign", office + `<ASICNumber>-12345678</ASICNumber>`, "nine digits"},
		{"a checksum that fails", `<ABN status="ACT">51824753557</ABN>`, errUnaskable.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, all, err := readAll(transfer("<ABR>" + c.inside + "</ABR>")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read %+v, %v; want a refusal with %q", all, err, c.want)
			}
		})
	}
}

// R-BRIDGE-8
func TestFilesThatAreNoExtractAreRefused(t *testing.T) {
	t.Parallel()
	info := `<TransferInfo><FileSequenceNumber>1</FileSequenceNumber><RecordCount>0</RecordCount><ExtractTime>2026-11-25T12:23:33</ExtractTime></TransferInfo>`
	for _, c := range []struct{ name, document, want string }{
		{"another root", `<html/>`, "no extract of the register"},
		{"an extract that the register marks as faulty", `<Transfer error="timeout">` + info + `</Transfer>`, "marks it as faulty"},
		{"records before the header", `<Transfer><ABR/>` + info + `</Transfer>`, "TransferInfo"},
		{"no header", `<Transfer></Transfer>`, "TransferInfo"},
		{"a header without a count", `<Transfer><TransferInfo><FileSequenceNumber>1</FileSequenceNumber><ExtractTime>2026-11-25T12:23:33</ExtractTime></TransferInfo></Transfer>`, "RecordCount"},
		{"a count below zero", `<Transfer>` + strings.Replace(info, ">0<", ">-1<", 1) + `</Transfer>`, "RecordCount"},
		{"a time that is none", `<Transfer>` + strings.Replace(info, "2026-11-25T12:23:33", "yesterday", 1) + `</Transfer>`, "ExtractTime"},
		{"something else among the records", `<Transfer>` + info + `<Record/></Transfer>`, "an element Record stands where a record should"},
		{"an end in the middle", `<Transfer>` + info + `<ABR>`, "cut short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, all, err := readAll(c.document); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read %+v, %v; want a refusal with %q", all, err, c.want)
			}
		})
	}
}

// R-BRIDGE-8: an extract gives its time without a zone, which is Canberra's.
func TestTheTimeOfAnExtractIsTheRegisters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-25T12:23:33":           "2026-11-25T02:23:33Z",
		"2026-11-25T12:23:33.1234567":   "2026-11-25T02:23:33.1234567Z",
		"2026-11-25T12:23:33Z":          "2026-11-25T12:23:33Z",
		"2026-11-25T12:23:33.5+11:00":   "2026-11-25T01:23:33.5Z",
		"2026-11-25T12:23:33.000-00:30": "2026-11-25T12:53:33Z",
	} {
		got, err := extractTime(text)
		if err != nil || got.Format("2006-01-02T15:04:05.999999999Z07:00") != want {
			t.Errorf("%s is read as %v, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzRecord looks for a record that is read as what no answer may be.
func FuzzRecord(f *testing.F) {
	f.Add(office)
	f.Add(office + `<MainEntity><NonIndividualName><NonIndividualNameText>A&#10;B</NonIndividualNameText></NonIndividualName></MainEntity>`)
	f.Add(office + `<OtherEntity><NonIndividualName type="BN"><NonIndividualNameText>A</NonIndividualNameText></NonIndividualName></OtherEntity><GST status="ACT" GSTStatusFromDate="20000701"/>`)
	f.Add(office + `<ASICNumber>000014675</ASICNumber></ABR><ABR>` + office)
	f.Fuzz(func(t *testing.T, inside string) {
		_, all, err := readAll(transfer("<ABR>" + inside + "</ABR>"))
		if err != nil {
			return
		}
		for _, r := range all {
			n, err := abn.Parse(fmt.Sprint(r.number))
			if err != nil {
				t.Fatalf("%q has the number %d", inside, r.number)
			}
			out := r.public(n)
			for _, text := range append([]string{out.Name, out.TypeCode, out.TypeName, out.State, out.Postcode}, out.Names...) {
				if strings.ContainsAny(text, "\r\n\t") || text != strings.Trim(text, " ") || strings.Contains(text, "  ") {
					t.Errorf("%q is read as %+v", inside, out)
				}
			}
			for _, d := range []string{out.StatusFrom, out.GSTFrom} {
				if d != "" && !isDate.MatchString(d) || len(out.ACN) != 0 && len(out.ACN) != acnDigits {
					t.Errorf("%q is read as %+v", inside, out)
				}
			}
		}
	})
}

var isDate = regexp.MustCompile(`^[0-9]{4}-[01][0-9]-[0-3][0-9]$`)
