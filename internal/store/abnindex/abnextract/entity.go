package abnextract

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"interlock/internal/bridge/abn"
)

// entity is one record of the register that does not exist.
type entity struct {
	number            abn.Number
	cancelled         bool
	replaced          bool
	since             string // YYYYMMDD
	typeCode          string
	title             string
	given             []string
	family            string // "": not a person
	name              string // of anyone but a person
	asic              string
	gst, gstSince     string // status and date; "": no element
	state, postcode   string
	business, trading []string
	gifts             int // DGR elements
}

// What entities are made of. Some of it needs escaping, some is not ASCII.
var (
	givenNames  = []string{"ADA", "GRACE", "ZOË", "MAÍRE", "JOHN", "NGUYỄN", "AROHA", "LI", "SOFÍA", "D'ARCY"}
	familyNames = []string{"LOVELACE", "O'BRIEN", "DE LA CRUZ", "SMITH-JONES", "MÜLLER", "ÅNGSTRÖM", "NG", "WŁADYSŁAW", "TRAN"}
	firstWords  = []string{"O'BRIEN & SONS", "CAFÉ ÉTOILE", "A < B > C", "GREEN VALLEY", "\"QUOTED\"", "NORTH-WEST", "東京", "Π HOLDINGS", "SOUTHERN", "BRIGHT & EARLY", "N°1"}
	secondWords = []string{"PLUMBING", "HOLDINGS", "TRADING", "EARTHMOVING", "CONSULTING", "FAMILY", "NOMINEES", "FARMS", "TRANSPORT", "INVESTMENTS"}
	states      = []string{"NSW", "VIC", "QLD", "WA", "SA", "TAS", "ACT", "NT", "AAT", ""}
	typeNames   = map[string]string{"IND": "Individual/Sole Trader", "PRV": "Australian Private Company", "PUB": "Australian Public Company",
		"DIT": "Discretionary Investment Trust", "SMF": "ATO Regulated Self-Managed Superannuation Fund", "OIE": "Other Incorporated Entity", "FPT": "Family Partnership"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// entity makes the record of a number.
func (e Extract) entity(n abn.Number) entity {
	number := must(strconv.ParseUint(n.String(), 10, 64))
	r := rand.New(rand.NewPCG(e.Seed, number))
	out := entity{number: n, cancelled: r.IntN(20) < 9, since: day(r), state: pick(r, states)}
	if out.state != "" {
		out.postcode = fmt.Sprintf("%04d", 200+r.IntN(9700))
	}
	out.replaced = out.cancelled && r.IntN(200) == 0
	out.identity(r, number)
	switch r.IntN(4) {
	case 0:
		out.gst, out.gstSince = "ACT", day(r)
	case 1:
		out.gst, out.gstSince = "CAN", day(r)
	case 2:
		out.gst, out.gstSince = "NON", "19000101"
	}
	out.names(r)
	return out
}

// identity says what kind of entity it is and what it is called.
func (out *entity) identity(r *rand.Rand, number uint64) {
	body := number % 1_000_000_000
	switch {
	case acnCheck(body/10) == body%10:
		out.typeCode, out.asic = "PRV", fmt.Sprintf("%09d", body)
		if r.IntN(50) == 0 {
			out.typeCode = "PUB"
		}
		out.name = organisation(r, number) + " PTY LTD"
	case r.IntN(100) < 1: // withheld
		out.typeCode = "OIE"
	case r.IntN(100) < 70:
		out.typeCode, out.family = "IND", pick(r, familyNames)
		out.title = pick(r, []string{"", "MR", "MS", "DR"})
		for range 1 + r.IntN(2) {
			out.given = append(out.given, pick(r, givenNames))
		}
	default:
		out.typeCode = pick(r, []string{"DIT", "SMF", "OIE", "FPT"})
		out.name = "THE TRUSTEE FOR " + organisation(r, number)
	}
}

func organisation(r *rand.Rand, number uint64) string {
	return fmt.Sprintf("%s %s %d", pick(r, firstWords), pick(r, secondWords), number%100_000)
}

// names adds business names and trading names; few entities have any, and very
// few have hundreds.
func (out *entity) names(r *rand.Rand) {
	count := 0
	switch {
	case r.IntN(5000) == 0:
		count = 300 + r.IntN(100)
	case r.IntN(8) == 0:
		count = 1 + r.IntN(3)
	}
	for i := range count {
		name := organisation(r, uint64(i))
		if r.IntN(2) == 0 {
			out.business = append(out.business, name)
		} else {
			out.trading = append(out.trading, name)
		}
	}
	if r.IntN(300) == 0 {
		out.gifts = 1 + r.IntN(2)
	}
}

func day(r *rand.Rand) string {
	return fmt.Sprintf("%04d%02d%02d", 1999+r.IntN(28), 1+r.IntN(12), 1+r.IntN(28))
}

// record is what the record means.
func (out entity) record() abn.Record {
	r := abn.Record{ABN: out.number, Status: "Active", StatusFrom: dashed(out.since), Name: out.name, TypeCode: out.typeCode, TypeName: typeNames[out.typeCode],
		ACN: out.asic, State: out.state, Postcode: out.postcode, Names: out.business}
	if out.cancelled {
		r.Status = "Cancelled"
	}
	if out.family != "" {
		r.Name = strings.Join(append(out.given, out.family), " ")
	}
	if out.gst == "ACT" {
		r.GSTFrom = dashed(out.gstSince)
	}
	return r
}

func dashed(d string) string { return d[:4] + "-" + d[4:6] + "-" + d[6:] }

// write writes the record as the register does.
func (out entity) write(w *bufio.Writer) {
	replaced, status := "N", "ACT"
	if out.replaced {
		replaced = "Y"
	}
	if out.cancelled {
		status = "CAN"
	}
	fmt.Fprintf(w, `<ABR recordLastUpdatedDate="20260901" replaced="%s"><ABN status="%s" ABNStatusFromDate="%s">%s</ABN>`, replaced, status, out.since, out.number)
	fmt.Fprintf(w, `<EntityType><EntityTypeInd>%s</EntityTypeInd><EntityTypeText>%s</EntityTypeText></EntityType>`, out.typeCode, escaped(typeNames[out.typeCode]))
	if out.family != "" {
		out.writePerson(w)
	} else {
		w.WriteString("<MainEntity>")
		writeOrganisation(w, "MN", out.name)
		out.writeAddress(w)
		w.WriteString("</MainEntity>")
	}
	if out.asic != "" {
		fmt.Fprintf(w, `<ASICNumber ASICNumberType="undetermined">%s</ASICNumber>`, out.asic)
	}
	if out.gst != "" {
		fmt.Fprintf(w, `<GST status="%s" GSTStatusFromDate="%s" />`, out.gst, out.gstSince)
	}
	for range out.gifts {
		fmt.Fprintf(w, `<DGR status="ACT" DGRStatusFromDate="20010101">`)
		writeOrganisation(w, "DGR", "A FUND")
		w.WriteString("</DGR>")
	}
	for _, other := range []struct {
		kind  string
		names []string
	}{{"TRD", out.trading}, {"BN", out.business}} {
		for _, name := range other.names {
			w.WriteString("<OtherEntity>")
			writeOrganisation(w, other.kind, name)
			w.WriteString("</OtherEntity>")
		}
	}
	w.WriteString("</ABR>\n")
}

func (out entity) writePerson(w *bufio.Writer) {
	w.WriteString(`<LegalEntity><IndividualName type="LGL">`)
	if out.title != "" {
		fmt.Fprintf(w, "<NameTitle>%s</NameTitle>", out.title)
	}
	for _, name := range out.given {
		fmt.Fprintf(w, "<GivenName>%s</GivenName>", escaped(name))
	}
	fmt.Fprintf(w, "<FamilyName>%s</FamilyName></IndividualName>", escaped(out.family))
	out.writeAddress(w)
	w.WriteString("</LegalEntity>")
}

func writeOrganisation(w *bufio.Writer, kind, name string) {
	if name != "" {
		fmt.Fprintf(w, `<NonIndividualName type="%s"><NonIndividualNameText>%s</NonIndividualNameText></NonIndividualName>`, kind, escaped(name))
	}
}

func (out entity) writeAddress(w *bufio.Writer) {
	fmt.Fprintf(w, "<BusinessAddress><AddressDetails><State>%s</State><Postcode>%s</Postcode></AddressDetails></BusinessAddress>", out.state, out.postcode)
}

func escaped(s string) string {
	if !strings.ContainsAny(s, `<>&'"`) {
		return s
	}
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
