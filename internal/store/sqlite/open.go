package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"interlock/internal/fault"
	"interlock/internal/filelock"
	"interlock/internal/store"
)

// Config says where the database is.
type Config struct {
	// Path of the database file; it is made if it does not exist, its folder
	// is not.
	Path string
	// Now is the store's clock; nil: time.Now.
	Now func() time.Time
	// Logger gets what no caller waits for; nil: nothing is logged.
	Logger *slog.Logger
}

// Store is an open database. It implements the stores of cloud/fleet,
// cloud/task, cloud/decision, usage, access and of the rooms of bridge, and
// audit.Log. It is safe for concurrent use.
type Store struct {
	path    string
	clock   clock
	log     *slog.Logger
	lock    filelock.Lock
	readers *readers
	writer  *writer
	// prompts remembers what the next prompt of an attempt is packed against.
	prompts *promptCache
}

// Open opens or makes the database, brings its schema up to date and starts
// the writer. The caller closes the store. Failures that a person can mend are
// those of package store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	path, err := preparePath(cfg.Path)
	if err != nil {
		return nil, err
	}
	// Half the time of a commit, as durable; where there is no such call the
	// engine syncs in its own way.
	_, _ = sqlite.Fdatasync(true)
	lock, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, clock: newClock(cfg.Now), log: cfg.Logger, lock: lock, prompts: newPromptCache()}
	if err := s.open(ctx); err != nil {
		lock.Release()
		return nil, during("open the database", err)
	}
	return s, nil
}

// preparePath checks the place and makes the file, for its owner only: the
// engine gives its other files the same mode.
func preparePath(path string) (string, error) {
	if path == "" {
		return "", store.ErrPlace.Because(errors.New("no path"))
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", placed(err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", placed(err)
	}
	path = filepath.Join(folder, filepath.Base(path))
	if overNetwork(folder) {
		return "", store.ErrNetworkDisk
	}
	if err := regular(path); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", placed(err)
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
		return "", placed(err)
	}
	return path, nil
}

// regular refuses what is there and is no file, before it is touched: root
// would change the mode of a device that everybody needs.
func regular(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return nil // what doesn't exist is made; opening says what else is wrong
	case info.IsDir():
		return misplaced("%s is a folder; name a file in it with INTERLOCK_DATABASE", path)
	}
	return misplaced("%s is no ordinary file and can't hold the database; name another with INTERLOCK_DATABASE", path)
}

// misplaced is store.ErrPlace in words that fit the case.
func misplaced(format string, args ...any) error {
	return fault.New(store.ErrPlace.Kind, store.ErrPlace.Code, format, args...)
}

// placed names a failure to make or open a file.
func placed(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return store.ErrFull.Because(err)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EROFS) {
		return store.ErrPlace.Because(err)
	}
	return fmt.Errorf("open the database file: %w", err)
}

// source names the file and what each of its connections sets. The order
// counts: auto_vacuum must come before the first write.
func source(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)", "trusted_schema(0)", "foreign_keys(1)"}, pragmas...)}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
}

func (s *Store) open(ctx context.Context) (err error) {
	writes, err := sql.Open("sqlite", source(s.path, "auto_vacuum(2)", "journal_mode(WAL)", "synchronous(FULL)", "secure_delete(1)",
		"journal_size_limit(67108864)", "wal_autocheckpoint(0)", "cache_size(-65536)"))
	if err != nil {
		return err
	}
	writes.SetMaxOpenConns(1)
	defer func() {
		if err != nil {
			writes.Close()
		}
	}()
	if err := migrate(ctx, writes); err != nil {
		return err
	}
	if s.readers, err = openReaders(s.path); err != nil {
		return err
	}
	s.writer, err = startWriter(writes, s.path+"-wal", s.clock, s.log)
	if err != nil {
		s.readers.close()
		return err
	}
	if err := s.restartLeases(ctx); err != nil {
		s.readers.close()
		s.writer.close()
		return err
	}
	return nil
}

// Close answers what is waiting, empties the write-ahead log and closes the
// file. Calls after it fail with store.ErrClosed.
func (s *Store) Close() error {
	if !s.writer.stop() {
		return nil
	}
	return errors.Join(s.readers.close(), s.writer.close(), s.lock.Release())
}

// restartLeases starts every lease over, as the package comment says.
func (s *Store) restartLeases(ctx context.Context) error {
	return s.write(ctx, control, func(t *tx) error {
		if _, err := t.exec(`UPDATE task SET lease_expires = ?1 + lease_span, cancel_by = CASE state WHEN 'cancelling' THEN ?1 + lease_span ELSE cancel_by END
			WHERE lease_expires > 0`, t.lease); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE device_lease SET free_at = ? + grace WHERE free_at > ?`, t.lease, t.lease)
		return err
	})
}
