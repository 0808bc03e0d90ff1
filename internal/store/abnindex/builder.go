package abnindex

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"interlock/internal/wholefile"
)

// builder is the file in which an index grows before it takes its place. What
// a batch stored and how far the reading had come are one transaction, so a
// process that is killed leaves a file that another one can go on with.
type builder struct {
	path  string
	db    *sql.DB
	parts []partMark
	types map[entityType]int64

	insert, update, mark, addType *sql.Stmt
}

// partMark is how far the reading of one XML file has come.
type partMark struct {
	header
	read       int64 // records
	unaskable  int64 // of them, those whose number fails the checksum
	superseded int64 // of them, those that another record of the same number replaces
	done       bool
}

type entityType struct{ code, name string }

// batch is what one transaction stores.
type batch struct {
	part      int
	header    header
	records   []record
	read      int64 // records of the part so far, with these
	unaskable int64 // of the part so far
	done      bool  // the part has been read to its end
	bytes     int64 // of all files so far
}

// openBuilder goes on with the file if it was begun with the same sources, and
// begins it anew if not.
func openBuilder(ctx context.Context, path string, sources []*source) (*builder, error) {
	if _, err := os.Stat(path); err == nil {
		b, err := resume(ctx, path, sources)
		if b != nil || err != nil {
			return b, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := removeFile(path); err != nil {
		return nil, err
	}
	b, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err := b.begin(ctx, sources); err != nil {
		b.close()
		return nil, err
	}
	return b, b.prepare(ctx)
}

// removeFile removes an unfinished index.
func removeFile(path string) error {
	for _, name := range []string{path, path + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// connect opens the file for the one connection that writes it. A commit costs
// little: a journal holds only what stood in the file before, and an extract in
// the order of its numbers only appends.
func connect(path string) (*builder, error) {
	db, err := openFile(path, url.Values{}, "journal_mode(DELETE)", "synchronous(FULL)", "locking_mode(EXCLUSIVE)", "cache_size(-32768)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &builder{path: path, db: db, types: map[entityType]int64{}}, nil
}

// begin writes the schema and what is going to be read.
func (b *builder) begin(ctx context.Context, sources []*source) error {
	return b.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "PRAGMA application_id = "+decimal(magic)+"; PRAGMA user_version = "+decimal(form)); err != nil {
			return err
		}
		for i, s := range sources {
			if _, err := tx.ExecContext(ctx, "INSERT INTO source (id, file, size, fingerprint) VALUES (?, ?, ?, ?)", i, s.name, s.size, s.fingerprint[:]); err != nil {
				return err
			}
			for _, p := range s.parts {
				if _, err := tx.ExecContext(ctx, "INSERT INTO part (id, source, file) VALUES (?, ?, ?)", len(b.parts), i, p.name); err != nil {
					return err
				}
				b.parts = append(b.parts, partMark{})
			}
		}
		return nil
	})
}

// resume returns nil where the file was begun with other sources, or is none
// that can be gone on with.
func resume(ctx context.Context, path string, sources []*source) (*builder, error) {
	b, err := connect(path)
	if err != nil {
		return nil, err
	}
	same, err := b.begunWith(ctx, sources)
	if err == nil && same {
		if err = b.load(ctx); err == nil {
			err = b.prepare(ctx)
		}
	}
	if err != nil || !same {
		b.close()
	}
	var damaged *sqlite.Error
	switch {
	case errors.Is(err, ErrNotIndex), errors.Is(err, ErrForm), errors.As(err, &damaged) && errors.Is(named("", err), ErrNotIndex):
		return nil, nil // it is only a beginning: make another
	case err != nil:
		return nil, err
	case !same:
		return nil, nil
	}
	return b, nil
}

func (b *builder) begunWith(ctx context.Context, sources []*source) (bool, error) {
	if err := checkForm(b.db); err != nil {
		return false, err
	}
	rows, err := b.db.QueryContext(ctx, "SELECT size, fingerprint FROM source ORDER BY id")
	if err != nil {
		return false, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var size int64
		var sum []byte
		if err := rows.Scan(&size, &sum); err != nil {
			return false, err
		}
		if n >= len(sources) || sources[n].size != size || !bytes.Equal(sources[n].fingerprint[:], sum) {
			return false, nil
		}
	}
	return n == len(sources), rows.Err()
}

// load reads how far an earlier import had come.
func (b *builder) load(ctx context.Context) error {
	rows, err := b.db.QueryContext(ctx, "SELECT sequence, extracted, expected, read, unaskable, superseded, done FROM part ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var m partMark
		var extracted int64
		if err := rows.Scan(&m.sequence, &extracted, &m.records, &m.read, &m.unaskable, &m.superseded, &m.done); err != nil {
			return err
		}
		m.extracted = time.Unix(extracted, 0).UTC()
		b.parts = append(b.parts, m)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return b.loadTypes(ctx)
}

func (b *builder) loadTypes(ctx context.Context) error {
	types, err := readTypes(ctx, b.db)
	for id, t := range types {
		b.types[t] = id
	}
	return err
}

// prepare compiles the statements. It closes the builder if it fails.
func (b *builder) prepare(ctx context.Context) error {
	var err error
	for _, s := range []struct {
		into **sql.Stmt
		text string
	}{
		{&b.insert, `INSERT INTO record (abn, status, since, gst, acn, replaced, type, name, state, postcode, names) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&b.update, `UPDATE record SET status = ?2, since = ?3, gst = ?4, acn = ?5, replaced = ?6, type = ?7, name = ?8, state = ?9, postcode = ?10, names = ?11 WHERE abn = ?1 AND replaced > ?6`},
		{&b.mark, `UPDATE part SET sequence = ?, extracted = ?, expected = ?, read = ?, unaskable = ?, superseded = ?, done = ? WHERE id = ?`},
		{&b.addType, `INSERT INTO entity_type (id, code, name) VALUES (?, ?, ?)`},
	} {
		if *s.into, err = b.db.PrepareContext(ctx, s.text); err != nil {
			b.close()
			return err
		}
	}
	return nil
}

func (b *builder) close() error { return b.db.Close() }

func (b *builder) transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// store keeps a batch and the mark of its part in one transaction. It takes no
// context: a batch is short, and the engine would start a goroutine for each
// record to watch one.
func (b *builder) store(c batch) error {
	m := b.parts[c.part]
	m.header, m.read, m.unaskable, m.done = c.header, c.read, c.unaskable, c.done
	err := b.transact(context.Background(), func(tx *sql.Tx) error {
		insert := tx.Stmt(b.insert)
		for i := range c.records {
			superseded, err := b.add(tx, insert, &c.records[i])
			if err != nil {
				return err
			}
			m.superseded += superseded
		}
		_, err := tx.Stmt(b.mark).Exec(m.sequence, m.extracted.Unix(), m.records, m.read, m.unaskable, m.superseded, m.done, c.part)
		return err
	})
	if err == nil {
		b.parts[c.part] = m
	}
	return err
}

// add stores one record. Of two with one number the one that the register did
// not replace stays; superseded counts the other.
func (b *builder) add(tx *sql.Tx, insert *sql.Stmt, r *record) (superseded int64, err error) {
	id, err := b.typeID(tx, entityType{r.typeCode, r.typeName})
	if err != nil {
		return 0, err
	}
	acn := r.acn
	if acn != 0 && acn == r.number%1e9 {
		acn = sameACN
	}
	values := []any{r.number, int(r.status), r.since, r.gst, acn, r.replaced, id, r.name, r.state, r.postcode, r.otherNames}
	_, err = insert.Exec(values...)
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return 0, err
	}
	result, err := tx.Stmt(b.update).Exec(values...)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 && !r.replaced {
		return 0, extractError("ABN %d stands in the extract twice; give each of its files once, all of the same week", r.number)
	}
	return 1, nil
}

// typeID returns the number under which a type of entity is kept.
func (b *builder) typeID(tx *sql.Tx, t entityType) (int64, error) {
	if id, ok := b.types[t]; ok {
		return id, nil
	}
	if len(b.types) == maxTypes {
		return 0, extractError("it names more than %d types of entities; it is no extract of the register", maxTypes)
	}
	id := int64(len(b.types))
	if _, err := tx.Stmt(b.addType).Exec(id, t.code, t.name); err != nil {
		return 0, err
	}
	b.types[t] = id
	return id, nil
}

// maxTypes bounds the types of entities; the register has some hundred.
const maxTypes = 5000

// finish proves that every record read is there, and marks the index as whole.
func (b *builder) finish(ctx context.Context, at time.Time) error {
	var want, got int64
	for _, m := range b.parts {
		want += m.read - m.unaskable - m.superseded
	}
	return b.transact(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM record").Scan(&got); err != nil {
			return err
		}
		if got != want {
			return errCount
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM finished; INSERT INTO finished (at, records) VALUES (?, ?)", at.Unix(), got)
		return err
	})
}

var errCount = errors.New("the unfinished index does not hold what was stored in it")

// takePlace closes the file and makes it the index.
func (b *builder) takePlace(path, folder string) error {
	if err := b.close(); err != nil {
		return err
	}
	if err := os.Rename(b.path, path); err != nil {
		return ErrReplace.Because(err)
	}
	return wholefile.SyncFolder(folder)
}
