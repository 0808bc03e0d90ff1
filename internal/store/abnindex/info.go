package abnindex

import (
	"context"
	"time"
)

// Info describes an index.
type Info struct {
	Extracted  time.Time // when the register wrote it; of several files, the oldest
	Imported   time.Time
	Records    int64 // that can be looked up
	Unaskable  int64 // left out, since their number fails the checksum
	Superseded int64 // left out, since there is another record of the number
	Bytes      int64 // of the file
	Parts      []Part
}

// Part is one XML file that an index was made of.
type Part struct {
	Source   string // the file given to the import
	File     string // in it
	Sequence int    // the number that the register gave it
	Records  int64  // in it
}

func (g *generation) info(ctx context.Context) (Info, error) {
	info := Info{Extracted: g.extracted, Bytes: g.file.Size()}
	var at int64
	if err := g.db.QueryRowContext(ctx, "SELECT at, records FROM finished").Scan(&at, &info.Records); err != nil {
		return Info{}, err
	}
	info.Imported = time.Unix(at, 0).UTC()
	rows, err := g.db.QueryContext(ctx, "SELECT s.file, p.file, p.sequence, p.read, p.unaskable, p.superseded FROM part p JOIN source s ON s.id = p.source ORDER BY p.id")
	if err != nil {
		return Info{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var p Part
		var unaskable, superseded int64
		if err := rows.Scan(&p.Source, &p.File, &p.Sequence, &p.Records, &unaskable, &superseded); err != nil {
			return Info{}, err
		}
		info.Unaskable += unaskable
		info.Superseded += superseded
		info.Parts = append(info.Parts, p)
	}
	return info, rows.Err()
}
