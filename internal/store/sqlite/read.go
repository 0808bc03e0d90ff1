package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"time"

	"interlock/internal/store"
)

// readLimit ends a read, which keeps the write-ahead log from being emptied.
const readLimit = 30 * time.Second

// readers are connections that can't write, each lent to one read at a time.
// Each has a goroutine: the engine's deep calls would grow the stack of every
// caller, and of ten thousand held polls each would keep it.
type readers struct {
	db     *sql.DB
	free   chan *reader  // as many as there are, opened or not
	closed chan struct{} // closed by close
}

// reader is one connection; conn is nil until it is first used.
type reader struct {
	statements
	work chan func()
}

// openReaders prepares the pool: more readers than processors only queue in
// another place.
func openReaders(path string) (*readers, error) {
	db, err := sql.Open("sqlite", source(path, "query_only(1)", "cache_size(-16384)"))
	if err != nil {
		return nil, err
	}
	n := 2 + runtime.GOMAXPROCS(0)
	p := &readers{db: db, free: make(chan *reader, n), closed: make(chan struct{})}
	for range n {
		r := &reader{work: make(chan func())}
		go r.run()
		p.free <- r
	}
	return p, nil
}

// lend calls f with a connection that nobody else uses meanwhile.
func (p *readers) lend(ctx context.Context, f func(*reader) error) error {
	var r *reader
	select {
	case r = <-p.free:
	case <-p.closed:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.free <- r }()
	done := make(chan error, 1)
	r.work <- func() {
		err := p.connect(ctx, r)
		if err == nil {
			err = f(r)
		}
		done <- err
	}
	return <-done // f uses what its caller owns, so its end is waited for
}

// connect opens the reader's connection if there is none.
func (p *readers) connect(ctx context.Context, r *reader) error {
	if r.conn != nil {
		return nil
	}
	conn, err := p.db.Conn(ctx)
	if err == nil {
		r.statements = newStatements(conn)
	}
	return err
}

// run does the reader's work until close.
func (r *reader) run() {
	for work := range r.work {
		work()
	}
}

// close waits for the reads that run and ends the connections.
func (p *readers) close() error {
	close(p.closed)
	var errs []error
	for range cap(p.free) {
		r := <-p.free
		close(r.work)
		if r.conn != nil {
			r.finalize()
			errs = append(errs, r.conn.Close())
		}
	}
	return errors.Join(append(errs, p.db.Close())...)
}

// view is one read: a connection, and the context that ends its queries.
type view struct {
	ctx context.Context
	*reader
}

func (v view) scan(query string, args []any, dest ...any) error {
	return v.row(v.ctx, query, args, dest)
}

func (v view) each(query string, args []any, f func(scan) error) error {
	return v.rows(v.ctx, query, args, f)
}

// read calls f with a view whose queries end with ctx or after readLimit. Each
// query sees what was committed before it.
func (s *Store) read(ctx context.Context, f func(view) error) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return s.readers.lend(ctx, func(r *reader) error { return f(view{ctx, r}) })
}

// glance is read for a few rows by their keys. Nothing ends its queries, since
// they take no time: one that can end costs goroutines and a timer, which is
// more than such a query does.
func (s *Store) glance(ctx context.Context, f func(view) error) error {
	return s.readers.lend(ctx, func(r *reader) error { return f(view{context.WithoutCancel(ctx), r}) })
}

// snapshot is read over one state of the database.
func (s *Store) snapshot(ctx context.Context, f func(view) error) error {
	return s.read(ctx, func(v view) error {
		if err := v.do(v.ctx, `BEGIN`); err != nil {
			return err
		}
		defer v.do(context.WithoutCancel(v.ctx), `ROLLBACK`)
		return f(v)
	})
}

// do runs a statement that begins or ends a transaction.
func (r *reader) do(ctx context.Context, statement string) error {
	stmt, err := r.prepare(ctx, statement)
	if err == nil {
		_, err = stmt.ExecContext(ctx)
	}
	return err
}
