package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// readLimit ends a read, which keeps the write-ahead log from being emptied.
const readLimit = 30 * time.Second

// view reads outside the writer. Several queries of one view see one state of
// the database only inside snapshot.
type view struct {
	ctx context.Context
	s   *Store
	tx  *sql.Tx // nil: each query by itself
}

// read calls f with a view whose queries end with ctx or after readLimit.
func (s *Store) read(ctx context.Context, f func(view) error) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return f(view{ctx: ctx, s: s})
}

// snapshot is read over one state of the database.
func (s *Store) snapshot(ctx context.Context, f func(view) error) error {
	return s.read(ctx, func(v view) error {
		tx, err := s.reads.BeginTx(v.ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		v.tx = tx
		return f(v)
	})
}

func (v view) prepared(query string) (*sql.Stmt, error) {
	found, ok := v.s.stmts.Load(query)
	if !ok {
		stmt, err := v.s.reads.PrepareContext(v.ctx, query)
		if err != nil {
			return nil, err
		}
		if found, ok = v.s.stmts.LoadOrStore(query, stmt); ok {
			stmt.Close()
		}
	}
	stmt := found.(*sql.Stmt)
	if v.tx != nil {
		stmt = v.tx.StmtContext(v.ctx, stmt)
	}
	return stmt, nil
}

func (v view) scan(query string, args []any, dest ...any) error {
	stmt, err := v.prepared(query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(v.ctx, args...).Scan(dest...)
}

func (v view) each(query string, args []any, f func(scan) error) error {
	stmt, err := v.prepared(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(v.ctx, args...)
	return eachRow(rows, err, f)
}
