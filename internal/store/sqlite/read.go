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
type readers struct {
	db     *sql.DB
	free   chan *reader  // as many as there are, opened or not
	closed chan struct{} // closed by close
}

// reader is one connection; conn is nil until it is first used.
type reader struct{ statements }

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
		p.free <- &reader{}
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
	if r.conn == nil {
		conn, err := p.db.Conn(ctx)
		if err != nil {
			return err
		}
		r.statements = newStatements(conn)
	}
	return f(r)
}

// close waits for the reads that run and ends the connections.
func (p *readers) close() error {
	close(p.closed)
	var errs []error
	for range cap(p.free) {
		if r := <-p.free; r.conn != nil {
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

// snapshot is read over one state of the database.
func (s *Store) snapshot(ctx context.Context, f func(view) error) error {
	return s.read(ctx, func(v view) error {
		if err := v.run(v.ctx, `BEGIN`); err != nil {
			return err
		}
		defer v.run(context.WithoutCancel(v.ctx), `ROLLBACK`)
		return f(v)
	})
}

// run runs a statement that begins or ends a transaction.
func (r *reader) run(ctx context.Context, statement string) error {
	stmt, err := r.prepare(ctx, statement)
	if err == nil {
		_, err = stmt.ExecContext(ctx)
	}
	return err
}
