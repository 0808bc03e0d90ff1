package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"interlock/internal/tenant"
)

// errHalfDone: an operation failed after it had written, so the batch must run
// again with savepoints.
var errHalfDone = errors.New("an operation failed half done")

// tx is the writer's transaction, used by its goroutine only. Its times are
// read once an operation.
type tx struct {
	statements
	clock clock

	lease, wall int64 // microseconds
	wrote       bool  // by the current operation

	// blobs are the ids of stored blobs; it is dropped whenever one may be gone.
	blobs map[blobKey]int64
	// grown is what the decision log gained in this transaction.
	grown size
}

// blobKey names a blob by its content.
type blobKey struct {
	tenant tenant.ID
	hash   [32]byte
}

// size is a number of decisions and the bytes that they and blobs take.
type size struct{ rows, bytes int64 }

func newTx(conn *sql.Conn, c clock) *tx {
	return &tx{statements: newStatements(conn), clock: c, blobs: map[blobKey]int64{}}
}

// commit runs the operations in one transaction and returns an answer for
// each; an error is that of all of them, and nothing was written. Guarded, each
// has a savepoint.
func (t *tx) commit(batch []*operation, guarded bool) (answers []error, err error) {
	if _, err := t.run(`BEGIN IMMEDIATE`); err != nil {
		return nil, named(err)
	}
	defer func() {
		if err != nil {
			t.run(`ROLLBACK`) // it may have been rolled back already
			clear(t.blobs)
		}
		t.grown = size{}
	}()
	answers = make([]error, len(batch))
	for i, o := range batch {
		if answers[i] = t.perform(o, guarded); ruinous(answers[i]) {
			return nil, named(answers[i])
		}
		if answers[i] != nil && t.wrote && !guarded {
			return nil, errHalfDone
		}
	}
	if err := t.settle(); err != nil {
		return nil, named(err)
	}
	if _, err := t.run(`COMMIT`); err != nil {
		return nil, named(err)
	}
	return answers, nil
}

// perform runs one operation.
func (t *tx) perform(o *operation, guarded bool) error {
	t.wrote = false
	t.lease, t.wall = t.clock.read()
	if !guarded {
		return o.part(t)
	}
	if _, err := t.run(`SAVEPOINT operation`); err != nil {
		return err
	}
	before := t.grown
	err := o.part(t)
	if ruinous(err) {
		return err
	}
	if err != nil {
		t.grown = before
		clear(t.blobs)
		if _, err := t.run(`ROLLBACK TO operation`); err != nil {
			return err
		}
	}
	if _, err := t.run(`RELEASE operation`); err != nil {
		return err
	}
	return err
}

// settle notes how much the log has grown.
func (t *tx) settle() error {
	if t.grown == (size{}) {
		return nil
	}
	_, err := t.run(`UPDATE log_size SET rows = rows + ?, bytes = bytes + ?`, t.grown.rows, t.grown.bytes)
	return err
}

// run runs a statement. Nothing ends it: what the writer began it finishes, and
// a context that can end would cost a goroutine a statement.
func (t *tx) run(query string, args ...any) (int64, error) {
	stmt, err := t.prepare(context.Background(), query)
	if err != nil {
		return 0, err
	}
	r, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// exec runs a statement that changes rows and returns how many.
func (t *tx) exec(query string, args ...any) (int64, error) {
	n, err := t.run(query, args...)
	if err == nil && n > 0 {
		t.wrote = true
	}
	return n, err
}

// changed runs a statement that must change exactly what it is guarded for,
// and reports whether it did.
func (t *tx) changed(query string, args ...any) (bool, error) {
	n, err := t.exec(query, args...)
	return n > 0, err
}

func (t *tx) scan(query string, args []any, dest ...any) error {
	return t.row(context.Background(), query, args, dest)
}

func (t *tx) each(query string, args []any, f func(scan) error) error {
	return t.rows(context.Background(), query, args, f)
}

// take runs a change that returns one row; sql.ErrNoRows if it changed none.
func (t *tx) take(query string, args []any, dest ...any) error {
	err := t.scan(query, args, dest...)
	if err == nil {
		t.wrote = true
	}
	return err
}

// missing turns "no such row" into the room's own word for it.
func missing(err, instead error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return instead
	}
	return err
}
