package sqlite

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"interlock/internal/fault"
	"interlock/internal/store"
)

// resultCode returns SQLite's code in the chain of err, 0 if there is none.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// named gives an error of the engine the name that a caller acts on, with the
// engine's words as the cause. Others are returned as they are.
func named(err error) error {
	switch code := resultCode(err); code & 0xff {
	case sqlite3.SQLITE_FULL:
		return store.ErrFull.Because(err)
	case sqlite3.SQLITE_IOERR:
		// The engine says "full" only of a short write; a full disk may also
		// show when the shared memory of the write-ahead log has to grow.
		if code == sqlite3.SQLITE_IOERR_SHMSIZE || errors.Is(err, syscall.ENOSPC) {
			return store.ErrFull.Because(err)
		}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return store.ErrLocked.Because(err)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return store.ErrNotDatabase.Because(err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return store.ErrPlace.Because(err)
	}
	return err
}

// ruinous reports whether err ends the transaction, not only one operation.
func ruinous(err error) bool {
	switch resultCode(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// during adds what was being done to err, unless err is an answer in itself: a
// fault of the domain, or the end of the caller's own context.
func during(what string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if err = named(err); fault.KindOf(err) != fault.Internal {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
