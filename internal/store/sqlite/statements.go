package sqlite

import (
	"context"
	"database/sql"
)

// statements are the prepared statements of one connection, used by one
// goroutine at a time. Queries are constants or built out of a few fixed
// pieces, so each is prepared once a connection.
type statements struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

// maxPrepared bounds the statements of a connection.
const maxPrepared = 512

func newStatements(conn *sql.Conn) statements {
	return statements{conn: conn, prepared: map[string]*sql.Stmt{}}
}

func (s *statements) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := s.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(s.prepared) >= maxPrepared {
		s.finalize()
	}
	s.prepared[query] = stmt
	return stmt, nil
}

// finalize closes all statements.
func (s *statements) finalize() {
	for _, stmt := range s.prepared {
		stmt.Close()
	}
	clear(s.prepared)
}

// scan reads the columns of the current row.
type scan func(dest ...any) error

// querier is what reading and writing have in common.
type querier interface {
	// scan reads one row into dest; sql.ErrNoRows if there is none.
	scan(query string, args []any, dest ...any) error
	// each calls f for every row.
	each(query string, args []any, f func(scan) error) error
}

func (s *statements) row(ctx context.Context, query string, args []any, dest []any) error {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(dest...)
}

func (s *statements) rows(ctx context.Context, query string, args []any, f func(scan) error) error {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	return eachRow(rows, err, f)
}

func eachRow(rows *sql.Rows, err error, f func(scan) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
