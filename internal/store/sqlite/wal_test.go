package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

// Once the log file has reached its step, a commit still costs no checkpoint
// of its own: each would make two files durable instead of one.
func TestASmallCommitIsNotCheckpointedByItself(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "interlock.db")})
	write := func(bytes int) {
		t.Helper()
		err := s.write(t.Context(), bulk, func(tx *tx) error {
			_, err := tx.exec(`INSERT INTO blob (tenant, hash, body) VALUES ('t', randomblob(32), zeroblob(?))`, bytes)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(walStep + 1)
	if n := waitingPages(t, s); n != 0 {
		t.Fatalf("%d pages wait after a commit of a whole step", n)
	}
	write(1)
	if n := waitingPages(t, s); n == 0 {
		t.Error("a commit of one row was checkpointed at once")
	}
}

// Reclaim moves pages in turns of its own, which may write as much as commits
// do.
func TestWhatIsWrittenBesideCommitsGoesToTheDatabaseToo(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "interlock.db")})
	err := s.exclusively(t.Context(), func(c *sql.Conn) error {
		_, err := c.ExecContext(context.Background(), `INSERT INTO blob (tenant, hash, body) VALUES ('t', randomblob(32), zeroblob(?))`, walStep+1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := waitingPages(t, s); n != 0 {
		t.Errorf("%d pages wait after a turn that wrote a whole step", n)
	}
}

// waitingPages counts the pages of the log that the database doesn't have.
func waitingPages(t *testing.T, s *Store) (pages int64) {
	t.Helper()
	err := s.exclusively(t.Context(), func(c *sql.Conn) error {
		var blocked, all, moved int64
		err := c.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(NOOP)`).Scan(&blocked, &all, &moved)
		pages = all - moved
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
