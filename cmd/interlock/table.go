package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// table is rows for a person, aligned, under a head.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes a table to where the output goes.
func (p *program) print(t table, none string) { t.print(p.out, none, p.outWidth) }

// print writes the table, or the word for having none. On a terminal whose
// lines are shorter than the table's, it writes a cell a line.
func (t *table) print(w io.Writer, none string, terminal int) {
	if len(t.rows) == 0 {
		fmt.Fprintln(w, none)
		return
	}
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], cells(printable(cell)))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	if terminal > 0 && total > terminal {
		t.printRecords(w)
		return
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(padded(printable(cell), widths[i]+2))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// printRecords writes each row as lines of name and value, with a blank line
// between rows.
func (t *table) printRecords(w io.Writer) {
	widest := 0
	for _, name := range t.head {
		widest = max(widest, cells(name))
	}
	for n, row := range t.rows {
		if n > 0 {
			fmt.Fprintln(w)
		}
		for i, cell := range row {
			fmt.Fprintln(w, strings.TrimRight(padded(t.head[i], widest+2)+printable(cell), " "))
		}
	}
}

// drop removes the columns whose every cell is blank.
func (t *table) drop(blank string) {
	for i := len(t.head) - 1; i >= 0; i-- {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != blank }) {
			continue
		}
		t.head = slices.Delete(t.head, i, i+1)
		for r := range t.rows {
			t.rows[r] = slices.Delete(t.rows[r], i, i+1)
		}
	}
}

func padded(s string, n int) string { return s + strings.Repeat(" ", max(0, n-cells(s))) }

// cells is how many columns of a terminal s takes: two for a wide character
// such as 漢 or 🚀, none for one that joins the character before it.
func cells(s string) int {
	n := 0
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
