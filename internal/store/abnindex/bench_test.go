package abnindex

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"interlock/internal/secret"
	"interlock/internal/store/abnindex/abnextract"
)

// benchExtract is one XML file of an extract.
func benchExtract(b *testing.B) []byte {
	b.Helper()
	var text bytes.Buffer
	e := abnextract.Extract{Seed: 1, Records: 20_000, At: written}
	if err := e.WritePart(&text, 0); err != nil {
		b.Fatal(err)
	}
	return text.Bytes()
}

// BenchmarkRead reads records without storing them.
func BenchmarkRead(b *testing.B) {
	text := benchExtract(b)
	b.SetBytes(int64(len(text)))
	records := 0
	for b.Loop() {
		p := newPart(bytes.NewReader(text))
		if _, err := p.header(); err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := p.next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			records++
		}
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkReadTokensOfTheStandardLibrary is what BenchmarkRead is compared
// with: the tokens alone.
func BenchmarkReadTokensOfTheStandardLibrary(b *testing.B) {
	text := benchExtract(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d := xml.NewDecoder(bytes.NewReader(text))
		for {
			if _, err := d.RawToken(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkImport reports the speed of an import and what a record takes.
func BenchmarkImport(b *testing.B) {
	for _, c := range []struct {
		name     string
		shuffled bool
	}{{"in order", false}, {"in no order", true}} {
		b.Run(c.name, func(b *testing.B) {
			e := abnextract.Extract{Seed: 1, Records: 200_000, Parts: 2, At: written, Shuffled: c.shuffled}
			files := zips(b, e)
			var made Imported
			for b.Loop() {
				var err error
				if made, err = Import(b.Context(), ImportConfig{Path: b.TempDir() + "/abn.db", Files: files, Parts: e.Parts}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(e.Records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(made.Bytes)/float64(made.Records), "bytes/record")
		})
	}
}

// BenchmarkLookup asks for records in no order.
func BenchmarkLookup(b *testing.B) {
	e := abnextract.Extract{Seed: 1, Records: 200_000, Parts: 2, At: written}
	x := imported(b, e)
	e.Shuffled = true
	numbers := e.Numbers()
	for i := 0; b.Loop(); i++ {
		if _, _, found, err := x.Lookup(b.Context(), numbers[i%len(numbers)], secret.String{}); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}
