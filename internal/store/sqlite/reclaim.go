package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"interlock/internal/fault"
)

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
	if err := s.scrub(ctx); err != nil {
		return during("overwrite what was removed", err)
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
