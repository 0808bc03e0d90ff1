package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"time"
)

// Sizes of the write-ahead log, in bytes.
const (
	walStep  = 8 << 20  // when so much waits in it, it goes to the database
	walAlarm = 64 << 20 // a reader must be holding it
	pageSize = 4096     // the engine's default
)

// wal keeps the write-ahead log short. It belongs to the writer's goroutine.
type wal struct {
	path string
	conn *sql.Conn
	log  *slog.Logger

	timer   *time.Timer // runs while the log holds pages; nil: it holds none
	alarmed bool
}

// grown is called after whatever may have written.
func (w *wal) grown() {
	if w.timer == nil {
		w.timer = time.NewTimer(restAfter)
	} else {
		w.timer.Reset(restAfter)
	}
	// The file keeps its size when the log starts at its front again, so the
	// size only says that it is worth asking how much of it waits.
	info, err := os.Stat(w.path)
	if err != nil || info.Size() < walStep {
		return
	}
	var pages, moved int64
	if pages, moved, err = w.pragma(`PRAGMA wal_checkpoint(NOOP)`); err == nil && (pages-moved)*pageSize >= walStep {
		_, err = w.checkpoint(`PRAGMA wal_checkpoint(PASSIVE)`)
	}
	if err != nil {
		w.log.Warn("checkpoint failed; it is tried again", "error", err)
	}
	w.alarm(info.Size())
}

// alarm says once that the log grows beyond its bound.
func (w *wal) alarm(size int64) {
	if over := size > walAlarm; over != w.alarmed {
		if w.alarmed = over; over {
			w.log.Warn("the write-ahead log is large: a reader has kept it from being emptied", "bytes", size)
		}
	}
}

// idle fires when nothing was written for a while; nil while there is nothing
// to empty.
func (w *wal) idle() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}

// rest empties the log while nobody writes.
func (w *wal) rest() {
	if all := w.truncate(); !all {
		w.timer.Reset(restAfter)
	}
}

// truncate empties the log and reports whether it could: a reader may need it.
func (w *wal) truncate() bool {
	all, err := w.unhurried(`PRAGMA wal_checkpoint(TRUNCATE)`)
	if err != nil {
		w.log.Warn("checkpoint failed; it is tried again", "error", err)
	}
	if all {
		w.timer = nil
	}
	return all
}

// unhurried is checkpoint without the wait for readers that SQLite would make:
// writers are waiting behind it.
func (w *wal) unhurried(pragma string) (bool, error) {
	if err := drain(w.conn, `PRAGMA busy_timeout(0)`); err != nil {
		return false, err
	}
	defer drain(w.conn, `PRAGMA busy_timeout(5000)`)
	return w.checkpoint(pragma)
}

// checkpoint reports whether every page went to the database.
func (w *wal) checkpoint(pragma string) (bool, error) {
	pages, moved, err := w.pragma(pragma)
	return err == nil && pages == moved, err
}

// pragma returns how many pages the log holds and how many of those are in the
// database too. A checkpoint that is blocked moves fewer.
func (w *wal) pragma(pragma string) (pages, moved int64, err error) {
	var blocked int64
	err = w.conn.QueryRowContext(context.Background(), pragma).Scan(&blocked, &pages, &moved)
	if blocked != 0 {
		moved = min(moved, pages-1)
	}
	return pages, moved, err
}
