// Package abnextract makes extracts of a register that does not exist, in the
// form of the Australian Business Register's ABN Bulk Extract: for tests of
// what reads one, at any size.
//
// An Extract is a function of its seed: the same one has the same records on
// every machine, and Record says what a reader must make of each. Numbers
// satisfy the checksum and stand in ascending order, as in the real one.
// Records are of every shape that the real one has: companies, persons, trusts,
// cancelled and replaced numbers, withheld details, hundreds of names, letters
// that XML escapes, scripts from elsewhere.
package abnextract

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"interlock/internal/bridge/abn"
)

// Extract says what is to be made. The zero value has no records.
type Extract struct {
	Seed    uint64
	Records int       // at most 10 million
	Parts   int       // XML files; zero: 1
	At      time.Time // ExtractTime
	// Shuffled puts the records into no order.
	Shuffled bool
}

// Numbers returns the ABN of every record in the order of the files.
func (e Extract) Numbers() []abn.Number {
	plain := make([]int64, e.Records)
	random := rand.New(rand.NewPCG(e.Seed, 0))
	step := uint64(100_000_000 / max(1, e.Records))
	for i := range plain {
		plain[i] = complete(uint64(i)*step+random.Uint64N(step), random)
	}
	slices.Sort(plain)
	if e.Shuffled {
		random.Shuffle(len(plain), func(i, j int) { plain[i], plain[j] = plain[j], plain[i] })
	}
	out := make([]abn.Number, len(plain))
	for i, n := range plain {
		out[i] = must(abn.Parse(strconv.FormatInt(n, 10)))
	}
	return out
}

// complete makes an ABN of its third to tenth digit. A quarter of them end as a
// company's does, in a valid ACN.
func complete(middle uint64, random *rand.Rand) int64 {
	last := random.Uint64N(10)
	if random.Uint64N(4) == 0 {
		last = acnCheck(middle)
	}
	body := middle*10 + last
	for lead := uint64(10); ; lead++ {
		n := lead*1_000_000_000 + body
		if _, err := abn.Parse(strconv.FormatUint(n, 10)); err == nil {
			return int64(n)
		}
	}
}

// acnCheck is the last digit of an ACN that begins with these eight.
func acnCheck(eight uint64) uint64 {
	sum := uint64(0)
	for weight := uint64(1); weight <= 8; weight++ {
		sum += weight * (eight % 10)
		eight /= 10
	}
	return (10 - sum%10) % 10
}

// Record is what an index must answer for one of the numbers.
func (e Extract) Record(n abn.Number) abn.Record { return e.entity(n).record() }

// WriteZips writes the parts into so many zips in dir and returns their paths.
func (e Extract) WriteZips(dir string, zips int) ([]string, error) {
	numbers, parts := e.Numbers(), max(1, e.Parts)
	var paths []string
	for z := range zips {
		path := filepath.Join(dir, fmt.Sprintf("public_split_%d_of_%d.zip", z+1, zips))
		first, behind := z*parts/zips, (z+1)*parts/zips
		if err := e.writeZip(path, numbers, first, behind); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (e Extract) writeZip(path string, numbers []abn.Number, first, behind int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for part := first; part < behind; part++ {
		w, err := z.Create(fmt.Sprintf("%s_Public%02d.xml", e.At.Format("20060102"), part+1))
		if err != nil {
			return err
		}
		if err := e.writePart(w, numbers, part); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

// WritePart writes one of the XML files, counted from 0.
func (e Extract) WritePart(w io.Writer, part int) error { return e.writePart(w, e.Numbers(), part) }

func (e Extract) writePart(to io.Writer, numbers []abn.Number, part int) error {
	parts := max(1, e.Parts)
	mine := numbers[part*len(numbers)/parts : (part+1)*len(numbers)/parts]
	w := bufio.NewWriterSize(to, 1<<16)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"+
		`<Transfer xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" error="none" xsi:noNamespaceSchemaLocation="BulkExtract.xsd">`+
		`<TransferInfo><FileSequenceNumber>%d</FileSequenceNumber><RecordCount>%d</RecordCount><ExtractTime>%s</ExtractTime></TransferInfo>`+"\n",
		part+1, len(mine), e.At.UTC().Format(time.RFC3339))
	for _, n := range mine {
		e.entity(n).write(w)
	}
	io.WriteString(w, "</Transfer>\n")
	return w.Flush()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
