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
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "interlock.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
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
	waiting := func() (pages int64) {
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
	write(walStep + 1)
	if n := waiting(); n != 0 {
		t.Fatalf("%d pages wait after a commit of a whole step", n)
	}
	write(1)
	if n := waiting(); n == 0 {
		t.Error("a commit of one row was checkpointed at once")
	}
}
