package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
)

// scrubStep is how many pages one turn of scrub looks at: others write between
// two turns.
const scrubStep = 512

// scrub overwrites what is left of rows in the unallocated middle of pages.
// The engine overwrites a row where it lies when it is deleted; but when it
// merges two pages it moves their rows, and a copy of a moved row stays behind
// in the gap, where a later deletion of the row does not look. Measured: one
// pruned prompt in some ten thousand.
func (s *Store) scrub(ctx context.Context) error {
	for from, pages := int64(1), int64(1); from <= pages; from += scrubStep {
		first := from
		err := s.exclusively(ctx, func(c *sql.Conn) (err error) {
			pages, err = scrubPages(c, first)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scrubPages scrubs some pages from the given one on, in one transaction, and
// returns how many pages there are.
func scrubPages(c *sql.Conn, from int64) (pages int64, err error) {
	ctx := context.Background()
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return 0, err
	}
	if pages >= maxScrubbed {
		return 0, nil
	}
	dirty := map[int64][]byte{}
	rows, err := tx.QueryContext(ctx, `SELECT pgno, data FROM sqlite_dbpage WHERE pgno BETWEEN ? AND ?`, from, min(from+scrubStep-1, pages))
	if err := eachRow(rows, err, func(scan scan) error {
		var n int64
		var page []byte
		err := scan(&n, &page)
		if err == nil && clearGap(page, n == 1) {
			dirty[n] = page
		}
		return err
	}); err != nil {
		return 0, err
	}
	for n, page := range dirty {
		if _, err := tx.ExecContext(ctx, `UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, page, n); err != nil {
			return 0, err
		}
	}
	return pages, tx.Commit()
}

// A page that begins with tableLeaf holds rows of a table. Of the other kinds,
// pointer maps begin with 1 to 5 and overflow pages with the first byte of a
// page number, which is below tableLeaf in a file of less than maxScrubbed
// pages (800 GiB).
const (
	tableLeaf       = 0x0d
	tableLeafHeader = 8
	fileHeader      = 100 // before the first page's own
	maxScrubbed     = tableLeaf << 24
)

// clearGap zeroes what lies between a table leaf's list of cells and its
// cells, and reports whether that changed anything.
func clearGap(page []byte, first bool) bool {
	at := 0
	if first {
		at = fileHeader
	}
	if page[at] != tableLeaf {
		return false
	}
	list := at + tableLeafHeader + 2*int(binary.BigEndian.Uint16(page[at+3:]))
	cells := int(binary.BigEndian.Uint16(page[at+5:]))
	if list > cells || cells > len(page) {
		return false
	}
	changed := false
	for i := list; i < cells; i++ {
		if page[i] != 0 {
			page[i], changed = 0, true
		}
	}
	return changed
}
