package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"time"

	"interlock/internal/fault"
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

// grown is called after each commit.
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

// reclaimStep is how many pages one turn of Reclaim gives back: others write
// between two turns.
const reclaimStep = `PRAGMA incremental_vacuum(512)`

// reclaimPause is how long Reclaim lets a reader finish before it looks again.
const reclaimPause = 50 * time.Millisecond

var errReading = fault.New(fault.Unavailable, "reclaim_delayed", "something is still reading the database; the space is given back at the next pruning").Retry(time.Minute)

// Reclaim gives freed pages back to the file system and empties the
// write-ahead log, so that nothing that was removed is left in either file. It
// returns when that is so, or with a retryable fault when readers prevent it
// for longer than a read may take.
func (s *Store) Reclaim(ctx context.Context) error {
	for free := int64(1); free > 0; {
		err := s.exclusively(ctx, func(c *sql.Conn) error {
			if err := drain(c, reclaimStep); err != nil {
				return err
			}
			return c.QueryRowContext(context.Background(), `PRAGMA freelist_count`).Scan(&free)
		})
		if err != nil {
			return during("give space back", err)
		}
	}
	return s.emptyLog(ctx)
}

// emptyLog truncates the write-ahead log, with patience for readers.
func (s *Store) emptyLog(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readLimit, errReading)
	defer cancel()
	for {
		done := false
		err := s.exclusively(ctx, func(*sql.Conn) error {
			done = s.writer.wal.truncate()
			return nil
		})
		if err == nil && done {
			return nil
		}
		if err == nil {
			select {
			case <-ctx.Done():
			case <-time.After(reclaimPause):
			}
			err = ctx.Err()
		}
		if err != nil && errors.Is(context.Cause(ctx), errReading) {
			return errReading
		}
		if err != nil {
			return during("empty the write-ahead log", err)
		}
	}
}

// drain runs a pragma to its end: an incremental vacuum frees a page a row.
func drain(c *sql.Conn, pragma string) error {
	rows, err := c.QueryContext(context.Background(), pragma)
	return eachRow(rows, err, func(scan) error { return nil })
}
