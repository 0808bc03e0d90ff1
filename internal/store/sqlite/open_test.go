package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/store"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

func TestADatabaseThatCantBeServedIsRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place func(folder string) string // returns the path to open
		want  error
	}{
		"the folder does not exist": {func(f string) string { return filepath.Join(f, "none", "db") }, store.ErrPlace},
		"the folder is a file":      {func(f string) string { return filepath.Join(write(t, f, "file", ""), "db") }, store.ErrPlace},
		"there is no path":          {func(string) string { return "" }, store.ErrPlace},
		"the file is something else": {func(f string) string {
			return write(t, f, "db", "this is a letter to my aunt, and longer than a header of SQLite: "+f)
		}, store.ErrNotDatabase},
		"another server has it":        {func(f string) string { open(t, Config{Path: filepath.Join(f, "db")}); return filepath.Join(f, "db") }, store.ErrInUse},
		"another server has its alias": {func(f string) string { open(t, Config{Path: filepath.Join(f, "db")}); return alias(t, f, "db") }, store.ErrInUse},
		"its schema is two steps ahead": {func(f string) string {
			path := filepath.Join(f, "db")
			ahead(t, path, 2)
			return path
		}, store.ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), Config{Path: c.place(t.TempDir())})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if fault.Of(err).Detail != fault.Of(c.want).Detail {
				t.Errorf("got the sentence %q", fault.Of(err).Detail)
			}
		})
	}
}

func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// alias is another name for a file, through a link to its folder.
func alias(t *testing.T, folder, name string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(link, name)
}

// ahead makes a database whose schema is so many steps newer than ours.
func ahead(t *testing.T, path string, steps int) {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", source(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range steps {
		if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) SELECT max(version_id) + 1, 1 FROM goose_db_version`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASchemaOneStepAheadIsServed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	ahead(t, path, 1)
	heldTask(t, open(t, Config{Path: path}), "t")
}

func TestTheFilesAreTheirOwnersOnly(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "db", "")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	heldTask(t, open(t, Config{Path: path}), "t")
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// A path is a file's name, not a URL with parameters.
func TestAPathMayHoldAnything(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?mode=memory&c#d%41.db")
	heldTask(t, open(t, Config{Path: path}), "t")
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

func TestALeaseStartsOverAtOpenWhateverTheClockDid(t *testing.T) {
	t.Parallel()
	tm := task.Timing{Lease: time.Minute, AckWithin: 10 * time.Second, DeviceGrace: 10 * time.Second, MaxMisses: 3}
	for name, step := range map[string]time.Duration{"it went back": -24 * time.Hour, "it went on": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newHand()
			cfg := Config{Path: filepath.Join(t.TempDir(), "db"), Now: clock.now}
			s, err := Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			k := heldTask(t, s, "t")
			if _, err := s.Ack(t.Context(), tm, task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: 1}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			clock.advance(step)
			s = open(t, cfg)
			for after, want := range []int{0, 1} { // at its end, and behind it
				clock.advance(tm.Lease * time.Duration(1-after))
				clock.advance(time.Duration(after) * time.Microsecond)
				if got, err := s.Reap(t.Context(), tm, 10); err != nil || len(got) != want {
					t.Fatalf("reaped %v, %v; want %d", got, err, want)
				}
			}
		})
	}
}

// A cancel's time to stop is restarted with the lease, else a clock that went
// back would leave the task with a host that never ends it.
func TestACancelsDeadlineStartsOverAtOpenWhateverTheClockDid(t *testing.T) {
	t.Parallel()
	tm := task.Timing{Lease: time.Minute, AckWithin: 10 * time.Second, DeviceGrace: 10 * time.Second, CancelWithin: time.Minute, MaxMisses: 3}
	for name, step := range map[string]time.Duration{"it went back": -24 * time.Hour, "it went on": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newHand()
			cfg := Config{Path: filepath.Join(t.TempDir(), "db"), Now: clock.now}
			s, err := Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			k := heldTask(t, s, "t")
			f := task.Fence{Tenant: k.Tenant, Host: k.Host, Task: k.ID, Attempt: 1}
			if _, err := s.Ack(t.Context(), tm, f); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Cancel(t.Context(), tm, k.Tenant, k.ID, "stop", audit.Fact{Tenant: k.Tenant, Action: "task.cancel"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			clock.advance(step)
			s = open(t, cfg)
			for _, c := range []struct {
				wait time.Duration
				lost bool
			}{{30 * time.Second, false}, {30 * time.Second, false}, {time.Microsecond, true}} {
				clock.advance(c.wait)
				if r, err := s.Renew(t.Context(), tm, []task.Fence{f}); err != nil || r[0].Lost != c.lost {
					t.Fatalf("after another %v: %+v, %v; want lost %v", c.wait, r, err, c.lost)
				}
			}
			if got, err := s.Reap(t.Context(), tm, 10); err != nil || len(got) != 1 || got[0].State != task.Cancelled {
				t.Errorf("reaped %v, %v; want the cancelled task", got, err)
			}
		})
	}
}

func TestAFullDiskIsSaidAndForgottenOnceThereIsSpace(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "db")})
	k := heldTask(t, s, "t")
	pages := func(limit string) {
		t.Helper()
		if err := s.exclusively(t.Context(), func(c *sql.Conn) error { return drain(c, `PRAGMA max_page_count(`+limit+`)`) }); err != nil {
			t.Fatal(err)
		}
	}
	pages("1") // less than there are: the engine then allows no more
	big := make([]byte, 64<<10)
	for i := range big {
		big[i] = byte(i * i >> 3)
	}
	r := crashRow(k, "big")
	r.UserPrompt = canary() + string(big) + canary()
	r.Arguments = big
	e := usage.Entry{Tenant: k.Tenant, Task: string(k.ID), At: r.At}
	_, err := s.Record(t.Context(), r, e)
	if !errors.Is(err, store.ErrFull) || !fault.Of(err).Retryable || fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("on a full disk: %v", err)
	}
	if size, err := s.Size(t.Context()); err != nil || size.Rows != 0 {
		t.Errorf("a refused row was counted: %+v, %v", size, err)
	}
	pages("1000000")
	if step, err := s.Record(t.Context(), r, e); err != nil || step != 0 {
		t.Errorf("with space again: step %d, %v", step, err)
	}
}

func TestAnotherProgramThatHoldsTheDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, Config{Path: path})
	if err := s.exclusively(t.Context(), func(c *sql.Conn) error { return drain(c, `PRAGMA busy_timeout(1)`) }); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", source(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, step := range []struct {
		statement string
		want      error
	}{{`BEGIN IMMEDIATE`, store.ErrLocked}, {`ROLLBACK`, nil}} {
		if _, err := conn.ExecContext(t.Context(), step.statement); err != nil {
			t.Fatal(err)
		}
		if err := s.SetStop(t.Context(), tenant.Default, usage.Stop{}, audit.Fact{}); !errors.Is(err, step.want) {
			t.Errorf("after %s: got %v, want %v", step.statement, err, step.want)
		}
	}
}

func TestAClosedStoreRefusesEveryCall(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetStop(t.Context(), tenant.Default, usage.Stop{}, audit.Fact{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a write: %v", err)
	}
	if _, err := s.Size(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a read: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Reclaim(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context had ended: %v", err)
	}
}
