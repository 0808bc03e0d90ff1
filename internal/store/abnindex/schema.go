package abnindex

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"interlock/internal/fault"
	"interlock/internal/store"
)

// What marks a file as an index, and which form it has. Whoever changes the
// schema raises the form: an index of another one is made anew.
const (
	magic = 0x41424e49 // "ABNI", SQLite's application_id
	form  = 1          // user_version
)

// schema is that of an index. A record takes about 65 bytes of it, business
// names apart, so the whole register of 20 million fits in 1.5 GB.
//
// record.acn is -1 where the ACN is what the ABN ends with, as a company's is,
// and 0 where there is none. Dates are whole numbers, YYYYMMDD, and 0 is none.
// A part is done once its end has been read; until then it says how far a
// killed import had come.
const schema = `
CREATE TABLE record (
	abn INTEGER PRIMARY KEY,
	status INTEGER NOT NULL,
	since INTEGER NOT NULL,
	gst INTEGER NOT NULL,
	acn INTEGER NOT NULL,
	replaced INTEGER NOT NULL,
	type INTEGER NOT NULL,
	name TEXT NOT NULL,
	state TEXT NOT NULL,
	postcode TEXT NOT NULL,
	names TEXT NOT NULL
);
CREATE TABLE entity_type (id INTEGER PRIMARY KEY, code TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (code, name));
CREATE TABLE source (id INTEGER PRIMARY KEY, file TEXT NOT NULL, size INTEGER NOT NULL, fingerprint BLOB NOT NULL);
CREATE TABLE part (
	id INTEGER PRIMARY KEY,
	source INTEGER NOT NULL,
	file TEXT NOT NULL,
	sequence INTEGER NOT NULL DEFAULT 0,
	extracted INTEGER NOT NULL DEFAULT 0,
	expected INTEGER NOT NULL DEFAULT 0,
	read INTEGER NOT NULL DEFAULT 0,
	unaskable INTEGER NOT NULL DEFAULT 0,
	superseded INTEGER NOT NULL DEFAULT 0,
	done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE finished (at INTEGER NOT NULL, records INTEGER NOT NULL);
`

// sameACN in record.acn says that the ACN is what the ABN ends with.
const sameACN = -1

// openFile opens a database file with the settings given.
func openFile(path string, query url.Values, pragmas ...string) (*sql.DB, error) {
	query["_pragma"] = append([]string{"trusted_schema(0)"}, pragmas...)
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String())
}

// Failures of an index that an operator can mend. Their codes are those of
// package store where the same is to be done about them.
var (
	// ErrMissing: no import has made an index there yet.
	ErrMissing = fault.New(fault.Unavailable, "abn_index_missing", "there is no index of the register's extract yet; download the ABN Bulk Extract and make one with: interlock abn import FILE...")
	// ErrBusy: another import into this index is running.
	ErrBusy = fault.New(store.ErrInUse.Kind, store.ErrInUse.Code, "another import into this index is running; wait until it has ended")
	// ErrNotIndex: the file is something else, or damaged.
	ErrNotIndex = fault.New(store.ErrNotDatabase.Kind, store.ErrNotDatabase.Code, "the file is no index of the register's extract, or it is damaged; check INTERLOCK_ABN_INDEX, or remove the file and import the extract again")
	// ErrForm: the index was made by another version.
	ErrForm = fault.New(fault.Conflict, store.ErrNewer.Code, "another version of Interlock made the index; import the extract again with this one")
	// ErrPlace: the index can't be written where it should be.
	ErrPlace = fault.New(store.ErrPlace.Kind, store.ErrPlace.Code, "the index can't be written there; check INTERLOCK_ABN_INDEX, who owns the folder, and the disk behind it")
	// ErrFull: the disk is full. The same import goes on once there is space.
	ErrFull = fault.New(store.ErrFull.Kind, store.ErrFull.Code, "the disk that holds the index is full; free some space (the whole register takes about 2 GB) and start the same import again, which then goes on")
	// ErrReplace: the finished index can't take the place of the old one.
	ErrReplace = fault.New(fault.Conflict, "abn_index_held", "the new index is complete and can't take the place of the old one; stop what has the old one open and start the same import again, which then only does that")
)

// named gives an error of the engine or the file system the name that an
// operator acts on. Others are returned with what was being done.
func named(doing string, err error) error {
	var classified *fault.Error
	var e *sqlite.Error
	switch {
	case err == nil || errors.As(err, &classified):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull.Because(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return ErrPlace.Because(err)
	case errors.As(err, &e):
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return ErrFull.Because(err)
		case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
			return ErrNotIndex.Because(err)
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_IOERR:
			return ErrPlace.Because(err)
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// checkForm refuses a file that is no index of this form.
func checkForm(db *sql.DB) error {
	var application, version int
	if err := db.QueryRow("PRAGMA application_id").Scan(&application); err != nil {
		return err
	}
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case application != magic:
		return ErrNotIndex
	case version != form:
		return ErrForm
	}
	return nil
}
